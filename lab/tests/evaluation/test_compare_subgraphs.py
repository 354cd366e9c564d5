"""Comparison of subgraph selections, on a task where it is known which of them can be right."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.settings import ScorerSettings
from clew.training.hyperparameters import Recipe
from clew.types import ignore_progress
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew_lab.evaluation.compare_subgraphs import (
    SELECTIONS,
    ComparisonConfig,
    SelectionReport,
    SelectionSummary,
    compare_selections,
)
from clew_lab.evaluation.evaluate_subgraphs import MEASURES, evaluate_selector
from clew_lab.graph.reader_context import GraphContext
from clew_lab.retrievers.selectors import EgoGraph, WholeGraph
from clew_lab.training.data.graph_questions import EncodedQuestion, encode_questions, train_test_split
from clew_lab.training.hyperparameters import FeedbackRecipe
from clew_lab.training.recipes.selection_recipe import SelectionRecipe
from clew_lab.training.recipes.subgraph import local_reader

ENCODER = HashingEncoder(32)
SMALL = ScorerSettings(width=8)


def star(number: int) -> tuple[TextualGraph, GraphQuestion]:
    """Return a person with four facts, one of which is asked for, and a path that leads away."""
    nodes = [f"person {number}", f"town {number}", f"craft {number}", f"ship {number}", f"year {number}", "sea", "wind"]
    relations = ["born in", "works as", "sails on", "died in", "lies on", "blows over"]
    edges = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 5], [5, 6]], dtype=np.int32)
    asked = number % 4
    text = f"person {number} {relations[asked] if number % 3 else 'has'} what"  # some say nothing of the relation
    question = GraphQuestion(f"q{number}", number, text, (nodes[asked + 1],), (0,), ((0, asked + 1),), f"g{number}")
    return TextualGraph(nodes, edges, relations), question


def stars(count: int) -> GraphDataset:
    graphs, questions = zip(*(star(number) for number in range(count)), strict=True)
    return GraphDataset(graphs, questions)


class LearningReader:
    """A reader whose loss depends on one trainable weight; it records the sizes of its batches."""

    name = "learning"
    fingerprint = "learning"

    def __init__(self) -> None:
        self.weight = torch.nn.Parameter(torch.tensor([2.0]))
        self.read: list[int] = []

    def losses(
        self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]
    ) -> torch.Tensor:
        assert len(questions) == len(contexts) == len(answers)
        sizes = torch.tensor([len(context.subgraph.nodes) % 2 for context in contexts], dtype=torch.float32)
        return 1.0 + (self.weight - sizes) ** 2

    def loss(
        self, questions: Sequence[str], contexts: Sequence[GraphContext], answers: Sequence[str]
    ) -> NDArray[np.float32]:
        return np.asarray(self.losses(questions, contexts, answers).detach().numpy(), dtype=np.float32)

    def generate(self, questions: Sequence[str], contexts: Sequence[GraphContext]) -> list[str]:
        assert len(questions) == len(contexts)
        self.read.append(len(questions))
        return [""] * len(questions)

    def parameters(self) -> list[torch.nn.Parameter]:
        return [self.weight]


def make_config(count: int = 24, budget: int = 2) -> ComparisonConfig:
    rest, test = train_test_split(encode_questions(stars(count), ENCODER, ignore_progress), 0.7, 0)
    training, validation = train_test_split(rest, 0.8, 0)
    return ComparisonConfig(training, validation, test, lambda _: local_reader(ENCODER, (), ()), ENCODER, budget)


def run_comparison(folder: Path, names: tuple[str, ...], seeds: int = 2, epochs: int = 1) -> SelectionReport:
    recipe = Recipe(epochs=epochs, rate=1e-2, average=0.0, warmup=1)
    return compare_selections(
        make_config(),
        names,
        range(seeds),
        SelectionRecipe(SMALL, FeedbackRecipe(budget=2), recipe),
        folder,
        ignore_progress,
    )


def test_every_selection_is_measured_alike(tmp_path: Path) -> None:
    report = run_comparison(tmp_path, SELECTIONS)
    summaries = report.selections
    assert list(summaries) == list(SELECTIONS)
    for name, summary in summaries.items():
        assert set(MEASURES) == set(summary.means)
        assert len(summary.by_seed) == 2
        assert summary.means["nodes"] <= 2 or name == "whole"
        assert 0 <= summary.means["accuracy"] <= 1
    assert summaries["whole"].means["gold"] == 1
    assert summaries["whole"].means["tokens"] > summaries["top-k"].means["tokens"]
    assert summaries["gcn"].train_seconds > 0
    assert summaries["steiner"].train_seconds == 0
    assert {comparison.b for comparison in report.comparisons} == set(SELECTIONS[1:])


def test_the_json_of_a_report_keeps_its_keys(tmp_path: Path) -> None:
    figures = run_comparison(tmp_path, ("top-k", "ego"), 1).to_json()
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    assert list(figures) == [
        *("questions", "learned_from", "budget", "seeds", "selections", "comparisons", "shortened")
    ]
    assert list(figures["selections"]["ego"]) == [*MEASURES, "intervals", "train_seconds", "by_seed"]
    assert set(figures["comparisons"][0]) == {"a", "b", "measure", "difference", "low", "high", "p"}


def test_the_same_seeds_give_the_same_figures(tmp_path: Path) -> None:
    both = [run_comparison(tmp_path / str(run), ("gcn", "random"), 1) for run in range(2)]
    first, second = ({name: untimed(summary) for name, summary in r.selections.items()} for r in both)
    assert first == second


def test_figures_are_those_of_the_parts() -> None:
    questions = encode_questions(stars(8), ENCODER, ignore_progress)
    reader = local_reader(ENCODER, (), ())
    whole = evaluate_selector(WholeGraph(), reader, questions, 2)
    near = evaluate_selector(EgoGraph(), reader, questions, 1)
    place = {measure: column for column, measure in enumerate(MEASURES)}
    assert (whole[:, place["nodes"]] == 7).all()
    assert (whole[:, place["gold"]] == 1).all()
    assert (near[:, place["nodes"]] == 1).all()
    assert (near[:, place["gold"]] == 0).all()
    assert (near[:, place["accuracy"]] == 0).all()
    asks = [number for number in range(8) if number % 3]
    assert whole[asks, place["accuracy"]].mean() == 1, "the asked relation has the most similar name"


def untimed(summary: SelectionSummary) -> dict[str, Any]:
    """Return the figures that are not times."""
    measures = ("accuracy", "gold", "loss", "nodes", "tokens")
    return {measure: summary.means[measure] for measure in measures} | {"by_seed": summary.by_seed}


def compare_learning_readers(
    folder: Path, names: Sequence[str], readers: list[LearningReader] | None = None, **changed: Any
) -> dict[str, dict[str, Any]]:
    """Return the figures that are not times, with a new learning reader for each selection."""

    def make_reader(_: int) -> LearningReader:
        reader = LearningReader()
        if readers is not None:
            readers.append(reader)
        return reader

    config = replace(make_config(), make_reader=make_reader, **changed)
    recipe = SelectionRecipe(SMALL, FeedbackRecipe(budget=2), Recipe(epochs=2, rate=0.1, average=0.0, warmup=1))
    report = compare_selections(config, names, (0,), recipe, folder, ignore_progress)
    return {name: untimed(report.selections[name]) for name in names}


def test_the_order_of_selections_does_not_matter(tmp_path: Path) -> None:
    names = ("gcn", "top-k", "gcn-untrained", "ego")
    first = compare_learning_readers(tmp_path / "first", names)
    assert first == compare_learning_readers(tmp_path / "second", names[::-1])
    alone = compare_learning_readers(tmp_path / "alone", names[1:2])
    assert alone["top-k"] == first["top-k"]


def test_a_reader_learns_on_selections_that_do_not(tmp_path: Path) -> None:
    readers: list[LearningReader] = []
    figures = compare_learning_readers(tmp_path, ("top-k", "whole", "gcn-untrained"), readers)
    assert len(readers) == 3
    assert all(float(reader.weight.detach()) < 1.9 for reader in readers)
    assert figures["top-k"]["loss"] == pytest.approx(1 + float(readers[0].weight.detach()) ** 2)
    assert figures["whole"]["loss"] == pytest.approx(1 + (float(readers[1].weight.detach()) - 1) ** 2)


def test_a_selection_may_have_a_reader_of_its_own(tmp_path: Path) -> None:
    own: list[LearningReader] = []

    def reader(_: int) -> LearningReader:
        own.append(LearningReader())
        return own[-1]

    figures = compare_learning_readers(tmp_path, ("steiner", "graphtoken"), own_readers={"graphtoken": reader})
    assert len(own) == 1
    assert figures["graphtoken"]["nodes"] == 7
    with pytest.raises(InputError, match="g-retriever needs a reader of graph tokens"):
        compare_learning_readers(tmp_path, ("g-retriever",))


def test_the_run_on_other_questions_is_refused(tmp_path: Path) -> None:
    compare_learning_readers(tmp_path, ("gcn", "top-k"))
    for name in ("gcn", "top-k"):
        with pytest.raises(InputError, match="holds another run, with questions to learn from"):
            compare_learning_readers(tmp_path, (name,), training=make_config().training[1:])


def test_what_is_done_at_first_use_is_not_timed() -> None:
    many, few = LearningReader(), LearningReader()
    questions = encode_questions(stars(20), ENCODER, ignore_progress)
    times = evaluate_selector(WholeGraph(), many, questions, 2)[
        :, [MEASURES.index("select_ms"), MEASURES.index("read_ms")]
    ]
    assert many.read == [8, 8, 4]
    assert np.isnan(times).all(axis=1).tolist() == [True] * 8 + [False] * 12
    assert not np.isnan(evaluate_selector(WholeGraph(), few, questions[:5], 2)).any()
    assert few.read == [5, 5]


def test_gold_is_compared_where_it_is_known(tmp_path: Path) -> None:
    config = make_config()
    without_gold = replace(config.test[0], question=replace(config.test[0].question, gold=()))
    args = (SelectionRecipe(SMALL, FeedbackRecipe(budget=2), Recipe(epochs=1)), tmp_path, ignore_progress)

    def run(test: Sequence[EncodedQuestion]) -> SelectionReport:
        return compare_selections(replace(config, test=test), ("top-k", "whole"), (0,), *args)

    first = run([without_gold, *config.test[1:]])
    assert [comparison.measure for comparison in first.comparisons] == ["accuracy", "published", "gold"]
    rest = run(list(config.test[1:]))
    assert first.comparisons[2].difference == rest.comparisons[2].difference
    bare = run([replace(item, question=replace(item.question, gold=())) for item in config.test])
    assert [comparison.measure for comparison in bare.comparisons] == ["accuracy", "published"]
    assert "gold" not in bare.selections["whole"].means


def test_all_figures_have_intervals(tmp_path: Path) -> None:
    for summary in run_comparison(tmp_path, ("gcn", "top-k"), 2).selections.values():
        assert set(summary.intervals) == {*MEASURES, "train_seconds"}
        figures = {**summary.means, "train_seconds": summary.train_seconds}
        for measure, (low, high) in summary.intervals.items():
            assert low <= figures[measure] <= high or measure == "read_ms"


def test_only_a_network_trained_to_stop_may_stop_early(tmp_path: Path) -> None:
    loop = Recipe(epochs=1, average=0.0, warmup=1)
    recipe = SelectionRecipe(replace(SMALL, stops=True), FeedbackRecipe(budget=4), loop)
    names = ("gcn", "gcn-paper", "gcn-untrained")
    summaries = compare_selections(make_config(budget=4), names, (0,), recipe, tmp_path, ignore_progress).selections
    assert summaries["gcn-paper"].means["nodes"] == summaries["gcn-untrained"].means["nodes"] == 4


def test_a_question_without_answers_is_refused() -> None:
    (one,) = encode_questions(stars(1), ENCODER, ignore_progress)
    bare = replace(one, question=replace(one.question, answers=()))
    with pytest.raises(InputError, match="question 'q0' has no answer"):
        evaluate_selector(WholeGraph(), LearningReader(), [one, bare], 2)


def test_a_comparison_without_a_seed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="0 seeds"):
        run_comparison(tmp_path, ("top-k",), 0)
