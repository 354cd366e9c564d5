"""What is learned from, what chooses the epoch and what is measured, by what a user names."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clew.datasets.graph_datasets import GraphQuestion, GraphSet
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.index import silent
from clew.models.encoders.hashing import HashingEncoder
from clew.training.data.graph_questions import AskedQuestion
from clew.training.data.graph_sources import GraphSource, Parts, parts_to_compare, parts_to_learn
from tests.datasets.g_retriever_written import write_g_retriever

ENCODER = HashingEncoder(16)


def scene(number: int) -> TextualGraph:
    return TextualGraph((f"ship {number}", "sea"), np.array([[0, 1]], dtype=np.int32), ("sails on",))


def written(folder: Path, splits: Mapping[str, range], count: int = 12) -> GraphSource:
    """Write questions on a graph each, two of a group, with parts of them by name."""
    questions = tuple(
        GraphQuestion(f"q{number}", number, f"what of {number}?", ("sea",), group=f"g{number // 2}")
        for number in range(count)
    )
    whole = GraphSet([scene(number) for number in range(count)], questions)
    some = {name: GraphSet(whole.graphs, questions[rows.start : rows.stop]) for name, rows in splits.items()}
    write_g_retriever(whole, folder, some)
    return GraphSource(folder, None, None, None, None, None)


def ids(questions: list[AskedQuestion]) -> list[str]:
    return [one.question.id for one in questions]


def compared(
    source: GraphSource, *, split: str | None = None, test: Path | None = None, named: str | None = None
) -> Parts:
    return parts_to_compare(source, split, test, named, ENCODER, silent, lambda _: None)


def learned(source: GraphSource, split: str | None = None) -> Parts:
    return parts_to_learn(source, split, ENCODER, 0, silent, lambda _: None)


def test_splits_are_what_the_folder_says(tmp_path: Path) -> None:
    source = written(tmp_path, {"train": range(5), "val": range(5, 7), "test": range(7, 12)})
    found = compared(source)
    assert ids(found.learned) == ["q0", "q1", "q2", "q3", "q4"]
    assert ids(found.held) == ["q5", "q6"]
    assert ids(found.tested) == ["q7", "q8", "q9", "q10", "q11"]
    alone = learned(source)
    assert (ids(alone.learned), ids(alone.held), alone.tested) == (ids(found.learned), ids(found.held), [])


def test_splits_can_be_named_and_a_share_chooses_where_none_is_left(tmp_path: Path) -> None:
    source = written(tmp_path, {"train": range(6), "val": range(8, 12), "more": range(6, 12)})
    found = compared(source, named="val")
    assert ids(found.tested) == ["q8", "q9", "q10", "q11"]
    assert sorted(ids(found.learned) + ids(found.held)) == ids(learned(source).learned)
    assert found.held
    other = learned(source, "more")
    assert ids(other.learned) == ["q6", "q7", "q8", "q9", "q10", "q11"]
    with pytest.raises(InputError, match=r"test_indices\.txt: no such split; wanted one of more, train, val"):
        compared(source)


def test_a_question_in_two_splits_is_not_learned_from(tmp_path: Path) -> None:
    source = written(tmp_path, {"train": range(6), "val": range(5, 8), "test": range(4, 12)})
    told: list[str] = []
    found = parts_to_compare(source, None, None, None, ENCODER, silent, told.append)
    assert sorted(ids(found.learned + found.held)) == ["q0", "q1", "q2", "q3"]
    assert found.held
    assert told[0] == "2 of 6 questions share id or text with those measured: not learned from"


def test_without_splits_groups_are_parted_by_chance(tmp_path: Path) -> None:
    source = written(tmp_path, {})
    found = compared(source)
    parts = [{one.question.group for one in part} for part in (found.learned, found.held, found.tested)]
    assert sum(map(len, parts)) == 6
    assert set().union(*parts) == {f"g{number}" for number in range(6)}


def test_what_another_file_measures_is_not_learned_from(tmp_path: Path) -> None:
    source = written(tmp_path / "one", {})
    written(tmp_path / "other", {}, 4)
    told: list[str] = []
    found = parts_to_compare(source, None, tmp_path / "other", None, ENCODER, silent, told.append)
    assert ids(found.tested) == ["q0", "q1", "q2", "q3"]
    assert {one.question.group for one in found.learned + found.held} == {"g2", "g3", "g4", "g5"}
    assert told == ["4 of 12 questions share text or topic with those measured: not learned from"]
    nothing = compared(source, test=tmp_path / "one")
    assert (nothing.learned, nothing.held, len(nothing.tested)) == ([], [], 12)


def test_what_names_no_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --data FOLDER or FILE"):
        GraphSource(None, tmp_path, None, None, 3, None).check()
    with pytest.raises(InputError, match="the split 'val' is wanted of one file"):
        GraphSource(None, tmp_path, None, tmp_path, 3, None).check("val")
    source = written(tmp_path / "one", {})
    with pytest.raises(InputError, match="the split 'val' is wanted of one file"):
        compared(source, test=tmp_path / "none.jsonl", named="val")


def test_hops_are_for_a_graph_of_triples(tmp_path: Path) -> None:
    GraphSource(None, tmp_path, None, tmp_path, 2, None).check()
    for source in (
        GraphSource(tmp_path, None, None, None, None, None),
        GraphSource(None, None, "index", tmp_path, None, None),
    ):
        source.check()
        with pytest.raises(InputError, match=r"--hops 2 says how far .* leave it out"):
            replace(source, hops=2).check()


def test_too_few_topics_for_three_parts_are_told(tmp_path: Path) -> None:
    source = written(tmp_path / "four", {}, 4)
    with pytest.raises(InputError, match=r"4 questions on 2 separate topics: wanted at least 3.*--limit.*--test"):
        compared(source)
    assert len(compared(written(tmp_path / "six", {}, 6)).tested) == 2
