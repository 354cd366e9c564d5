"""Linear forms of AMR graphs read by our reader and by the package `penman`: `python bench/linear_forms.py`.

The gold graphs of QALD-9-AMR are written as AMRBART writes them: with a pointer before each concept, and literals
between marks. They are read as they are, cut off at a random token, as a model's reply that reaches its limit is, and
with one random bracket left out. `penman` is given the text with its marks put into PENMAN's own, by three patterns.
Counted are the texts that become a connected graph, and those that become the gold graph.
"""

import argparse
import logging
import random
import re
from collections.abc import Callable

import penman

from clew_lab.amr.linear_form import to_penman
from workbench import DATA, describe_machine, print_table

Damage = Callable[[list[str], random.Random], list[str]]
Triples = set[tuple[str, str, str]]


def main() -> None:
    """Print a row for each damage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logging.getLogger("penman").setLevel(logging.ERROR)
    graphs = [graph for name in ("train", "test") for graph in penman.load(DATA / "amr" / f"qald-9-amr-{name}.txt")]
    print(describe_machine())
    rows = []
    damages: dict[str, Damage] = {"none": lambda tokens, _: tokens, "cut off": cut, "a bracket less": drop_bracket}
    for name, damage in damages.items():
        draw = random.Random(arguments.seed)
        texts = [" ".join(damage(to_tokens(penman.configure(graph).node), draw)) for graph in graphs]
        row = [name, str(len(texts))]
        for reader in (to_penman, mark_as_penman):
            read = [read_triples(reader(text)) for text in texts]
            same = sum(found == name_triples(graph) for found, graph in zip(read, graphs, strict=True))
            row += [str(sum(found is not None for found in read)), str(same)]
        rows.append(row)
    columns = ("linear_form.py: a graph", "the gold graph", "penman: a graph", "the gold graph")
    print_table(("damage", "texts", *columns), rows)


def to_tokens(node: tuple[str, list[tuple[str, object]]]) -> list[str]:
    """Return the linear form of a tree of `penman`."""
    pointers: dict[str, str] = {}
    _number(node, pointers)
    return _write(node, pointers)


def _number(node: tuple[str, list[tuple[str, object]]], pointers: dict[str, str]) -> None:
    pointers[node[0]] = f"<pointer:{len(pointers)}>"
    for _, target in node[1]:
        if isinstance(target, tuple):
            _number(target, pointers)


def _write(node: tuple[str, list[tuple[str, object]]], pointers: dict[str, str]) -> list[str]:
    tokens = ["(", pointers[node[0]]]
    for role, target in node[1]:
        tokens += [] if role == "/" else [role]
        if isinstance(target, tuple):
            tokens += _write(target, pointers)
        else:
            text = str(target)
            literal = ["<lit>", *text.strip('"').split(), "</lit>"] if text.startswith('"') else [text]
            tokens += [pointers[text]] if role != "/" and text in pointers else literal
    return [*tokens, ")"]


def cut(tokens: list[str], draw: random.Random) -> list[str]:
    """Return the tokens up to a random one, after the first concept."""
    return tokens[: draw.randrange(3, len(tokens))] if len(tokens) > 4 else tokens[:-1]


def drop_bracket(tokens: list[str], draw: random.Random) -> list[str]:
    """Return the tokens without a random bracket."""
    place = draw.choice([place for place, token in enumerate(tokens) if token in "()"])
    return tokens[:place] + tokens[place + 1 :]


def mark_as_penman(text: str) -> str:
    """Return a linear form with its marks in those of PENMAN notation, and nothing mended."""
    text = re.sub(r"<lit> (.*?) </lit>", r'"\1"', text)
    text = re.sub(r"\( <pointer:(\d+)> ([^\s()]+)", r"(z\1 / \2", text)
    return re.sub(r"<pointer:(\d+)>", r"z\1", text)


def read_triples(notation: str) -> Triples | None:
    """Return the triples of a notation, or None where `penman` reads no connected graph in it."""
    try:
        graph = penman.decode(notation)
        penman.encode(graph)
    except penman.PenmanError:
        return None
    return name_triples(graph) if graph.triples else None


def name_triples(graph: penman.Graph) -> Triples:
    """Return the triples of a graph with variables named by their order."""
    order = {variable: f"v{place}" for place, (variable, _, _) in enumerate(graph.instances())}
    return {(order.get(h, h), role, t if role == ":instance" else order.get(t, str(t))) for h, role, t in graph.triples}


if __name__ == "__main__":
    main()
