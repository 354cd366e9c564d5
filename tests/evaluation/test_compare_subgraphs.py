"""Ways of selecting side by side, on a task where it is known which of them can be right."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from clew.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew.errors import InputError
from clew.evaluation.compare_subgraphs import SELECTIONS, ComparisonConfig, compare_selections
from clew.evaluation.evaluate_subgraphs import MEASURES, evaluate_selector
from clew.graph.subgraphs.textual_graph import GraphContext, TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.gcn_weights import ScorerSettings
from clew.retrievers.subgraph.selectors import EgoGraph, WholeGraph
from clew.training.data.graph_questions import encode_questions, train_test_split
from clew.training.loop import Recipe
from clew.training.objectives.subgraph_feedback import FeedbackRecipe
from clew.training.recipes.subgraph import local_reader
from clew.types import ignore_progress

ENCODER = HashingEncoder(32)
SMALL = ScorerSettings(width=8)


def star(number: int) -> tuple[TextualGraph, GraphQuestion]:
    """A person with four facts, one of which is asked for, and a chain that leads away."""
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
    """Costs what its one weight says, which learns to cost less; notes how often it was asked."""

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


def on(count: int = 24, budget: int = 2) -> ComparisonConfig:
    known, test = train_test_split(encode_questions(stars(count), ENCODER, ignore_progress), 0.7, 0)
    learned, held = train_test_split(known, 0.8, 0)
    return ComparisonConfig(learned, held, test, lambda _: local_reader(ENCODER, (), ()), ENCODER, budget)


def report(folder: Path, names: tuple[str, ...], seeds: int = 2, epochs: int = 1) -> dict[str, Any]:
    recipe = Recipe(epochs=epochs, rate=1e-2, average=0.0, warmup=1)
    return compare_selections(
        on(), names, range(seeds), SMALL, FeedbackRecipe(budget=2), recipe, folder, ignore_progress
    )


def test_every_selection_is_measured_alike(tmp_path: Path) -> None:
    found = report(tmp_path, SELECTIONS)
    told = found["selections"]
    assert list(told) == list(SELECTIONS)
    for name, figures in told.items():
        assert set(MEASURES) <= set(figures)
        assert len(figures["by_seed"]) == 2
        assert figures["nodes"] <= 2 or name == "whole"
        assert 0 <= figures["accuracy"] <= 1
    assert told["whole"]["gold"] == 1
    assert told["whole"]["tokens"] > told["top-k"]["tokens"]
    assert told["gcn"]["train_seconds"] > 0
    assert told["steiner"]["train_seconds"] == 0
    assert {c["b"] for c in found["comparisons"]} == set(SELECTIONS[1:])


def test_the_same_seeds_give_the_same_figures(tmp_path: Path) -> None:
    timed = ("select_ms", "read_ms", "train_seconds", "intervals")
    both = [report(tmp_path / str(run), ("gcn", "random"), 1) for run in range(2)]
    first, second = (
        {n: {m: v for m, v in t.items() if m not in timed} for n, t in r["selections"].items()} for r in both
    )
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
    assert whole[asks, place["accuracy"]].mean() == 1, "the asked relation has the likest name"


UNTIMED = ("accuracy", "gold", "loss", "nodes", "tokens", "by_seed")


def learning(folder: Path, names: Sequence[str], made: list[LearningReader] | None = None, **changed: Any) -> Any:
    """Return the figures that are no times, of a reader that learns."""

    def reader(_: int) -> LearningReader:
        one = LearningReader()
        if made is not None:
            made.append(one)
        return one

    compared = replace(on(), make_reader=reader, **changed)
    recipe = Recipe(epochs=2, rate=0.1, average=0.0, warmup=1)
    feedback = FeedbackRecipe(budget=2)
    told = compare_selections(compared, names, (0,), SMALL, feedback, recipe, folder, ignore_progress)["selections"]
    return {name: {measure: told[name][measure] for measure in UNTIMED} for name in names}


def test_the_order_of_selections_does_not_matter(tmp_path: Path) -> None:
    names = ("gcn", "top-k", "gcn-untrained", "ego")
    first = learning(tmp_path / "first", names)
    assert first == learning(tmp_path / "second", names[::-1])
    alone = learning(tmp_path / "alone", names[1:2])
    assert alone["top-k"] == first["top-k"]


def test_a_reader_learns_on_selections_that_do_not(tmp_path: Path) -> None:
    made: list[LearningReader] = []
    told = learning(tmp_path, ("top-k", "whole", "gcn-untrained"), made)
    assert len(made) == 3
    assert all(float(reader.weight.detach()) < 1.9 for reader in made)
    assert told["top-k"]["loss"] == pytest.approx(1 + float(made[0].weight.detach()) ** 2)
    assert told["whole"]["loss"] == pytest.approx(1 + (float(made[1].weight.detach()) - 1) ** 2)


def test_a_selection_may_have_a_reader_of_its_own(tmp_path: Path) -> None:
    own: list[LearningReader] = []

    def reader(_: int) -> LearningReader:
        own.append(LearningReader())
        return own[-1]

    told = learning(tmp_path, ("steiner", "graphtoken"), readers={"graphtoken": reader})
    assert len(own) == 1
    assert told["graphtoken"]["nodes"] == 7
    with pytest.raises(InputError, match="g-retriever needs a reader of its own"):
        learning(tmp_path, ("g-retriever",))


def test_the_run_on_other_questions_is_refused(tmp_path: Path) -> None:
    learning(tmp_path, ("gcn", "top-k"))
    for name in ("gcn", "top-k"):
        with pytest.raises(InputError, match="holds another run, with questions to learn from"):
            learning(tmp_path, (name,), learned=on().training[1:])


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
    some = on()
    lacking = replace(some.test[0], question=replace(some.test[0].question, gold=()))
    compared = replace(some, test=[lacking, *some.test[1:]])
    args = (SMALL, FeedbackRecipe(budget=2), Recipe(epochs=1), tmp_path, ignore_progress)
    found = compare_selections(compared, ("top-k", "whole"), (0,), *args)
    assert [c["measure"] for c in found["comparisons"]] == ["accuracy", "gold"]
    known = list(some.test[1:])
    without = compare_selections(replace(some, test=known), ("top-k", "whole"), (0,), *args)
    assert found["comparisons"][1]["difference"] == without["comparisons"][1]["difference"]
    nothing = [replace(one, question=replace(one.question, gold=())) for one in some.test]
    bare = compare_selections(replace(some, test=nothing), ("top-k", "whole"), (0,), *args)
    assert [c["measure"] for c in bare["comparisons"]] == ["accuracy"]
    assert "gold" not in bare["selections"]["whole"]


def test_all_figures_have_intervals(tmp_path: Path) -> None:
    for told in report(tmp_path, ("gcn", "top-k"), 2)["selections"].values():
        assert set(told["intervals"]) == {*MEASURES, "train_seconds"}
        for measure, (low, high) in told["intervals"].items():
            assert low <= told[measure] <= high or measure == "read_ms"


def test_only_what_was_taught_an_end_may_end(tmp_path: Path) -> None:
    args = (FeedbackRecipe(budget=4), Recipe(epochs=1, average=0.0, warmup=1), tmp_path, ignore_progress)
    told = compare_selections(
        on(budget=4), ("gcn", "gcn-paper", "gcn-untrained"), (0,), replace(SMALL, stops=True), *args
    )["selections"]
    assert told["gcn-paper"]["nodes"] == told["gcn-untrained"]["nodes"] == 4


def test_a_question_without_answers_is_refused() -> None:
    (one,) = encode_questions(stars(1), ENCODER, ignore_progress)
    bare = replace(one, question=replace(one.question, answers=()))
    with pytest.raises(InputError, match="question 'q0' has no answer"):
        evaluate_selector(WholeGraph(), LearningReader(), [one, bare], 2)


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no selection is called 'best'"):
        report(tmp_path, ("gcn", "best"))
    with pytest.raises(InputError, match="0 selections to compare"):
        report(tmp_path, ())
    with pytest.raises(InputError, match="'top-k' is there 2 times"):
        report(tmp_path, ("top-k", "ego", "top-k"))
    with pytest.raises(InputError, match="0 seeds"):
        report(tmp_path, ("top-k",), 0)
