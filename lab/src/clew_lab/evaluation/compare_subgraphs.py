"""Comparison of subgraph selections with the same questions, reader and node budget, over several seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from clew.arrays import DoubleArray
from clew.errors import InputError
from clew.evaluation.significance import Comparison, compare_means, mean_interval
from clew.nn.query_gnn import export_arrays
from clew.protocols import Encoder
from clew.retrievers.subgraph.encoding import SubgraphSelector
from clew.retrievers.subgraph.gcn import GCNSelector, TrainedScorer
from clew.training.checkpoint import ProcessGroup
from clew.training.loop import SINGLE_PROCESS
from clew.types import Progress
from clew_lab.datasets.graph_datasets import AccuracyRule
from clew_lab.evaluation.evaluate_subgraphs import BATCH_SIZE, MEASURES, count_truncated, evaluate_selector
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.nn.subgraph_policy import build_scorer
from clew_lab.retrievers import selectors
from clew_lab.retrievers.selectors import SteinerSelector
from clew_lab.training.data.graph_questions import EncodedQuestion
from clew_lab.training.recipes.selection_recipe import SelectionRecipe
from clew_lab.training.recipes.subgraph import train_selection, tune_reader

UNTRAINED_SELECTIONS: dict[str, Callable[[int, SteinerSelector], SubgraphSelector]] = {
    "steiner": lambda _, tree: tree,
    "steiner-fill": lambda _, tree: replace(tree, fill=True),
    "top-k": lambda *_: selectors.TopNodes(),
    "ego": lambda *_: selectors.EgoGraph(),
    "random": lambda seed, _: selectors.RandomNodes(seed),
    "whole": lambda *_: selectors.WholeGraph(),
}
"""Selections without training, by name, of a seed and the settings of the Steiner tree."""
G_RETRIEVER, GRAPH_TOKEN = "g-retriever", "graphtoken"
OWN_READER_SELECTIONS: dict[str, Callable[[int, SteinerSelector], SubgraphSelector]] = {
    G_RETRIEVER: lambda _, tree: tree,
    GRAPH_TOKEN: lambda *_: selectors.WholeGraph(),
}
"""Selections with a reader of their own (`ComparisonConfig.own_readers`): the Steiner tree with a graph token of it;
graph tokens of the whole graph in place of its text."""
GCN, GCN_PAPER, GCN_UNTRAINED = "gcn", "gcn-paper", "gcn-untrained"
SELECTIONS = (GCN, GCN_PAPER, GCN_UNTRAINED, *UNTRAINED_SELECTIONS)
"""Selections for any reader."""


@dataclass(frozen=True, slots=True)
class SelectionSummary:
    """Figures of one subgraph selection: mean of each measure over the questions, and accuracy with each seed."""

    means: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]  # of 95 % of each mean; of "train_seconds" the ends
    train_seconds: float  # mean over the seeds
    by_seed: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all figures as one JSON object."""
        rest = {"train_seconds": self.train_seconds, "by_seed": list(self.by_seed)}
        return {**self.means, "intervals": {name: list(ends) for name, ends in self.intervals.items()}, **rest}


