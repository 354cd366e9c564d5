"""What is learned from, what chooses the epoch and what is measured, by what a user names."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clew.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.training.data.graph_questions import EncodedQuestion
from clew.training.data.graph_sources import GraphQuestionSource, Splits, load_comparison_splits, load_training_splits
from clew.types import ignore_progress
from tests.datasets.g_retriever_written import write_g_retriever

ENCODER = HashingEncoder(16)


def make_graph(number: int) -> TextualGraph:
    return TextualGraph((f"ship {number}", "sea"), np.array([[0, 1]], dtype=np.int32), ("sails on",))


def write_source(folder: Path, splits: Mapping[str, range], count: int = 12) -> GraphQuestionSource:
    """Write questions on a graph each, two of a group, with parts of them by name."""
    questions = tuple(
        GraphQuestion(f"q{number}", number, f"what of {number}?", ("sea",), group=f"g{number // 2}")
        for number in range(count)
    )
    whole = GraphDataset([make_graph(number) for number in range(count)], questions)
    some = {name: GraphDataset(whole.graphs, questions[rows.start : rows.stop]) for name, rows in splits.items()}
    write_g_retriever(whole, folder, some)
    return GraphQuestionSource(folder, None, None, None, None, None)


def ids(questions: list[EncodedQuestion]) -> list[str]:
    return [one.question.id for one in questions]


def comparison_splits(
    source: GraphQuestionSource, *, split: str | None = None, test: Path | None = None, named: str | None = None
) -> Splits:
    return load_comparison_splits(source, split, test, named, ENCODER, ignore_progress, lambda _: None)


def training_splits(source: GraphQuestionSource, split: str | None = None) -> Splits:
    return load_training_splits(source, split, ENCODER, 0, ignore_progress, lambda _: None)


def test_splits_are_what_the_folder_says(tmp_path: Path) -> None:
    source = write_source(tmp_path, {"train": range(5), "val": range(5, 7), "test": range(7, 12)})
    found = comparison_splits(source)
    assert ids(found.train) == ["q0", "q1", "q2", "q3", "q4"]
    assert ids(found.validation) == ["q5", "q6"]
    assert ids(found.test) == ["q7", "q8", "q9", "q10", "q11"]
    alone = training_splits(source)
    assert (ids(alone.train), ids(alone.validation), alone.test) == (ids(found.train), ids(found.validation), [])


def test_splits_can_be_named_and_a_share_chooses_where_none_is_left(tmp_path: Path) -> None:
    source = write_source(tmp_path, {"train": range(6), "val": range(8, 12), "more": range(6, 12)})
    found = comparison_splits(source, named="val")
    assert ids(found.test) == ["q8", "q9", "q10", "q11"]
    assert sorted(ids(found.train) + ids(found.validation)) == ids(training_splits(source).train)
    assert found.validation
    other = training_splits(source, "more")
    assert ids(other.train) == ["q6", "q7", "q8", "q9", "q10", "q11"]
    with pytest.raises(InputError, match=r"test_indices\.txt: no such split; wanted one of more, train, val"):
        comparison_splits(source)


def test_a_question_in_two_splits_is_not_learned_from(tmp_path: Path) -> None:
    source = write_source(tmp_path, {"train": range(6), "val": range(5, 8), "test": range(4, 12)})
    told: list[str] = []
    found = load_comparison_splits(source, None, None, None, ENCODER, ignore_progress, told.append)
    assert sorted(ids(found.train + found.validation)) == ["q0", "q1", "q2", "q3"]
    assert found.validation
    assert told[0] == "2 of 6 questions share id or text with those measured: not learned from"


def test_without_splits_groups_are_parted_by_chance(tmp_path: Path) -> None:
    source = write_source(tmp_path, {})
    found = comparison_splits(source)
    parts = [{one.question.group for one in part} for part in (found.train, found.validation, found.test)]
    assert sum(map(len, parts)) == 6
    assert set().union(*parts) == {f"g{number}" for number in range(6)}


def test_what_another_file_measures_is_not_learned_from(tmp_path: Path) -> None:
    source = write_source(tmp_path / "one", {})
    write_source(tmp_path / "other", {}, 4)
    told: list[str] = []
    found = load_comparison_splits(source, None, tmp_path / "other", None, ENCODER, ignore_progress, told.append)
    assert ids(found.test) == ["q0", "q1", "q2", "q3"]
    assert {one.question.group for one in found.train + found.validation} == {"g2", "g3", "g4", "g5"}
    assert told == ["4 of 12 questions share text or topic with those measured: not learned from"]
    nothing = comparison_splits(source, test=tmp_path / "one")
    assert (nothing.train, nothing.validation, len(nothing.test)) == ([], [], 12)


def test_what_names_no_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --data FOLDER or FILE"):
        GraphQuestionSource(None, tmp_path, None, None, 3, None).check()
    with pytest.raises(InputError, match="the split 'val' is wanted of one file"):
        GraphQuestionSource(None, tmp_path, None, tmp_path, 3, None).check("val")
    source = write_source(tmp_path / "one", {})
    with pytest.raises(InputError, match="the split 'val' is wanted of one file"):
        comparison_splits(source, test=tmp_path / "none.jsonl", named="val")


def test_hops_are_for_a_graph_of_triples(tmp_path: Path) -> None:
    GraphQuestionSource(None, tmp_path, None, tmp_path, 2, None).check()
    for source in (
        GraphQuestionSource(tmp_path, None, None, None, None, None),
        GraphQuestionSource(None, None, "index", tmp_path, None, None),
    ):
        source.check()
        with pytest.raises(InputError, match=r"--hops 2 says how far .* leave it out"):
            replace(source, hops=2).check()


def test_too_few_topics_for_three_parts_are_told(tmp_path: Path) -> None:
    source = write_source(tmp_path / "four", {}, 4)
    with pytest.raises(InputError, match=r"4 questions on 2 separate topics: wanted at least 3.*--limit.*--test"):
        comparison_splits(source)
    assert len(comparison_splits(write_source(tmp_path / "six", {}, 6)).test) == 2
