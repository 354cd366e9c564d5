"""Training, validation and test questions by the source that a user names."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.models.encoders.hashing import HashingEncoder
from clew.types import ignore_progress
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion
from clew_lab.training.data.graph_questions import EncodedQuestion
from clew_lab.training.data.graph_sources import (
    GraphQuestionSource,
    Splits,
    load_comparison_splits,
    load_training_splits,
)
from lab.tests.datasets.g_retriever_writer import write_g_retriever

ENCODER = HashingEncoder(16)


def make_graph(number: int) -> TextualGraph:
    return TextualGraph((f"ship {number}", "sea"), np.array([[0, 1]], dtype=np.int32), ("sails on",))


def write_source(folder: Path, splits: Mapping[str, range], count: int = 12) -> GraphQuestionSource:
    """Write questions, each on its own graph, two per group, with named splits."""
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


def test_splits_are_those_of_the_folder(tmp_path: Path) -> None:
    source = write_source(tmp_path, {"train": range(5), "val": range(5, 7), "test": range(7, 12)})
    splits_found = comparison_splits(source)
    assert ids(splits_found.train) == ["q0", "q1", "q2", "q3", "q4"]
    assert ids(splits_found.validation) == ["q5", "q6"]
    assert ids(splits_found.test) == ["q7", "q8", "q9", "q10", "q11"]
    training = training_splits(source)
    assert (ids(training.train), ids(training.validation), training.test) == (
        ids(splits_found.train),
        ids(splits_found.validation),
        [],
    )


def test_splits_can_be_named_and_a_share_is_held_out_if_none_is_left(tmp_path: Path) -> None:
    source = write_source(tmp_path, {"train": range(6), "val": range(8, 12), "more": range(6, 12)})
    splits_found = comparison_splits(source, named="val")
    assert ids(splits_found.test) == ["q8", "q9", "q10", "q11"]
    assert sorted(ids(splits_found.train) + ids(splits_found.validation)) == ids(training_splits(source).train)
    assert splits_found.validation
    other = training_splits(source, "more")
    assert ids(other.train) == ["q6", "q7", "q8", "q9", "q10", "q11"]
    with pytest.raises(InputError, match=r"test_indices\.txt: no such split; wanted one of more, train, val"):
        comparison_splits(source)


def test_a_question_in_two_splits_is_not_trained_on(tmp_path: Path) -> None:
    source = write_source(tmp_path, {"train": range(6), "val": range(5, 8), "test": range(4, 12)})
    notes: list[str] = []
    splits_found = load_comparison_splits(source, None, None, None, ENCODER, ignore_progress, notes.append)
    assert sorted(ids(splits_found.train + splits_found.validation)) == ["q0", "q1", "q2", "q3"]
    assert splits_found.validation
    assert notes[0] == "2 of 6 questions share id or text with test questions and are not trained on"


def test_without_splits_groups_are_split_at_random(tmp_path: Path) -> None:
    source = write_source(tmp_path, {})
    splits_found = comparison_splits(source)
    parts = [
        {one.question.group for one in part}
        for part in (splits_found.train, splits_found.validation, splits_found.test)
    ]
    assert sum(map(len, parts)) == 6
    assert set().union(*parts) == {f"g{number}" for number in range(6)}


def test_questions_tested_in_another_file_are_not_trained_on(tmp_path: Path) -> None:
    source = write_source(tmp_path / "one", {})
    write_source(tmp_path / "other", {}, 4)
    notes: list[str] = []
    splits_found = load_comparison_splits(
        source, None, tmp_path / "other", None, ENCODER, ignore_progress, notes.append
    )
    assert ids(splits_found.test) == ["q0", "q1", "q2", "q3"]
    assert {one.question.group for one in splits_found.train + splits_found.validation} == {"g2", "g3", "g4", "g5"}
    assert notes == ["4 of 12 questions share text or topic with test questions and are not trained on"]
    nothing = comparison_splits(source, test=tmp_path / "one")
    assert (nothing.train, nothing.validation, len(nothing.test)) == ([], [], 12)


def test_a_source_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --data FOLDER or FILE"):
        GraphQuestionSource(None, tmp_path, None, None, 3, None).check()
    with pytest.raises(InputError, match="the split 'val' needs a folder with splits"):
        GraphQuestionSource(None, tmp_path, None, tmp_path, 3, None).check("val")
    source = write_source(tmp_path / "one", {})
    with pytest.raises(InputError, match="the split 'val' needs a folder with splits"):
        comparison_splits(source, test=tmp_path / "none.jsonl", named="val")


def test_hops_need_a_graph_of_triples(tmp_path: Path) -> None:
    GraphQuestionSource(None, tmp_path, None, tmp_path, 2, None).check()
    for source in (
        GraphQuestionSource(tmp_path, None, None, None, None, None),
        GraphQuestionSource(None, None, "index", tmp_path, None, None),
    ):
        source.check()
        with pytest.raises(InputError, match=r"--hops 2 needs --kg.* leave it out"):
            replace(source, hops=2).check()


def test_too_few_topics_for_three_splits_are_reported(tmp_path: Path) -> None:
    source = write_source(tmp_path / "four", {}, 4)
    with pytest.raises(InputError, match=r"4 questions on 2 separate topics: wanted at least 3.*--limit.*--test"):
        comparison_splits(source)
    assert len(comparison_splits(write_source(tmp_path / "six", {}, 6)).test) == 2
