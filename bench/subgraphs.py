"""Selecting subgraphs: `python bench/subgraphs.py [PART ...] [--seeds N] [--select NAMES]`, all parts without any.

`pathquestion`: PathQuestion with 3 hops, as textual graphs of the 3-hop neighbourhoods of topics, split by topic; the
share of questions whose gold path survives a budget of 20 nodes, and of 8. `explagraphs`: the development questions.
`pays`: where training by feedback pays: each form of the network trained against the same untrained, with equal seeds,
on tasks and budgets that were chosen on training questions (`--task NAME` for one of them, `--budgets` for others).
Networks are trained on the local reader's feedback only, without paths. `times`: milliseconds
of selecting and reading the same, without training, in one order and the other. `training`: an epoch
over 5,000 small graphs. `latency`: a selection on a graph of 20 nodes, and on the index of MetaQA.
"""

import argparse
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.nn.query_gnn import export_arrays
from clew.protocols import Encoder
from clew.retrievers.subgraph.gcn import GCNSelector, TrainedScorer
from clew.retrievers.subgraph.settings import ScorerSettings
from clew.training.hyperparameters import Recipe
from clew.types import ignore_progress
from clew_lab.datasets.explagraphs import load_explagraphs
from clew_lab.datasets.graph_datasets import GraphDataset, split_dataset
from clew_lab.datasets.kgqa import load_kgqa
from clew_lab.datasets.loaders import load_questions
from clew_lab.evaluation.compare_subgraphs import SELECTIONS, ComparisonConfig, compare_selections
from clew_lab.graph.graph_encoder import GraphEncoder
from clew_lab.nn.subgraph_policy import build_scorer
from clew_lab.training.data.graph_questions import EncodedQuestion, encode_questions
from clew_lab.training.hyperparameters import FeedbackRecipe
from clew_lab.training.recipes.selection_recipe import SelectionRecipe
from clew_lab.training.recipes.subgraph import local_reader, train_selection
from frag import METAQA, open_graph
from workbench import DATA, WORK, describe_machine, print_table

JUDGED = ("accuracy", "containment", "gold")
PLAIN = ("nodes", "tokens", "select_ms", "read_ms", "train_seconds")
TIMED = ("select_ms", "read_ms")
TRAINING_QUESTIONS = 800
"""Number of training questions of PathQuestion."""
PUBLISHED = ScorerSettings(inputs="text", combination="product")
"""The published network: cosine times importance of the texts alone, without a walk."""
PAYS = {
    "explagraphs": (3, ScorerSettings(), 8, 1e-2),
    "explagraphs, published network": (3, PUBLISHED, 8, 1e-2),
    "pathquestion-2h, published network": (5, PUBLISHED, 2, 1e-2),
    "pathquestion-3h": (5, ScorerSettings(), 5, 5e-3),
    "pathquestion-3h, published network": (5, PUBLISHED, 2, 1e-2),
}
"""For each task of `pays` the budget, the network, epochs and learning rate."""
PAYS_TASKS = list(PAYS)
BUDGETS: list[int] = []
"""Budgets of `pays` in place of the tasks' own."""
SELECTED = list(SELECTIONS)
"""Selections of the tables, as `--select` names them."""


