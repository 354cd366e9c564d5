"""Memory of training `gfm` on many graphs: `python bench/gfm_many_graphs.py [--graphs 60] [--questions 1000]`.

Makes up corpora of people, towns and firms whose articles mention each other, indexes each, and trains on all of them
as `clew train gfm --index` does, with as many made-up questions on each; prints how much memory each graph and each
question takes and how much the steps add, of the process and of its own pages (the others are of mapped files, which
the system takes back). `--whole-graph` trains the published form: entities, the whole graph, 6 layers.

The indexes stay in CLEW_BENCH/many-graphs for the next run.
"""

import argparse
import resource
import shutil
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch

import clew
from clew.nn.query_gnn import QueryGNN
from clew.training.data.gfm_examples import GFMExamples, LazyExamples, make_examples
from clew.training.objectives.document_retrieval import DocumentRetrieval
from clew.types import Document, Question
from clew_lab.training.recipes.gfm_graphs import graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe, published_recipe
from clew_lab.training.recipes.networks import query_network_settings
from workbench import WORK, describe_machine, print_table

FOLDER = WORK / "many-graphs"
FIRST_STEPS = 20
ENCODER = "hashing:384"
SYLLABLES = ["ka", "lo", "mi", "ren", "tas", "vel", "dor", "una", "pir", "esh", "gol", "bra", "nim", "ost", "yr", "fen"]


