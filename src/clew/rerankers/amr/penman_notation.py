"""One AMR graph in PENMAN notation, as a `AMRGraph`.

A name such as `:name (n / name :op1 "Salt" :op2 "Lake")` becomes one concept, `"Salt Lake"`, under the same relation;
inverse relations (`:ARG0-of`) are turned round; each constant is a concept of its own; `:wiki`, which says where to
look a thing up, is left out.

Source: Goodman, "Penman: an open-source library and tool for AMR graphs" (2020), whose package reads the notation.
Differs from the source: what the package lets pass with a warning or none is refused: a variable without a concept or
with two, a letter that is no variable's, a relation without an end, text after the graph.
"""

import logging
import re
from typing import Any

from clew.errors import InputError, ProviderError
from clew.rerankers.amr.graph import AMRGraph, plain_word

_OP = re.compile(r":op(\d+)")
_VARIABLE = re.compile(r"[a-z]\d*")
_INSTANCE, _WIKI, _NAME = ":instance", ":wiki", "name"
# The package stops at what is no graph without a word: that this one is reached shows that nothing else stood before.
_END = "(end / end)"

_Triples = list[tuple[str, str, str]]


def parse_penman(notation: str, line: int = 1) -> AMRGraph:
    """Return the graph that a notation stands for, its concepts in the order in which they stand there, the top first.

    Args:
        notation: One graph, from its first bracket to its last.
        line: The number of its first line, for messages.

    Raises:
        InputError: It is malformed; the message begins with the number of the line.
        ProviderError: The package `penman` is not installed.
    """
    penman = import_penman()
    from penman.models.amr import model

    graph = penman.interpret(_parse_tree(penman, notation, line), model=model)
    triples: _Triples = [tuple(triple) for triple in graph.triples]
    if fault := _find_fault(triples):
        raise InputError(f"line {line}: the graph has {fault}: correct it")
    return _build_graph(triples)


def format_penman(notation: str) -> str:
    """Return a graph's notation as the package lays it out: a relation a line.

    Raises:
        InputError: It is malformed.
        ProviderError: The package `penman` is not installed.
    """
    penman = import_penman()
    return str(penman.format(_parse_tree(penman, notation, 1)))


def import_penman() -> Any:
    """Return the package `penman`, whose warnings are kept off the screen.

    Raises:
        ProviderError: It is not installed.
    """
    try:
        import penman
    except ImportError as error:
        message = f"AMR graphs need the package penman, which cannot be imported ({error})"
        raise ProviderError(f"{message}: pip install 'clew[amr]'") from error
    logger = logging.getLogger("penman")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return penman


def _parse_tree(penman: Any, notation: str, line: int) -> Any:
    # The package would break a text at more than line feeds, and number its lines otherwise than an editor does.
    lines = notation.split("\n")
    try:
        try:
            trees = list(penman.iterparse([*lines, _END]))
        except penman.DecodeError:
            trees = list(penman.iterparse(lines))  # for a message about these lines alone
    except penman.DecodeError as error:
        place = line + max((error.lineno or 1) - 1, 0)
        raise InputError(f"line {place}: no PENMAN notation ({error.message}): correct the graph") from error
    except RecursionError as error:
        raise InputError(f"line {line}: the brackets are nested too deeply: correct the graph") from error
    if len(trees) != 2:
        raise InputError(f"line {line}: wanted one graph in brackets and nothing after it: correct the graph")
    if trees[0].node[0] is None:
        raise InputError(f"line {line}: empty brackets; wanted (variable / concept ...): correct the graph")
    return trees[0]


def _find_fault(triples: _Triples) -> str:
    """Say what is wrong with a graph's triples, "" when nothing is."""
    defined: set[str] = set()
    for source, role, target in triples:
        if role == _INSTANCE:
            if target is None or source in defined:
                return f"a variable, {source}, with {'no concept' if target is None else 'two concepts'}"
            defined.add(source)
        elif target is None:
            return f"a relation, {role} of {source}, without an end"
    for source, role, target in triples:
        if role != _INSTANCE and target not in defined and _VARIABLE.fullmatch(target):
            return f"a relation, {role} of {source}, to {target}, which is no variable"
    return ""


def _build_graph(triples: _Triples) -> AMRGraph:
    concepts = {source: target for source, role, target in triples if role == _INSTANCE}
    concepts |= (names := _merge_names(triples, concepts))
    places: dict[str, int] = {}
    edges: list[tuple[int, str, int]] = []
    for number, (source, role, target) in enumerate(triples):
        if role == _WIKI or (source in names and _OP.fullmatch(role)):
            continue
        places.setdefault(source, len(places))
        if role == _INSTANCE:
            continue
        end = target
        if target not in concepts:
            # Two constants are two concepts: a second `-` denies something else. No variable holds a space.
            end = f"constant {number}"
            concepts[end] = target
        places.setdefault(end, len(places))
        edges.append((places[source], role, places[end]))
    return AMRGraph(tuple(concepts[name] for name in places), tuple(edges))


def _merge_names(triples: _Triples, concepts: dict[str, str]) -> dict[str, str]:
    """Return what each variable of a name stands for, in quotes, where all its parts are constants."""
    parts: dict[str, list[tuple[int, str]]] = {}
    unsaid: set[str] = set()
    for source, role, target in triples:
        part = _OP.fullmatch(role)
        if part and concepts[source] == _NAME:
            parts.setdefault(source, []).append((int(part[1]), plain_word(target)))
            if target in concepts:
                unsaid.add(source)
    texts = {name: " ".join(text for _, text in sorted(found)) for name, found in parts.items() if name not in unsaid}
    return {name: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for name, text in texts.items()}
