"""Ways of selecting subgraphs side by side: the same questions, reader and budget of nodes, over seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.answering.graph_readers.protocols import GraphReader
from clew.errors import InputError
from clew.evaluation.evaluate_subgraphs import BATCH_SIZE, MEASURES, count_truncated, evaluate_selector
from clew.evaluation.significance import compare_means, mean_intervals
from clew.protocols import Encoder
from clew.retrievers.subgraph.gcn_selector import GCNSelector
from clew.retrievers.subgraph.selectors import (
    EgoGraph,
    RandomNodes,
    SteinerSelector,
    SubgraphSelector,
    TopNodes,
    WholeGraph,
)
from clew.training.data.graph_questions import EncodedQuestion
from clew.training.recipes.subgraph import train_selection, tune_reader
from clew.types import Progress

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from clew.evaluation.significance import Comparison
    from clew.retrievers.subgraph.gcn_weights import ScorerSettings
    from clew.training.loop import Recipe
    from clew.training.objectives.subgraph_feedback import FeedbackRecipe

    DoubleArray = NDArray[np.float64]

UNTRAINED_SELECTIONS: dict[str, Callable[[int], SubgraphSelector]] = {
    "steiner": lambda _: SteinerSelector(),
    "steiner-fill": lambda _: SteinerSelector(fill=True),
    "top-k": lambda _: TopNodes(),
    "ego": lambda _: EgoGraph(),
    "random": RandomNodes,
    "whole": lambda _: WholeGraph(),
}
"""Selections that nothing is learned for, by name."""
G_RETRIEVER, GRAPH_TOKEN = "g-retriever", "graphtoken"
OWN_READER_SELECTIONS: dict[str, Callable[[int], SubgraphSelector]] = {
    G_RETRIEVER: lambda _: SteinerSelector(),
    GRAPH_TOKEN: lambda _: WholeGraph(),
}
"""Selections that are what they are with a reader of their own (see `Comparing.readers`): the tree with a token made of
it, and tokens made of the whole graph in the place of its text."""
GCN, GCN_PAPER, GCN_UNTRAINED = "gcn", "gcn-paper", "gcn-untrained"
SELECTIONS = (GCN, GCN_PAPER, GCN_UNTRAINED, *UNTRAINED_SELECTIONS)
"""Selections that any reader will do for."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonConfig:
    """What ways of selecting are compared on.

    Attributes:
        training: What networks, and readers that are taught, learn from.
        validation: What chooses their epoch.
        test: What all are measured on.
        make_reader: Gives for a seed a reader, fresh at every call: what one selection teaches it, the next must not
            find.
        encoder: Of the graphs' texts.
        budget: Nodes of a selection, at most; the whole graph has none.
        own_readers: The same for selections with a reader of their own, by name.
    """

    training: Sequence[EncodedQuestion]
    validation: Sequence[EncodedQuestion]
    test: Sequence[EncodedQuestion]
    make_reader: Callable[[int], GraphReader]
    encoder: Encoder
    budget: int
    own_readers: Mapping[str, Callable[[int], GraphReader]] = field(default_factory=dict)


def check_selection_names(names: Sequence[str]) -> None:
    """Refuse names that are no selections to compare.

    Raises:
        InputError: There is none, one is not known, or one stands there twice.
    """
    known = (*SELECTIONS, *OWN_READER_SELECTIONS)
    if not names:
        raise InputError(f"0 selections to compare: wanted at least one of {', '.join(known)}")
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"no selection is called {unknown[0]!r}; choose of {', '.join(known)}")
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise InputError(f"the selection {twice[0]!r} is there {names.count(twice[0])} times: give each once")