def main() -> None:
    """Make the indexes that are missing, lay out the questions, run some steps, and print the memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=60)
    parser.add_argument("--documents", type=int, default=400, help="of each graph")
    parser.add_argument("--questions", type=int, default=1000, help="on each graph")
    parser.add_argument("--steps", type=int, default=400, help="after the questions are laid out")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--whole-graph", action="store_true")
    parser.add_argument("--budget", type=float, default=8.0, help="GB for which the size of graphs is extrapolated")
    arguments = parser.parse_args()
    recipe = GFMRecipe(width=arguments.width)
    if arguments.whole_graph:
        recipe = replace(published_recipe(), width=arguments.width, linker="exact")
    places = [make_index(number, arguments.documents) for number in range(arguments.graphs)]
    print(describe_machine(), recipe.targets, f"width {recipe.width}", flush=True)
    rows = [["start", *memory()]]
    sources: list[GFMExamples] = []
    triples, seconds = 0, 0.0
    for number, place in enumerate(places):
        questions = make_questions(number, arguments.documents, arguments.questions)
        view = graph_view(clew.open(place).context, recipe)
        sources.append(make_examples(view, questions, recipe.loop.seed, augment=recipe.loss.augment, lazy=True))
        triples += len(view.snapshot.triples)
        if not number:
            rows.append(["a graph laid out", *memory()])
            torch.manual_seed(0)
            model = QueryGNN(query_network_settings(recipe, sources[0].relations.shape[1]))
            take_steps(model, recipe, sources, range(FIRST_STEPS))
            rows.append([f"{FIRST_STEPS} steps on it", *memory()])
    rows.append([f"{arguments.graphs} graphs laid out", *memory()])
    for part in np.array_split(np.arange(arguments.steps), 4):
        seconds += take_steps(model, recipe, sources, range(int(part[0]), int(part[-1]) + 1))
        rows.append([f"{part[-1] + 1} steps on them", *memory()])
    print_table(("after", "MB", "MB of its own"), rows)
    epoch = len(DocumentRetrieval(sources, {}, recipe.loss))
    print(f"{arguments.steps} steps in {seconds:.0f} s, of {epoch} in an epoch")
    report(arguments, triples, rows, question_bytes(sources[0]))


def take_steps(model: QueryGNN, recipe: GFMRecipe, sources: list[GFMExamples], steps: range) -> float:
    """Train on some of the batches of an epoch, and return the seconds."""
    objective = DocumentRetrieval(sources, {}, recipe.loss)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.loop.rate)
    started = time.perf_counter()
    for batch in islice(objective.batches(0), steps.start, steps.stop):
        optimizer.zero_grad()
        loss = objective.loss(model, batch)
        if loss is not None:
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return time.perf_counter() - started


def report(arguments: argparse.Namespace, triples: int, rows: list[list[str]], per_question: float) -> None:
    """Print the memory of a graph and of a question, and the size of graphs that a budget holds."""
    one, last = float(rows[2][2]), float(rows[-1][2])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    graphs = arguments.graphs
    each = (last - one) / max(graphs - 1, 1)
    size = f"{arguments.documents} passages and {triples / graphs:.0f} triples"
    print(f"a graph of {size}: {each:.1f} MB after the steps; a question {per_question:.0f} bytes; peak {peak:.0f} MB")
    total = graphs * arguments.questions * per_question / 2**20
    left = arguments.budget * 1024 - one - total  # beside torch, the network and one graph
    factor = left / max(each * graphs, 1e-9)
    print(
        f"{graphs} graphs with {graphs * arguments.questions} questions fit in {arguments.budget:g} GB up to "
        f"{factor * arguments.documents:,.0f} passages and {factor * triples / graphs:,.0f} triples each, if a graph "
        "grows with its passages"
    )


def question_bytes(source: GFMExamples) -> float:
    """Return the bytes that a question keeps between steps: those of its text, its gold passages, and its counts."""

    def total(value: object) -> int:
        inner = sum(map(total, value)) if isinstance(value, (list, tuple)) else 0
        return sys.getsizeof(value) + inner

    held = [getattr(source.items, name) for name in ("_texts", "_gold")]
    assert isinstance(source.items, LazyExamples)
    counts = source.items.gold_counts
    seen = (total(list(counts.items())) + sys.getsizeof(counts)) / max(len(counts), 1)
    return sum(map(total, held)) / len(source.items) + seen


def memory() -> list[str]:
    """Return the megabytes of this process, and those of its own pages."""
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines())
    return [f"{int(lines[name].split()[0]) / 1024:.0f}" for name in ("VmRSS", "RssAnon")]


def make_index(number: int, documents: int) -> Path:
    """Return the index of a made-up corpus; it is made where it is missing."""
    place = FOLDER / f"{number}-{documents}"
    done = place.with_suffix(".done")
    if not done.is_file():
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        index = clew.create(place, clew.Settings(encoder=ENCODER, extractor="rules"))
        index.add(make_documents(number, documents))
        done.touch()
    return place


def make_names(number: int, count: int) -> list[str]:
    """Return distinct names, those of a corpus."""
    random = np.random.default_rng(number)
    names: dict[str, None] = {}
    while len(names) < count:
        parts = random.choice(SYLLABLES, size=(2, 3))
        names[" ".join("".join(part).capitalize() for part in parts)] = None
    return list(names)


def make_documents(number: int, count: int) -> list[Document]:
    """Return articles about people, each of which names three others, a town and a firm."""
    names, random = make_names(number, 2 * count), np.random.default_rng([number, 1])
    made = []
    for place in range(count):
        friend, partner, teacher = (names[i] for i in random.integers(0, count, 3).tolist())
        town = names[count + random.integers(0, count // 2)]
        firm = names[count + count // 2 + random.integers(0, max(count // 8, 1))]
        person = names[place]
        text = (
            f"{person} was born in {town} and worked for {firm}. {person} married {partner}, who was a pupil of "
            f"{teacher}. In later years {person} lived with {friend} in the north of {town}."
        )
        made.append(Document(f"{number}-{place}", person, text))
    return made


def make_questions(number: int, documents: int, count: int) -> list[Question]:
    """Return questions of two hops on a made-up corpus, with their two articles."""
    random, titles = np.random.default_rng([number, 2]), {}
    texts = make_documents(number, documents)
    titles = {document.title: document.id for document in texts}
    made = []
    for place in range(count):
        document = texts[int(random.integers(documents))]
        partner = document.text.split(" married ")[1].split(",")[0]
        gold = tuple(dict.fromkeys((document.id, titles[partner])))
        made.append(Question(f"{number}-{place}", f"Where was the spouse of {document.title} born?", gold=gold))
    return made


if __name__ == "__main__":
    main()
