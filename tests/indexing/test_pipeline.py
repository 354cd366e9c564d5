"""After any sequence of additions and removals, an index equals one made of the remaining documents at once."""

from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import BudgetError
from clew.index import Index
from clew.indexing import pipeline
from clew.indexing.chunking import Chunker
from clew.indexing.extraction.rule_based import RuleExtractor
from clew.indexing.pipeline import IndexWriter
from clew.models.encoders.hashing import HashingEncoder
from clew.settings import Settings
from clew.types import Document, Extraction, Failure, Passage, ignore_progress
from tests.indexing.snapshots import snapshot_files

NAMES = ("Fram", "Fridtjof Nansen", "Colin Archer", "Larvik", "Fram (ship)", "Norway", "Ship")
SENTENCES = (
    "{0} was built by {1}.",
    "{0} lies near {1}.",
    "The ship of {1} was {0}.",
    "a ship and a norway of its own.",
    "See [{1}]({1}.md) and {0}.",
    "## {1}\nborn in {0}, 1893.",
)

documents = st.builds(
    lambda number, name, parts: Document(
        f"d{number}", name, "\n".join(SENTENCES[s].format(NAMES[a], NAMES[b]) for s, a, b in parts), {"n": number}
    ),
    st.integers(0, 5),
    st.sampled_from(("", *NAMES)),
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3),
)
steps = st.lists(st.one_of(st.lists(documents, min_size=1, max_size=3), st.integers(0, 5)), min_size=1, max_size=5)


def make_index(folder: Path, encoder: str) -> Index:
    return clew.create(folder, Settings(encoder=encoder, extractor="rules"))


@pytest.mark.slow
@pytest.mark.parametrize("encoder", ["none", "hashing:32"])
@settings(deadline=None, max_examples=12)
@given(history=steps)
def test_any_order_of_adds_changes_and_removals_gives_the_snapshot_of_the_rest(
    encoder: str, history: Sequence[Sequence[Document] | int]
) -> None:
    expected: dict[str, Document] = {}
    with TemporaryDirectory() as folder:
        index = make_index(Path(folder, "one"), encoder)
        for step in history:
            if isinstance(step, int):
                id_ = f"d{step}"
                if id_ in expected:
                    index.remove([id_])
                    del expected[id_]
            else:
                index.add(step)
                for document in reversed(step):  # of two documents with one id the first is used
                    expected[document.id] = document
        fresh = make_index(Path(folder, "two"), encoder)
        fresh.add(sorted(expected.values(), key=lambda document: document.id, reverse=True))
        assert snapshot_files(index) == snapshot_files(fresh)
        assert index.snapshot.passage_ids[:] == fresh.snapshot.passage_ids[:]