def main() -> None:
    """Print the selected parts, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {"pathquestion": pathquestion, "explagraphs": stances, "times": times}
    parts |= {"training": training, "latency": latency, "pays": pays}
    parser.add_argument("parts", nargs="*", choices=[[], *parts])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--select", default=",".join(SELECTIONS), help="selections of the tables, the first compared")
    parser.add_argument("--task", choices=list(PAYS), help="the only task of pays; all by default")
    parser.add_argument("--budgets", default="", help="nodes, by commas: of pays, in place of those of its tasks")
    arguments = parser.parse_args()
    BUDGETS[:] = [int(budget) for budget in arguments.budgets.split(",") if budget]
    if arguments.task is not None:
        PAYS_TASKS[:] = [arguments.task]
    SELECTED[:] = arguments.select.split(",")
    print(describe_machine())
    for name in arguments.parts or parts:
        print(f"\n## {name}", flush=True)
        parts[name](arguments.seeds)


def pathquestion(seeds: int) -> None:
    """Print the table for budgets of 20 and 8 nodes."""
    encoder = open_encoder(DEFAULT_ENCODER)
    train, validation, test_set = _paths(encoder, TRAINING_QUESTIONS, 400)
    for budget in (20, 8):
        config = ComparisonConfig(train, validation, test_set, lambda _: local_reader(encoder, (), ()), encoder, budget)
        loop = Recipe(epochs=2, rate=5e-3, average=0.9, warmup=10)
        recipe = SelectionRecipe(feedback=FeedbackRecipe(budget=budget, draws=8), loop=loop)
        _compare(config, seeds, recipe, f"pathquestion-{budget}")


def times(seeds: int) -> None:
    """Print times of the untrained selections on PathQuestion, budget 20; training does not change them."""
    del seeds
    encoder = open_encoder(DEFAULT_ENCODER)
    train, validation, test_set = _paths(encoder, 20, 64)
    config = ComparisonConfig(train, validation, test_set, lambda _: local_reader(encoder, (), ()), encoder, 20)
    names = [name for name in SELECTIONS if name not in ("gcn", "gcn-paper")]
    for order in (names, names[::-1]):
        recipe, runs = SelectionRecipe(loop=Recipe()), WORK / "subgraphs" / "times"
        report = compare_selections(config, order, (0,), recipe, runs, ignore_progress).to_json()
        figures = report["selections"]
        print(f"\n{report['questions']} questions, first {order[0]}")
        rows = [[name, *(_with_interval(figures[name], measure, 1) for measure in TIMED)] for name in names]
        print_table(("selection", *TIMED), rows)


def pays(seeds: int) -> None:
    """Print trained networks against the same untrained; questions for testing chose nothing."""
    encoder = open_encoder(DEFAULT_ENCODER)
    rows = []
    for task, given in [(task, budget) for task in PAYS_TASKS for budget in BUDGETS or [0]]:
        own, network, epochs, rate = PAYS[task]
        budget = given or own
        config = _pays_config(encoder, task, budget)
        loop = Recipe(epochs=epochs, rate=rate, average=0.9, warmup=10)
        recipe = SelectionRecipe(network, FeedbackRecipe(budget=budget, draws=8), loop)
        runs = WORK / "subgraphs" / f"pays-{task}"
        shutil.rmtree(runs, ignore_errors=True)
        report = compare_selections(config, ("gcn", "gcn-untrained"), range(seeds), recipe, runs, ignore_progress)
        figures = report.to_json()
        for c in figures["comparisons"]:
            trained, untrained = (f"{figures['selections'][name][c['measure']]:.3f}" for name in (c["a"], c["b"]))
            difference = f"{c['difference']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f})"
            counts = f"{figures['learned_from']} / {figures['questions']}"
            rows.append([task, str(budget), counts, c["measure"], untrained, trained, difference, f"{c['p']:.4f}"])
            print(*rows[-1], sep="  ", flush=True)
    heads = ("task", "budget", "trained on / tested", "measure", "untrained", "trained", "trained minus untrained", "p")
    print_table(heads, rows)


def _pays_config(encoder: Encoder, task: str, budget: int) -> ComparisonConfig:
    name = task.partition(",")[0]
    if name == "explagraphs":
        return _stances_config(encoder, budget)
    train, validation, test_set = _paths(encoder, 700, 400, name, 2 if name.endswith("2h") else 3)
    return ComparisonConfig(train, validation, test_set, lambda _: local_reader(encoder, (), ()), encoder, budget)


def _paths(
    encoder: Encoder, train: int, test_set: int, name: str = "pathquestion-3h", hops: int = 3
) -> list[list[EncodedQuestion]]:
    """Return training, validation and test questions, split by topic."""
    folder = DATA / name
    dataset, test = split_dataset(load_kgqa(folder / "kg.tsv", folder / "questions.jsonl", hops), 0.8, 0)
    parts = (*split_dataset(_limit(dataset, train), 0.85, 0), _limit(test, test_set))
    return [encode_questions(part, encoder, ignore_progress) for part in parts]


def stances(seeds: int) -> None:
    """Print the table for ExplaGraphs at 3 of 5 nodes on average, selected on training questions."""
    config = _stances_config(open_encoder(DEFAULT_ENCODER), 3)
    loop = Recipe(epochs=8, rate=1e-2, average=0.9, warmup=10)
    _compare(config, seeds, SelectionRecipe(feedback=FeedbackRecipe(budget=3, draws=8), loop=loop), "explagraphs")


def _stances_config(encoder: Encoder, budget: int) -> ComparisonConfig:
    dataset, test = (load_explagraphs(DATA / "explagraphs" / name) for name in ("train.jsonl", "dev.jsonl"))
    train, validation = (encode_questions(part, encoder, ignore_progress) for part in split_dataset(dataset, 0.85, 0))
    test_set = encode_questions(test, encoder, ignore_progress)
    return ComparisonConfig(
        train, validation, test_set, lambda seed: local_reader(encoder, train, dataset.choices, seed), encoder, budget
    )


def _compare(config: ComparisonConfig, seeds: int, recipe: SelectionRecipe, name: str) -> None:
    runs = WORK / "subgraphs" / name
    shutil.rmtree(runs, ignore_errors=True)
    report = compare_selections(config, SELECTED, range(seeds), recipe, runs, ignore_progress).to_json()
    result = f"{report['questions']} questions, {report['learned_from']} for training"
    print(f"\n{result}, budget {config.budget}, {seeds} seeds")
    rows = []
    for selection, figures in report["selections"].items():
        cells = [_with_interval(figures, measure) for measure in JUDGED]
        rows.append([selection, *cells, *(f"{figures[measure]:.1f}" for measure in PLAIN)])
    print_table(("selection", *JUDGED, *PLAIN), rows)
    for c in report["comparisons"]:
        interval = f"{c['difference']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f})"
        print(f"{c['a']} minus {c['b']}, {c['measure']}: {interval}, p = {c['p']:.4f}", flush=True)


def _with_interval(figures: dict[str, Any], measure: str, places: int = 3) -> str:
    if measure not in figures:
        return ""
    low, high = figures["intervals"][measure]
    return f"{figures[measure]:.{places}f} ({low:.{places}f}-{high:.{places}f})"


def _limit(part: GraphDataset, count: int) -> GraphDataset:
    """Return evenly spaced questions of a data set."""
    total = len(part.questions)
    places = sorted({number * total // count for number in range(count)}) if total > count else range(total)
    return replace(part, questions=tuple(part.questions[place] for place in places))


def training(seeds: int) -> None:
    """Print the time of an epoch over 5,000 graphs, which repeat those of ExplaGraphs' questions."""
    del seeds
    encoder = open_encoder(DEFAULT_ENCODER)
    dataset = load_explagraphs(DATA / "explagraphs" / "train.jsonl")
    began = time.perf_counter()
    questions = encode_questions(dataset, encoder, ignore_progress)
    encoded = time.perf_counter() - began
    many = [questions[i % len(questions)] for i in range(5_000)]
    reader = local_reader(encoder, questions, dataset.choices)
    run = WORK / "subgraphs" / "training"
    shutil.rmtree(run, ignore_errors=True)
    recipe = SelectionRecipe(feedback=FeedbackRecipe(budget=4), loop=Recipe(epochs=1))
    _, result = train_selection(many, questions[:100], reader, encoder, recipe, run, ignore_progress)
    print(f"5,000 graphs, 1 epoch: {result.seconds:.0f} s; encoding {len(questions)} of them before: {encoded:.0f} s")


