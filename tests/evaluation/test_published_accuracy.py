"""Accuracy as published beside strict equality: an answer inside the text, the first choice, F1 over lines."""

import numpy as np
import pytest

from clew.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew.evaluation.answer_metrics import first_choice, line_f1
from clew.evaluation.evaluate_subgraphs import MEASURES, evaluate_selector
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.retrievers.subgraph.selectors import WholeGraph
from clew.training.data.graph_questions import encode_questions
from clew.types import ignore_progress
from tests.evaluation.test_compare_subgraphs import LearningReader


class SentenceReader(LearningReader):
    """A reader that answers in given sentences."""

    def __init__(self, replies: list[str]) -> None:
        super().__init__()
        self.replies = replies

    def generate(self, questions: object, contexts: object) -> list[str]:
        del questions, contexts
        return self.replies


def test_an_answer_in_a_sentence_counts_as_published() -> None:
    """Only equality was measured: a frozen chat model that answers in sentences had the accuracy 0."""
    graph = TextualGraph(["counter", "support"], np.array([[0, 1]], dtype=np.int32), ["opposes"])
    questions = tuple(GraphQuestion(f"q{i}", 0, "which", ("support",), (0,)) for i in range(3))
    encoded = encode_questions(GraphDataset([graph], questions), HashingEncoder(16), ignore_progress)
    reader = SentenceReader(["The reply supports: support.", "counter, not support", "support"])
    for choices, expected in (((), [1, 1, 1]), (("support", "counter"), [1, 0, 1])):
        rows = evaluate_selector(WholeGraph(), reader, encoded, 1, choices)
        assert rows[:, MEASURES.index("containment")].tolist() == expected
        assert rows[:, MEASURES.index("accuracy")].tolist() == [0, 0, 1]


def test_the_first_choice_of_a_reply() -> None:
    assert first_choice("I say Counter; support is weak", ("support", "counter")) == "counter"
    assert first_choice("countered", ("support", "counter")) == ""


@pytest.mark.parametrize(
    ("reply", "answers", "expected"),
    [
        ("Oslo\nBergen", ["Oslo", "Bergen"], 1.0),
        ("Oslo\nParis", ["Oslo", "Bergen"], 0.5),
        ("It is Oslo", ["Oslo", "Bergen", "Voss", "Bodo"], 2 * 1.0 * 0.25 / 1.25),
        ("Paris", ["Oslo"], 0.0),
        ("", ["Oslo"], 0.0),
    ],
)
def test_f1_of_the_lines_of_a_reply(reply: str, answers: list[str], expected: float) -> None:
    assert line_f1(reply, answers) == pytest.approx(expected)
