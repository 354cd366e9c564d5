from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError, ProviderError
from clew.types import Failure
from clew_lab.amr.graph import AMRGraph
from clew_lab.amr.penman_files import AMREntry, amr_entry, read_amr, write_amr

FILE = """# Voyages; 3 graphs (a comment without a key)

# ::id v.1 ::date 1893-06-24 ::annotator nobody
# ::snt Fram sailed :: with a ::flag of Norway.
(s / sail-01
   :ARG0 (s2 / ship
            :name (n / name :op1 "Fram")))

# ::question Who built the ship?
# ::passage p1
(b / build-01)
# ::question Who built the ship?
# ::passage p2
(b / build-01
   :ARG0 (p / person)


(a / architect)
# ::snt lost

# ::snt found
(f / find-01)"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "voyages.txt").write_text(FILE, encoding="utf-8")
    return tmp_path / "voyages.txt"


def test_entries_with_their_metadata_and_lines(path: Path) -> None:
    first, second, third, fourth, lost, found = read_amr(path)
    assert first.metadata == (
        ("id", "v.1"),
        ("date", "1893-06-24"),
        ("annotator", "nobody"),
        ("snt", "Fram sailed :: with a ::flag of Norway."),
    )
    assert first.graph == AMRGraph(("sail-01", "ship", '"Fram"'), ((0, ":ARG0", 1), (1, ":name", 2)))
    assert first.notation == "\n".join(FILE.split("\n")[4:7])
    assert (first.line, second.line, third.line, fourth.line, lost.line, found.line) == (3, 9, 12, 18, 19, 21)
    assert (second.value("passage"), third.value("passage"), found.value("passage")) == ("p1", "p2", "")
    assert fourth.metadata == ()
    assert found.graph == AMRGraph(("find-01",))


def test_malformed_graphs_are_kept_with_what_is_wrong(path: Path) -> None:
    entries = read_amr(path)
    wrong = [entry.graph for entry in entries if isinstance(entry.graph, Failure)]
    assert [failure.item for failure in wrong] == [f"{path}:14", f"{path}:19"]
    assert wrong[0].reason.startswith("line 15: ")
    assert "metadata without a graph" in wrong[1].reason
    assert entries[2].notation == "(b / build-01\n   :ARG0 (p / person)"


def test_what_is_written_is_read_back_equal(path: Path, tmp_path: Path) -> None:
    entries = read_amr(path)
    write_amr(tmp_path / "again.txt", entries)
    again = read_amr(tmp_path / "again.txt")
    assert again == entries
    assert [entry.graph for entry in again if not isinstance(entry.graph, Failure)] == [
        entry.graph for entry in entries if not isinstance(entry.graph, Failure)
    ]
    write_amr(path, again)
    assert path.read_bytes() == (tmp_path / "again.txt").read_bytes()
    assert sorted(tmp_path.iterdir()) == [tmp_path / "again.txt", path]


def test_a_file_in_the_form_that_is_written_keeps_its_bytes(tmp_path: Path) -> None:
    text = "# ::id 1\n# ::snt 東京 é\n(a / alpha)\n\n# ::empty\n(b / beta\n   :op1 (c / gamma))\n"
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    write_amr(tmp_path / "b", read_amr(tmp_path / "a"))
    assert (tmp_path / "b").read_bytes() == text.encode()


@given(st.lists(st.tuples(st.sampled_from(["snt", "question", "passage", "id"]), st.text(max_size=12)), max_size=4))
def test_entries_made_by_hand_are_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, metadata: list[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("amr") / "made"
    single = [(key, value.replace(":", "").encode("utf-8", "replace").decode()) for key, value in metadata]
    entries = [amr_entry('(a / alpha :op1 "x y" :ARG0 (b / beta))', single), amr_entry("(c / gamma)")]
    write_amr(path, entries)
    assert read_amr(path) == entries


@pytest.mark.parametrize(
    "entry",
    [
        AMREntry((("snt", "two\nlines"),), "(a / alpha)", AMRGraph(("alpha",))),
        AMREntry((("id", "a ::b c"),), "(a / alpha)", AMRGraph(("alpha",))),
        AMREntry((), "(a / alpha\n\n   :ARG0 (b / beta))", AMRGraph(("alpha",))),
        AMREntry((), "", AMRGraph(())),
    ],
)
def test_entries_that_would_be_read_back_differently_are_refused(entry: AMREntry, tmp_path: Path) -> None:
    fine = amr_entry("(a / alpha)")
    with pytest.raises(InputError, match="entry 1 of 2 would be read back differently: make it with amr_entry"):
        write_amr(tmp_path / "file", [fine, entry])
    assert not list(tmp_path.iterdir())


def test_files_that_cannot_be_read_or_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_amr(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"# ::snt caf\xe9\n(a / alpha)\n")
    with pytest.raises(InputError, match="not UTF-8"):
        read_amr(tmp_path / "latin")
    with pytest.raises(ProviderError, match="could not be written"):
        write_amr(tmp_path / "none" / "file", [amr_entry("(a / alpha)")])
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProviderError, match="could not be written"):
        write_amr(tmp_path / "folder", [amr_entry("(a / alpha)")])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "latin"]
    (tmp_path / "empty").write_text("\n# only a comment\n\n", encoding="utf-8")
    assert read_amr(tmp_path / "empty") == []