def latency(seeds: int) -> None:
    """Print the median time of a warm selection."""
    del seeds
    encoder = open_encoder(DEFAULT_ENCODER)
    rows = []
    for nodes, edges in ((20, 60), (500, 1_500)):
        example = _generated(nodes, edges, encoder)
        settings = ScorerSettings()
        model = settings.network(export_arrays(build_scorer(settings, encoder.dimension, 0)))
        selector = GCNSelector(TrainedScorer(model, settings, encoder.fingerprint, encoder.dimension))
        for _ in range(20):
            selector.select([example.question_graph], 10)
        milliseconds = []
        for _ in range(200):
            began = time.perf_counter()
            selector.select([example.question_graph], 10)
            milliseconds.append(1000 * (time.perf_counter() - began))
        rows.append([f"a graph of {nodes} nodes", "gcn", *_times(milliseconds)])
    index = open_graph(METAQA)
    questions = load_questions(DATA / METAQA / "dev.jsonl")[:: 9_000 // 200]
    for name in ("gcn-subgraph", "steiner"):
        milliseconds = []
        for question in questions:
            began = time.perf_counter()
            index.search(question.text, 5, name, None, 1, question.topics)
            milliseconds.append(1000 * (time.perf_counter() - began))
        rows.append(["metaqa, 128k triples, a whole search", name, *_times(milliseconds[20:])])
    print_table(("where", "selection", "ms, median", "ms, 95 %"), rows)


def _times(milliseconds: Sequence[float]) -> list[str]:
    return [f"{np.median(milliseconds):.1f}", f"{np.percentile(milliseconds, 95):.1f}"]


def _generated(nodes: int, edges: int, encoder: Encoder) -> EncodedQuestion:
    generator = np.random.default_rng(0)
    ends = generator.integers(0, nodes, (edges, 2)).astype(np.int32)
    relations = [f"relation {number}" for number in generator.integers(0, 8, edges)]
    made = GraphDataset([TextualGraph([f"node {i}" for i in range(nodes)], ends, relations)], ())
    vectors = GraphEncoder(encoder.encode, encoder.encode)
    query = vectors.encode_query(vectors.encode_graph(made.graphs[0]), "what is relation 3 of node 0", [0])
    return EncodedQuestion(None, query)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
