"""Accuracy as published beside strict equality: an answer inside the text, the first choice, F1 over lines."""

import numpy as np
import pytest

from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.types import ignore_progress
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew_lab.evaluation.evaluate_subgraphs import MEASURES, evaluate_selector, first_choice
from clew_lab.evaluation.published_accuracy import published_accuracy, published_f1
from clew_lab.retrievers.selectors import WholeGraph
from clew_lab.training.data.graph_questions import encode_questions
from lab.tests.evaluation.test_compare_subgraphs import LearningReader


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
        ("The cats sleep", ["cat"], 1.0),  # inside a longer word
        ("The Cat sleeps", ["cat"], 0.0),  # written with a capital
        ("It is on the left.", ["on the left"], 1.0),
        ("Yes", ["no", "Yes"], 1.0),
        ("", ["yes"], 0.0),
    ],
)
def test_of_scene_graphs_the_answer_stands_in_the_reply_as_written(
    reply: str, answers: list[str], expected: float
) -> None:
    assert published_accuracy(reply, answers, "inside") == expected


@pytest.mark.parametrize(
    ("reply", "answer", "expected"),
    [
        ("Counter. It does not support it", "counter", 1.0),
        ("It supports the claim", "support", 1.0),  # inside a longer word
        ("It counters, not supports", "support", 0.0),
        ("SUPPORT", "support", 0.0),
        ("nothing", "support", 0.0),
    ],
)
def test_of_stances_the_first_choice_counts(reply: str, answer: str, expected: float) -> None:
    assert published_accuracy(reply, [answer], "first-choice", ("support", "counter")) == expected


def published_measures_written_out(reply: str, answers: list[str]) -> tuple[float, float]:
    """Hit and F1 of WebQSP, letter by letter."""

    def fold(text: str) -> str:
        words = "".join(c for c in text.lower() if c not in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").split()
        return " ".join(word for word in words if word not in ("a", "an", "the"))

    lines = "\n".join(reply.split("|")).split("\n")
    found = [answer for answer in answers if fold(answer) in fold(" ".join(lines))]
    precision, recall = len(found) / len(lines), len(found) / len(answers)
    return float(bool(found)), 2 * precision * recall / (precision + recall) if found else 0.0


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("The Bahamas|Nassau", ["Bahamas"]),
        ("Oslo\nBergen\nParis", ["Oslo", "Bergen", "Voss"]),
        ("It is Oslo and Bergen.", ["Oslo", "Bergen"]),  # more answers than lines
        ("U.S.A.", ["USA"]),
        ("Osloer", ["Oslo"]),
        ("Paris", ["Oslo"]),
        ("", ["Oslo"]),
    ],
)
def test_hit_and_f1_of_webqsp(reply: str, answers: list[str]) -> None:
    hit, f1 = published_measures_written_out(reply, answers)
    assert published_accuracy(reply, answers, "hit") == hit
    assert published_f1(reply, answers) == pytest.approx(f1)


def test_f1_without_answers_is_0() -> None:
    assert published_f1("Oslo", []) == 0.0


def test_a_comparison_has_the_accuracy_of_its_data_set() -> None:
    graph = TextualGraph(["cat"], np.zeros((0, 2), dtype=np.int32), [])
    questions = tuple(GraphQuestion(f"q{i}", 0, "which", ("cat",)) for i in range(2))
    encoded = encode_questions(GraphDataset([graph], questions), HashingEncoder(16), ignore_progress)
    reader = SentenceReader(["cats", "Cat"])
    for rule, expected in (("inside", [1, 0]), ("hit", [1, 1])):
        rows = evaluate_selector(WholeGraph(), reader, encoded, 1, (), rule)  # type: ignore[arg-type]
        assert rows[:, MEASURES.index("published")].tolist() == expected
        assert rows[:, MEASURES.index("accuracy")].tolist() == [0, 1]
        assert np.isnan(rows[:, MEASURES.index("F1")]).all() == (rule == "inside")