def test_a_changed_document_is_replaced_in_one_commit(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", "none")
    long = "\n\n".join(f"Paragraph {i} of Fram. " + "It drifts with the ice. " * 40 for i in range(20))
    index.add([Document("a", "Fram", long), Document("b", "Larvik", "Larvik is a town.")])
    assert len(index.snapshot.passage_ids) > 3
    version = index.table.version
    report = index.add([Document("a", "Fram", "Fram is a ship of Zanzibar.")])
    assert (report.updated, index.table.version) == (1, version + 1)
    assert index.snapshot.passage_ids[:] == ["a", "b"]
    assert "Zanzibar" in index.snapshot.entities[:]


def test_a_document_may_not_take_the_id_of_anothers_passage(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", "none")
    long = "\n\n".join(f"Paragraph {i} of Fram. " + "It drifts with the ice. " * 40 for i in range(20))
    index.add([Document("a", "Fram", long)])
    report = index.add([Document("a#2", "Larvik", "Larvik is a town.")])
    assert (report.added, len(report.failures)) == (0, 1)
    assert "a#2" in report.failures[0].reason


class FlakyExtractor:
    """A rule-based extractor that fails at some passages, or runs out of budget.

    Args:
        failing: Ids of passages.
        max_passages: Number of passages after which its budget is spent.
    """

    fingerprint = RuleExtractor().fingerprint

    def __init__(self, failing: Collection[str] = (), max_passages: int = 1 << 30) -> None:
        self.failing, self.remaining = failing, max_passages
        self.requests: list[list[str]] = []

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        self.requests.append([passage.id for passage in passages])
        results = RuleExtractor().extract(passages)
        for position, passage in enumerate(passages):
            if self.remaining <= 0:
                results[position] = Failure(passage.id, "spent", run_error=BudgetError("spent"))
            elif passage.id in self.failing:
                results[position] = Failure(passage.id, "a mood")
            self.remaining -= 1
        return results


def long_document(name: str, parts: int) -> Document:
    text = "\n\n".join(f"Part {i} of {name} tells of Larvik. " + "It drifts with the ice. " * 40 for i in range(parts))
    return Document(name, name.title(), text, {"parts": parts})


FLEET = (long_document("fram", 12), long_document("gjoa", 1), long_document("maud", 20), long_document("vega", 9))
PASSAGES = [passage.id for document in FLEET for passage in Chunker(64).split(document)]


def index_fleet(folder: Path, extractor: FlakyExtractor, patch: pytest.MonkeyPatch) -> Index:
    """Return an index with small passages, so that the documents have several, extracted by `extractor`."""
    patch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_: extractor)
    return clew.create(folder, Settings(encoder="hashing:32", extractor="rules", passage_tokens=64))


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(st.lists(st.sets(st.sampled_from(PASSAGES)), min_size=1, max_size=3), st.booleans(), st.integers(1, 9))
def test_failed_passages_that_were_retried_leave_no_trace(failing: list[set[str]], give: bool, batch: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "BATCH_PASSAGES", batch)
        patch.setattr(pipeline, "BATCH_LIMIT", batch)
        fresh = index_fleet(Path(folder, "fresh"), FlakyExtractor(), patch)
        fresh.add(FLEET)
        index = index_fleet(Path(folder, "one"), FlakyExtractor(failing[0]), patch)
        assert {failure.item for failure in index.add(FLEET).failures} == failing[0]
        assert index.table.read(["failure"])["failure"].null_count == len(PASSAGES) - len(failing[0])
        before = failing[0]
        for moods in [*failing[1:], set[str]()]:
            extractor = FlakyExtractor(moods)
            patch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_, one=extractor: one)
            report = index.add(FLEET if give else [], retry_failed=True)
            assert sorted(chain.from_iterable(extractor.requests)) == sorted(before)  # and no other passage
            assert (report.retried, report.added, report.updated) == (len(before), 0, 0)
            assert {failure.item for failure in report.failures} == before & moods
            assert (report.stop_error, report.remaining) == (None, 0)
            before &= moods
        assert snapshot_files(index) == snapshot_files(fresh)


def test_retrying_leaves_other_passages_of_the_document_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_fleet(tmp_path / "index", FlakyExtractor({"fram#1"}), monkeypatch)
    index.add(FLEET)
    before = index.table.read().to_pylist()
    version = index.table.version
    extractor = FlakyExtractor({"fram#1"})
    monkeypatch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_: extractor)
    report = index.add([], retry_failed=True)
    assert (report.retried, [f.item for f in report.failures]) == (1, ["fram#1"])
    assert index.table.version == version  # the same failure again changes nothing
    monkeypatch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_: FlakyExtractor())
    index.add([], retry_failed=True)
    after = index.table.read().to_pylist()
    changed = [row["id"] for row, old in zip(after, before, strict=True) if row != old]
    assert changed == ["fram#1"]
    row = next(row for row in after if row["id"] == "fram#1")
    assert row["failure"] is None
    assert row["mentions"]


def test_failures_of_this_run_are_not_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = FlakyExtractor({"gjoa#2"})
    index = index_fleet(tmp_path / "index", extractor, monkeypatch)
    report = index.add(FLEET, retry_failed=True)
    assert (report.retried, [f.item for f in report.failures]) == (0, ["gjoa#2"])
    assert list(chain.from_iterable(extractor.requests)).count("gjoa#2") == 1


