"""Questions on graphs: which are usable, and which leak test questions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.types import ignore_progress
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew_lab.training.data.graph_questions import (
    EncodedQuestion,
    digest_questions,
    drop_leaked_questions,
    encode_questions,
)

ENCODER = HashingEncoder(16)
GRAPH = TextualGraph(("Fram", "Larvik"), np.array([[0, 1]], dtype=np.int32), ("built in",))
OTHER = TextualGraph(("Gjøa", "Rosendal"), np.array([[0, 1]], dtype=np.int32), ("built in",))


def encode(*questions: GraphQuestion, graphs: Sequence[TextualGraph] = (GRAPH, OTHER)) -> list[EncodedQuestion]:
    return encode_questions(GraphDataset(graphs, questions), ENCODER, ignore_progress)


@pytest.mark.parametrize(
    ("places", "message"),
    [({"topics": (2,)}, "topics hold node 2"), ({"gold": ((0, 1), (0, 9))}, "gold hold node 9")],
)
def test_positions_outside_the_graph_are_refused(places: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"question '1': its {message}, and its graph has 2 nodes; wanted 0 to 1"):
        encode(replace(ONE, **places))


ONE = GraphQuestion("1", 0, "Where was it built?", ("Larvik",), (0,), group="Fram")


@pytest.mark.parametrize("answers", [(), ("",), (" ", "")])
def test_questions_without_answers_are_skipped_and_counted(answers: tuple[str, ...]) -> None:
    empty = TextualGraph((), np.zeros((0, 2), dtype=np.int32), ())
    questions = (
        replace(ONE, id="0", answers=answers),
        ONE,
        replace(ONE, id="2", graph=1, topics=()),
        replace(ONE, id="3", answers=answers),
    )
    notes: list[str] = []
    encoded = encode_questions(GraphDataset((GRAPH, empty), questions), ENCODER, ignore_progress, notes.append)
    assert [one.question.id for one in encoded] == ["1"]
    assert notes == [
        "2 of 4 questions have no answer and are left out",
        "1 of 4 questions are left out: none of them is on a graph with nodes",
    ]
    with pytest.raises(InputError, match="none of 1 question has answers"):
        encode(replace(ONE, answers=answers))


@pytest.mark.parametrize(
    ("changed", "one_file", "graphs", "left"),
    [
        ({}, False, False, 0),
        ({"id": "2", "group": "", "text": "where  WAS it built?"}, False, False, 0),
        ({"text": "Who sailed?", "group": ""}, False, False, 1),
        ({"text": "Who sailed?", "group": ""}, True, False, 0),
        ({"id": "2", "text": "Who sailed?"}, False, False, 0),
        ({"id": "2", "text": "Who sailed?", "group": "Gjøa | Fram"}, False, False, 0),
        ({"id": "2", "text": "Who sailed?"}, True, False, 1),
        ({"id": "2", "group": "Gjøa", "graph": 1}, False, True, 1),
        ({"id": "2", "group": "Gjøa", "graph": 1}, False, False, 0),
        ({"id": "2", "group": "Gjøa"}, True, True, 0),
    ],
)
def test_leaked_questions_are_dropped(changed: dict[str, str], one_file: bool, graphs: bool, left: int) -> None:
    training = encode(replace(ONE, **changed))  # type: ignore[arg-type]
    assert len(drop_leaked_questions(training, encode(ONE), same_file=one_file, own_graphs=graphs)) == left


@pytest.mark.parametrize(
    "changed", [{"id": "2"}, {"text": "Who?"}, {"answers": ("Oslo",)}, {"topics": ()}, {"topics": (1,)}, {"graph": 1}]
)
def test_another_question_has_another_digest(changed: dict[str, str]) -> None:
    first = digest_questions(encode(ONE))
    assert first == digest_questions(encode(ONE))
    assert first != digest_questions(encode(replace(ONE, **changed)))  # type: ignore[arg-type]


def test_the_digest_depends_on_order_number_and_graphs() -> None:
    two = replace(ONE, id="2")
    turned = replace(GRAPH, edges=GRAPH.edges[:, ::-1])
    renamed = replace(GRAPH, relations=("lies in",))
    digests = [
        digest_questions(encode(ONE, two)),
        digest_questions(encode(two, ONE)),
        digest_questions(encode(ONE)),
        digest_questions(encode(ONE, graphs=(turned,))),
        digest_questions(encode(ONE, graphs=(renamed,))),
        digest_questions([]),
    ]
    assert len(set(digests)) == len(digests)