def compare_selections(
    config: ComparisonConfig,
    names: Sequence[str],
    seeds: Sequence[int],
    settings: "ScorerSettings",
    feedback: "FeedbackRecipe",
    recipe: "Recipe",
    runs_folder: Path,
    progress: Progress,
) -> dict[str, Any]:
    """Return the means of `MEASURES` for each way with 95 % intervals, and the first beside each other one.

    And `shortened`, how many different parts of graphs were too long for the reader, where there were some.

    A question's figure is the mean over the seeds; intervals and tests are over questions. A reader that has weights
    to learn learns them with a network, or on what a selection without one gives, from the same questions.

    Args:
        config: The questions and their readers.
        names: Of `SELECTIONS` and `WITH_READERS`, each once; the first is compared with the others.
        seeds: Of what is random: teaching a reader, a network's start and draws, `random`.
        settings: Of the networks; only a trained one of the objective `policy` may end a selection.
        feedback: Their recipe; `gcn-paper` takes it with the printed loss.
        recipe: Of the loop.
        runs_folder: Folder of the networks' runs; a run that was killed goes on.
        progress: Told what is done.

    Raises:
        InputError: A name is not known or has no reader, there is nothing to compare on or to learn from, or
            `runs_folder`
            holds the run of something else.
    """
    check_selection_names(names)
    if lacking := [name for name in names if name in OWN_READER_SELECTIONS and name not in config.own_readers]:
        raise InputError(f"{lacking[0]} needs a reader of its own, which reads graph tokens: give it one in readers")
    if not config.test or not seeds:
        raise InputError(
            f"{len(config.test)} questions and {len(seeds)} seeds to compare on: wanted at least one of each"
        )
    values: dict[str, list[DoubleArray]] = {name: [] for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    cut = dict.fromkeys(names, 0)
    for place, seed in enumerate(seeds):
        for name in names:
            reader = config.own_readers.get(name, config.make_reader)(seed)
            of, own = _NetworkConfig(settings, feedback, replace(recipe, seed=seed)), runs_folder / f"{name}-{seed}"
            selector, took = _prepare_selector(config, name, reader, of, own, progress)
            seconds[name].append(took)
            progress(f"measuring {name}", place, len(seeds))
            values[name].append(evaluate_selector(selector, reader, config.test, config.budget))
            cut[name] += count_truncated(reader)
    return _build_report(names, values, seconds, config) | {
        "shortened": {name: count for name, count in cut.items() if count}
    }


@dataclass(frozen=True, slots=True)
class _NetworkConfig:
    """How networks that select are made and trained."""

    settings: "ScorerSettings"
    feedback: "FeedbackRecipe"
    recipe: "Recipe"


def _prepare_selector(
    config: ComparisonConfig, name: str, reader: GraphReader, network: _NetworkConfig, run: Path, progress: Progress
) -> tuple[SubgraphSelector, float]:
    """Return a selection, its network and its reader trained where they can be, and the seconds of that."""
    ending = (
        network.settings if name == GCN else replace(network.settings, stops=False)
    )  # nothing taught the others where
    if name in (GCN, GCN_PAPER):
        feedback = replace(network.feedback, objective="paper") if name == GCN_PAPER else network.feedback
        trained, told = train_selection(
            config.training, config.validation, reader, config.encoder, ending, feedback, network.recipe, run, progress
        )
        return GCNSelector(trained), told.seconds
    if name == GCN_UNTRAINED:
        selector: SubgraphSelector = _untrained_selector(config, ending, network.recipe.seed)
    else:
        selector = (UNTRAINED_SELECTIONS | OWN_READER_SELECTIONS)[name](network.recipe.seed)
    about = f"{name} {ending}" if name == GCN_UNTRAINED else name
    took = tune_reader(
        config.training,
        config.validation,
        reader,
        config.encoder,
        selector,
        about,
        config.budget,
        network.recipe,
        run,
        progress,
    )
    return selector, took


def _untrained_selector(config: ComparisonConfig, settings: "ScorerSettings", seed: int) -> GCNSelector:
    from clew.retrievers.subgraph.gcn_weights import TrainedScorer

    model = settings.build_network(config.encoder.dimension, seed).eval()
    return GCNSelector(TrainedScorer(model, settings, config.encoder.fingerprint, config.encoder.dimension))


def _build_report(
    names: Sequence[str],
    values: "Mapping[str, list[DoubleArray]]",
    seconds: Mapping[str, list[float]],
    config: ComparisonConfig,
) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    means = {name: np.mean(rows, axis=0) for name, rows in values.items()}
    found = (
        _compare_measure((names[0], other), means[names[0]], means[other], measure, generator)
        for other in names[1:]
        for measure in ("accuracy", "gold")
    )
    return {
        "questions": len(config.test),
        "learned_from": len(config.training),
        "budget": config.budget,
        "seeds": len(values[names[0]]),
        "selections": {
            name: _summarize_selection(means[name], values[name], seconds[name], generator) for name in names
        },
        "comparisons": [asdict(one) for one in found if one is not None],
    }


def _summarize_selection(
    means: "DoubleArray", by_seed: "Sequence[DoubleArray]", seconds: Sequence[float], generator: "Generator"
) -> dict[str, Any]:
    """Return the figures of one selection; the interval of its training is from the shortest to the longest."""
    known = {measure: means[:, i][~np.isnan(means[:, i])] for i, measure in enumerate(MEASURES)}
    known = {measure: of for measure, of in known.items() if len(of)}
    told: dict[str, Any] = {measure: float(of.mean()) for measure, of in known.items()}
    # Questions that were read together share one time, which is one observation and not eight.
    drawn = known | {"read_ms": known["read_ms"][::BATCH_SIZE]}
    told["intervals"] = {measure: mean_intervals(of[:, None], generator)[0].tolist() for measure, of in drawn.items()}
    told["train_seconds"] = float(np.mean(seconds))
    told["intervals"]["train_seconds"] = [min(seconds), max(seconds)]
    told["by_seed"] = [float(rows[:, 0].mean()) for rows in by_seed]
    return told


def _compare_measure(
    names: tuple[str, str], first: "DoubleArray", other: "DoubleArray", measure: str, generator: "Generator"
) -> "Comparison | None":
    """Return the difference in a measure over the questions that have it; None where none has."""
    one, two = (rows[:, MEASURES.index(measure)] for rows in (first, other))
    known = ~np.isnan(one)
    return compare_means(names, measure, one[known], two[known], generator) if known.any() else None