@pytest.mark.slow
@settings(deadline=None, max_examples=10)
@given(st.integers(0, len(PASSAGES) + 2), st.integers(1, 30), st.sampled_from([(), ("fram#1", "vega#3")]))
def test_a_spent_budget_keeps_whole_documents_and_goes_on(most: int, batch: int, failing: tuple[str, ...]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "BATCH_PASSAGES", batch)
        patch.setattr(pipeline, "BATCH_LIMIT", batch)
        fresh = index_fleet(Path(folder, "fresh"), FlakyExtractor(failing), patch)
        fresh.add(FLEET)
        index = index_fleet(Path(folder, "one"), FlakyExtractor(failing, most), patch)
        report = index.add(FLEET)
        stored = index.table.document_hashes()
        assert report.added == len(stored) == len(FLEET) - report.remaining
        assert (report.stop_error is None) == (len(stored) == len(FLEET)) == (most >= len(PASSAGES))
        assert {failure.item for failure in report.failures} == {id_ for id_ in failing if id_.split("#")[0] in stored}
        assert index.table.count_rows() == report.passages
        if report.stop_error is not None:
            assert isinstance(report.stop_error, BudgetError)
        patch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_: FlakyExtractor(failing))
        report = index.add(FLEET)
        assert (report.unchanged, report.added, report.remaining) == (len(stored), len(FLEET) - len(stored), 0)
        assert snapshot_files(index) == snapshot_files(fresh)


def test_a_changed_document_stays_as_it_was_when_the_budget_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_fleet(tmp_path / "index", FlakyExtractor(), monkeypatch)
    index.add(FLEET)
    before = index.table.read()
    monkeypatch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_: FlakyExtractor(max_passages=3))
    report = index.add([long_document("fram", 14)])
    assert (report.updated, report.remaining) == (0, 1)
    assert index.table.read().equals(before)


def test_retrying_stops_with_the_budget_and_continues_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = index_fleet(tmp_path / "index", FlakyExtractor(PASSAGES), monkeypatch)
    index.add(FLEET)
    monkeypatch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_: FlakyExtractor(max_passages=5))
    report = index.add([], retry_failed=True)
    assert (report.retried, report.failures, str(report.stop_error)) == (5, [], "spent")
    assert report.remaining == len(FLEET)  # the first is started, not done
    assert index.table.read(["failure"])["failure"].null_count == 5
    monkeypatch.setattr("clew.indexing.writer_settings.open_extractor", lambda *_: FlakyExtractor())
    report = index.add([], retry_failed=True)
    assert (report.retried, report.stop_error, report.remaining) == (len(PASSAGES) - 5, None, 0)


def test_slow_extraction_is_committed_in_small_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = make_index(tmp_path / "index", "none")
    towns = [Document(f"d{n}", "", f"Town {n} is near Larvik.") for n in range(pipeline.BATCH_PASSAGES + 10)]
    for slow, batches in ((True, [pipeline.BATCH_PASSAGES, 10]), (False, [len(towns)])):
        extractor = FlakyExtractor()
        table = clew.create(tmp_path / f"slow-{slow}", Settings(encoder="none", extractor="rules")).table
        IndexWriter(table, Chunker(), extractor, index._encoder, ignore_progress, slow).update(towns)
        assert [len(batch) for batch in extractor.requests] == batches


def test_words_and_vectors_of_a_passage_are_read_under_its_headings(tmp_path: Path) -> None:
    knots = " ".join(f"Knot {n} holds." for n in range(60))
    (tmp_path / "guide.md").write_text(f"# Guide\n\n## Ropes\n\n{knots}\n\n## Sails\n\nCanvas.", encoding="utf-8")
    index = clew.create(tmp_path / "index", Settings(encoder="hashing", passage_tokens=40))
    index.add([tmp_path / "guide.md"])
    found = {scored.item.id for scored in index.search("ropes", 9, "bm25").passages}
    assert len(found) > 2
    for number, (id_, text) in enumerate(zip(index.snapshot.passage_ids, index.snapshot.texts, strict=True)):
        title = "Guide, Ropes" if id_ in found and "Ropes" not in text else "Guide"
        expected = HashingEncoder().encode([f"{title}\n{text}"])
        assert np.allclose(index.snapshot.vectors.rows(np.array([number])), expected, atol=1e-6)