@dataclass(frozen=True, slots=True)
class SelectionReport:
    """Result of a comparison of subgraph selections."""

    questions: int  # number of test questions
    training_questions: int
    validation_questions: int  # which choose the epoch
    budget: int  # maximum number of nodes of a selection
    seeds: int
    selections: Mapping[str, SelectionSummary]
    comparisons: tuple[Comparison, ...]  # paired comparisons of the first selection with the others
    # by selection, the number of distinct graphs that were too long for the reader, if any
    truncated: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values, as printed by `clew compare`."""
        return {
            "questions": self.questions,
            "learned_from": self.training_questions,
            "budget": self.budget,
            "seeds": self.seeds,
            "selections": {name: summary.to_json() for name, summary in self.selections.items()},
            "comparisons": [comparison.to_json() for comparison in self.comparisons],
            "shortened": dict(self.truncated),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonConfig:
    """Questions to train on, to choose the epoch by and to evaluate, readers and budget of a comparison."""

    training: Sequence[EncodedQuestion]
    validation: Sequence[EncodedQuestion]
    test: Sequence[EncodedQuestion]
    # returns a reader for a seed, a new one at every call, since selections train it
    make_reader: Callable[[int], GraphReader]
    encoder: Encoder  # encoder of the graphs' texts
    budget: int  # maximum number of nodes of a selection; ignored for the whole graph
    # the same as `make_reader` for selections with a reader of their own, by name
    own_readers: Mapping[str, Callable[[int], GraphReader]] = field(default_factory=dict)
    choices: Sequence[str] = ()  # the possible answers, if all questions share a small set of them
    rule: AccuracyRule = "hit"  # of accuracy as published, without choices
    tree: SteinerSelector = field(default_factory=SteinerSelector)  # settings of the Steiner tree
    group: ProcessGroup = SINGLE_PROCESS  # a single process and the device to train on, which is the readers'


def check_selection_names(names: Sequence[str]) -> None:
    """Raise InputError for no names, unknown names or repeated names."""
    available = (*SELECTIONS, *OWN_READER_SELECTIONS)
    if not names:
        raise InputError(f"0 selections to compare: wanted at least one of {', '.join(available)}")
    if unknown := [name for name in names if name not in available]:
        raise InputError(f"no selection is called {unknown[0]!r}; choose from {', '.join(available)}")
    if repeated := [name for place, name in enumerate(names) if name in names[:place]]:
        raise InputError(f"the selection {repeated[0]!r} is given {names.count(repeated[0])} times: give each once")


def compare_selections(
    config: ComparisonConfig,
    names: Sequence[str],
    seeds: Sequence[int],
    recipe: SelectionRecipe,
    runs_folder: Path,
    progress: Progress,
) -> SelectionReport:
    """Evaluate distinct subgraph selections, and compare the first with each other one.

    The value of a question is the mean over the seeds, which are those of reader training, of networks' initial weights
    and samples, and of `random`; intervals and tests are over questions. A trainable reader is trained with the
    selection's network, or on the output of a selection without one, on the same questions. Only a network trained with
    the objective `policy` may stop a selection early, and `gcn-paper` is trained with the loss as published. An
    interrupted run of the same inputs is resumed from its folder in `runs_folder`.
    """
    check_selection_names(names)
    if lacking := [name for name in names if name in OWN_READER_SELECTIONS and name not in config.own_readers]:
        raise InputError(f"{lacking[0]} needs a reader of graph tokens: add one to own_readers")
    if not config.test or not seeds:
        raise InputError(
            f"{len(config.test)} questions and {len(seeds)} seeds to compare on: wanted at least one of each"
        )
    values: dict[str, list[DoubleArray]] = {name: [] for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    truncated = dict.fromkeys(names, 0)
    for place, seed in enumerate(seeds):
        seeded = replace(recipe, loop=replace(recipe.loop, seed=seed))
        for name in names:
            reader = config.own_readers.get(name, config.make_reader)(seed)
            selector, train_seconds = _prepare_selector(
                config, name, reader, seeded, runs_folder / f"{name}-{seed}", progress
            )
            seconds[name].append(train_seconds)
            progress(f"measuring {name}", place, len(seeds))
            values[name].append(
                evaluate_selector(selector, reader, config.test, config.budget, config.choices, config.rule)
            )
            truncated[name] += count_truncated(reader)
    return _build_report(names, values, seconds, {name: count for name, count in truncated.items() if count}, config)


def _prepare_selector(
    config: ComparisonConfig, name: str, reader: GraphReader, recipe: SelectionRecipe, run: Path, progress: Progress
) -> tuple[SubgraphSelector, float]:
    """Return a selector, after training of its network and reader if they are trainable, and the training seconds."""
    # Only the network of `gcn` is trained to stop early.
    if name != GCN:
        recipe = replace(recipe, network=replace(recipe.network, stops=False))
    splits = config.training, config.validation
    if name in (GCN, GCN_PAPER):
        if name == GCN_PAPER:
            recipe = replace(recipe, feedback=replace(recipe.feedback, objective="paper"))
        trained, result = train_selection(*splits, reader, config.encoder, recipe, run, progress, config.group)
        return GCNSelector(trained), result.seconds
    network, encoder, identity = recipe.network, config.encoder, name
    selector: SubgraphSelector
    if name == GCN_UNTRAINED:
        arrays = export_arrays(build_scorer(network, encoder.dimension, recipe.loop.seed))
        selector = GCNSelector(TrainedScorer(network.network(arrays), network, encoder.fingerprint, encoder.dimension))
        identity = f"{name} {network}"
    else:
        selector = (UNTRAINED_SELECTIONS | OWN_READER_SELECTIONS)[name](recipe.loop.seed, config.tree)
    return selector, tune_reader(
        *splits, reader, encoder, selector, identity, config.budget, recipe.loop, run, progress, config.group
    )


def _build_report(
    names: Sequence[str],
    values: Mapping[str, list[DoubleArray]],
    seconds: Mapping[str, list[float]],
    truncated: Mapping[str, int],
    config: ComparisonConfig,
) -> SelectionReport:
    generator = np.random.default_rng(0)
    means = {name: np.mean(rows, axis=0) for name, rows in values.items()}
    selections = {name: _summarize_selection(means[name], values[name], seconds[name], generator) for name in names}
    comparisons = []
    for other in names[1:]:
        for measure in ("accuracy", "published", "gold"):
            first, second = (means[name][:, MEASURES.index(measure)] for name in (names[0], other))
            if (has_value := ~np.isnan(first)).any():
                pair = first[has_value], second[has_value]
                comparisons.append(compare_means((names[0], other), measure, *pair, generator))
    return SelectionReport(
        len(config.test),
        len(config.training),
        len(config.validation),
        config.budget,
        len(values[names[0]]),
        selections,
        tuple(comparisons),
        truncated,
    )


def _summarize_selection(
    means: DoubleArray, by_seed: Sequence[DoubleArray], seconds: Sequence[float], generator: Generator
) -> SelectionSummary:
    columns = {measure: means[:, i][~np.isnan(means[:, i])] for i, measure in enumerate(MEASURES)}
    columns = {measure: column for measure, column in columns.items() if len(column)}
    # Questions read in one batch share one time, which is one observation and not eight.
    independent = columns | {"read_ms": columns["read_ms"][::BATCH_SIZE]}
    intervals = {measure: mean_interval(column, generator) for measure, column in independent.items()}
    return SelectionSummary(
        {measure: float(column.mean()) for measure, column in columns.items()},
        intervals | {"train_seconds": (min(seconds), max(seconds))},
        float(np.mean(seconds)),
        tuple(float(rows[:, 0].mean()) for rows in by_seed),
    )
