"""Documents come and go in any order; what stays is what an index of the same documents, made at once, would be."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.index import Index
from clew.settings import Settings
from clew.snapshots import MANIFEST, snapshot_folder
from clew.types import Document

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


def made(folder: Path, encoder: str) -> Index:
    return clew.create(folder, Settings(encoder=encoder, extractor="rules"))


def files(index: Index) -> dict[str, bytes]:
    """Return every file of the snapshot, the manifest too, by name."""
    assert index.snapshot  # makes the files, where nothing was ever added
    folder = snapshot_folder(index.table)
    assert (folder / MANIFEST).is_file()
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize("encoder", ["none", "hashing:32"])
@settings(deadline=None, max_examples=12)
@given(history=steps)
def test_any_order_of_adds_changes_and_removals_gives_the_snapshot_of_what_stays(
    encoder: str, history: Sequence[Sequence[Document] | int]
) -> None:
    expected: dict[str, Document] = {}
    with TemporaryDirectory() as folder:
        index = made(Path(folder, "one"), encoder)
        for step in history:
            if isinstance(step, int):
                id_ = f"d{step}"
                if id_ in expected:
                    index.remove([id_])
                    del expected[id_]
            else:
                index.add(step)
                for document in reversed(step):  # of two with one id the first is taken
                    expected[document.id] = document
        fresh = made(Path(folder, "two"), encoder)
        fresh.add(sorted(expected.values(), key=lambda document: document.id, reverse=True))
        assert files(index) == files(fresh)
        assert index.snapshot.passage_ids[:] == fresh.snapshot.passage_ids[:]


@settings(deadline=None, max_examples=8)
@given(st.lists(documents, max_size=4), st.lists(documents, min_size=1, max_size=4))
def test_adding_and_removing_leaves_no_trace(some: list[Document], more: list[Document]) -> None:
    first = {document.id: document for document in some}
    others = {f"x{document.id}": document for document in more}
    with TemporaryDirectory() as folder:
        index, fresh = made(Path(folder, "one"), "hashing:32"), made(Path(folder, "two"), "hashing:32")
        fresh.add(list(first.values()))
        index.add([*first.values(), *(Document(i, d.title, d.text, d.metadata) for i, d in others.items())])
        index.remove(list(others))
        assert files(index) == files(fresh)


def test_what_has_not_changed_makes_no_version(tmp_path: Path) -> None:
    index = made(tmp_path / "index", "none")
    index.add([Document("a", "Fram", "Fram is a ship."), Document("b", "Larvik", "Larvik is a town.")])
    version = index.table.version
    report = index.add([Document("b", "Larvik", "Larvik is a town."), Document("a", "Fram", "Fram is a ship.")])
    assert (report.unchanged, report.added, report.updated) == (2, 0, 0)
    assert index.table.version == version


def test_a_changed_document_is_replaced_in_one_commit(tmp_path: Path) -> None:
    index = made(tmp_path / "index", "none")
    long = "\n\n".join(f"Paragraph {i} of Fram. " + "It drifts with the ice. " * 40 for i in range(20))
    index.add([Document("a", "Fram", long), Document("b", "Larvik", "Larvik is a town.")])
    assert len(index.snapshot.passage_ids) > 3
    version = index.table.version
    report = index.add([Document("a", "Fram", "Fram is a ship of Zanzibar.")])
    assert (report.updated, index.table.version) == (1, version + 1)
    assert index.snapshot.passage_ids[:] == ["a", "b"]
    assert "Zanzibar" in index.snapshot.entities[:]


def test_a_document_may_not_take_the_id_of_anothers_passage(tmp_path: Path) -> None:
    index = made(tmp_path / "index", "none")
    long = "\n\n".join(f"Paragraph {i} of Fram. " + "It drifts with the ice. " * 40 for i in range(20))
    index.add([Document("a", "Fram", long)])
    report = index.add([Document("a#2", "Larvik", "Larvik is a town.")])
    assert (report.added, len(report.failures)) == (0, 1)
    assert "a#2" in report.failures[0].reason
