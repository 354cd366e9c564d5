"""Ways of selecting subgraphs side by side: the same questions, reader and budget of nodes, over seeds."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError
from clew.evaluation.significance import compare_means, mean_intervals
from clew.graph.textual_graph import GraphContext, context_of
from clew.protocols import Encoder, GraphReader, SubgraphSelector
from clew.retrievers.gcn_selector import GCNSelector
from clew.retrievers.subgraph_selectors import EgoGraph, RandomNodes, SteinerSelector, TopNodes, WholeGraph
from clew.teaching_subgraphs import AskedQuestion, Progress, train_selection
from clew.text.names import name_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.retrievers.subgraph_weights import ScorerSettings
    from clew.training.loop import Recipe
    from clew.training.subgraph_feedback import FeedbackRecipe

    DoubleArray = NDArray[np.float64]

FIXED: dict[str, Callable[[int], SubgraphSelector]] = {
    "steiner": lambda _: SteinerSelector(),
    "steiner-fill": lambda _: SteinerSelector(fill=True),
    "top-k": lambda _: TopNodes(),
    "ego": lambda _: EgoGraph(),
    "random": RandomNodes,
    "whole": lambda _: WholeGraph(),
}
"""Selections that nothing is learned for, by name."""
GCN, GCN_PAPER, GCN_UNTRAINED = "gcn", "gcn-paper", "gcn-untrained"
SELECTIONS = (GCN, GCN_PAPER, GCN_UNTRAINED, *FIXED)
MEASURES = ("accuracy", "gold", "loss", "nodes", "tokens", "select_ms", "read_ms")
"""What is measured of each question: the answer is right; all nodes of some gold chain are there; the reader's loss;
nodes and tokens (a quarter of the characters) of the context; milliseconds of the selection and of the reading."""
_CHARACTERS_A_TOKEN = 4
_TOGETHER = 64


@dataclass(frozen=True, slots=True, eq=False)
class Comparing:
    """What ways of selecting are compared on.

    Attributes:
        learned: What networks, and readers that are taught, learn from.
        held: What chooses their epoch.
        test: What all are measured on.
        reader: Gives for a seed the reader of all of them.
        encoder: Of the graphs' texts.
        budget: Nodes of a selection, at most; the whole graph has none.
    """

    learned: Sequence[AskedQuestion]
    held: Sequence[AskedQuestion]
    test: Sequence[AskedQuestion]
    reader: Callable[[int], GraphReader]
    encoder: Encoder
    budget: int


def compare_selections(
    on: Comparing,
    names: Sequence[str],
    seeds: Sequence[int],
    settings: "ScorerSettings",
    feedback: "FeedbackRecipe",
    recipe: "Recipe",
    runs: Path,
    progress: Progress,
) -> dict[str, Any]:
    """Return the means of `MEASURES` for each way with 95 % intervals, and the first beside each other one.

    A question's figure is the mean over the seeds; intervals and tests are over questions.

    Args:
        on: The questions and their reader.
        names: Of `SELECTIONS`, each once; the first is compared with the others.
        seeds: Of what is random: teaching a reader, a network's start and draws, `random`.
        settings: Of the networks.
        feedback: Their recipe; `gcn-paper` takes it with the printed loss.
        recipe: Of the loop.
        runs: Folder of the networks' runs; a run that was killed goes on.
        progress: Told what is done.

    Raises:
        InputError: A name is not known, or there is nothing to compare on.
    """
    if unknown := [name for name in names if name not in SELECTIONS]:
        raise InputError(f"no selection is called {unknown[0]!r}; choose of {', '.join(SELECTIONS)}")
    if not on.test or not seeds:
        raise InputError(f"{len(on.test)} questions and {len(seeds)} seeds to compare on: wanted at least one of each")
    values: dict[str, list[DoubleArray]] = {name: [] for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for seed in seeds:
        reader = on.reader(seed)
        for name in names:
            chosen = replace(feedback, objective="paper") if name == GCN_PAPER else feedback
            epochs = 0 if name == GCN_UNTRAINED else recipe.epochs
            if name in FIXED:
                selector, took = FIXED[name](seed), 0.0
            else:
                own = replace(recipe, seed=seed, epochs=max(epochs, 1))
                selector, took = _trained(on, reader, settings, chosen, own, runs / f"{name}-{seed}", progress, epochs)
            seconds[name].append(took)
            progress(f"measuring {name}", seed, len(seeds))
            values[name].append(measured(selector, reader, on.test, on.budget))
    return _report(names, values, seconds, on, len(seeds))


def measured(
    selector: SubgraphSelector, reader: GraphReader, questions: Sequence[AskedQuestion], budget: int
) -> "DoubleArray":
    """Return `MEASURES` (n, m) of a way of selecting; no gold is NaN.

    Args:
        selector: Any.
        reader: Of what it selects.
        questions: n.
        budget: Nodes at most.
    """
    rows = np.empty((len(questions), len(MEASURES)))
    for start in range(0, len(questions), _TOGETHER):
        some = questions[start : start + _TOGETHER]
        began = time.perf_counter()
        parts = selector.select([one.asked for one in some], budget)
        selected = time.perf_counter()
        contexts = [context_of(one.asked, part) for one, part in zip(some, parts, strict=True)]
        texts = [one.question.text for one in some]
        replies = reader.generate(texts, contexts)
        read = time.perf_counter()
        times = 1000 * (selected - began) / len(some), 1000 * (read - selected) / len(some)
        losses = _losses(reader, some, contexts)
        for row, (one, context, reply, loss) in enumerate(zip(some, contexts, replies, losses, strict=True), start):
            right = name_key(reply) in {name_key(answer) for answer in one.question.answers}
            sizes = len(context.part.nodes), len(context.text) / _CHARACTERS_A_TOKEN
            rows[row] = (right, _gold(one, context), loss, *sizes, *times)
    return rows


def _trained(
    on: Comparing,
    reader: GraphReader,
    settings: "ScorerSettings",
    feedback: "FeedbackRecipe",
    recipe: "Recipe",
    run: Path,
    progress: Progress,
    epochs: int,
) -> tuple[SubgraphSelector, float]:
    if not epochs:
        from clew.retrievers.subgraph_weights import TrainedScorer

        model = settings.made(on.encoder.dimension, recipe.seed).eval()
        return GCNSelector(TrainedScorer(model, settings, on.encoder.fingerprint, on.encoder.dimension)), 0.0
    trained, told = train_selection(on.learned, on.held, reader, on.encoder, settings, feedback, recipe, run, progress)
    return GCNSelector(trained), told.seconds


def _losses(reader: GraphReader, some: Sequence[AskedQuestion], contexts: Sequence[GraphContext]) -> list[float]:
    """Return the loss of the easiest answer of each question."""
    counts = [len(one.question.answers) for one in some]
    texts = [one.question.text for one in some for _ in one.question.answers]
    repeated = [context for context, count in zip(contexts, counts, strict=True) for _ in range(count)]
    found = reader.loss(texts, repeated, [answer for one in some for answer in one.question.answers])
    lows: list[float] = np.minimum.reduceat(found, np.cumsum([0, *counts])[:-1]).tolist()
    return lows


def _gold(one: AskedQuestion, context: GraphContext) -> float:
    inside = set(context.part.nodes.tolist())
    chains = one.question.gold
    return float(any(inside.issuperset(chain) for chain in chains)) if chains else float("nan")


def _report(
    names: Sequence[str],
    values: "Mapping[str, list[DoubleArray]]",
    seconds: Mapping[str, list[float]],
    on: Comparing,
    seeds: int,
) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    means = {name: np.mean(rows, axis=0) for name, rows in values.items()}
    first = means[names[0]]
    selections: dict[str, Any] = {}
    for name in names:
        known = {m: means[name][:, i][~np.isnan(means[name][:, i])] for i, m in enumerate(MEASURES)}
        told: dict[str, Any] = {measure: float(of.mean()) for measure, of in known.items() if len(of)}
        told["intervals"] = {
            measure: mean_intervals(of[:, None], generator)[0].tolist() for measure, of in known.items() if len(of)
        }
        told["by_seed"] = [float(rows[:, 0].mean()) for rows in values[name]]
        told["train_seconds"] = float(np.mean(seconds[name]))
        selections[name] = told
    comparisons = [
        asdict(compare_means((names[0], other), measure, first[:, place], means[other][:, place], generator))
        for other in names[1:]
        for place, measure in ((0, "accuracy"), (1, "gold"))
        if not np.isnan(first[:, place]).any()
    ]
    return {
        "questions": len(on.test),
        "learned_from": len(on.learned),
        "budget": on.budget,
        "seeds": seeds,
        "selections": selections,
        "comparisons": comparisons,
    }
