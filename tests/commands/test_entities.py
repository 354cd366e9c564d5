"""`clew entities` by the command line: lists, changes, the log, and one line for what cannot be."""

import json
from pathlib import Path

import pytest

from tests.commands.refusals import check_refused
from tests.faults.commands import run_clew, write_lines

ROWS = (
    {"id": "wood", "title": "", "text": "John Smith was a carpenter in Leith. John Smith built boats with Anna Berg."},
    {"id": "keel", "title": "", "text": "J. Smith repaired the boats of Anna Berg in Leith."},
    {"id": "sea", "title": "", "text": "John Smith was an admiral from Portsmouth. John Smith knew Horatio Nelson."},
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that the tests of this module change, one after the other."""
    folder = tmp_path_factory.mktemp("entities")
    rows = write_lines(folder / "rows.jsonl", ROWS)
    assert run_clew("index", rows, "--index", folder / "index", "--encoder", "none").code == 0
    return folder / "index"


def test_candidates_are_printed_with_sentences(index: Path) -> None:
    pairs = run_clew("entities", "--duplicates", "--index", index).out
    assert "John Smith = J. Smith (initials; beside both: Anna Berg, Leith)" in pairs
    assert '"J. Smith repaired the boats of Anna Berg in Leith." [keel]' in pairs
    found = json.loads(run_clew("entities", "--ambiguous", "--index", index, "--json").out)
    assert [group["documents"] for group in found[0]["groups"]] == [["sea"], ["wood"]]
    listed = run_clew("entities", "--name", "smith", "--index", index).out
    assert listed == "       2  John Smith\n       1  J. Smith\n"
    assert run_clew("entities", "--name", "nobody", "--index", index).out == "none\n"


def test_changes_are_printed_logged_and_copied(index: Path, tmp_path: Path) -> None:
    merged = run_clew("entities", "merge", "John Smith", "J. Smith", "--into", "Jack Smith", "--index", index)
    assert merged.out == "decision 1: merge 'John Smith' and 'J. Smith' as 'Jack Smith'\n"
    split = run_clew("entities", "split", "Jack Smith", "--document", "sea", "--as", "Admiral", "--index", index)
    assert split.out == "decision 2: split 'Admiral' from 'Jack Smith': document 'sea'\n"
    run_clew("entities", "rename", "Anna Berg", "Anna", "--index", index)
    run_clew("entities", "forget", "Leith", "--index", index)
    assert run_clew("entities", "undo", "3", "--index", index).out == "decision 5: undo decision 3\n"
    lines = run_clew("entities", "list", "--log", "--index", index).out.splitlines()
    assert [line.split(None, 2)[2] for line in lines[2:]] == [
        "rename 'Anna Berg' as 'Anna' (undone)",
        "forget 'Leith'",
        "undo decision 3",
    ]
    log = tmp_path / "log.json"
    log.write_text(run_clew("entities", "list", "--log", "--json", "--index", index).out, encoding="utf-8")
    rows = write_lines(tmp_path / "rows.jsonl", ROWS[:2])
    run_clew("index", rows, "--index", tmp_path / "other", "--encoder", "none")
    copied = run_clew("entities", "import", log, "--index", tmp_path / "other")
    assert [line.partition(": ")[2].split(" ")[0] for line in copied.out.splitlines()] == ["merge", "split", "forget"]
    assert "note: decision 2: no passage that it means mentions the entity now" in copied.err
    assert run_clew("entities", "import", log, "--index", tmp_path / "other").out == "nothing new\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--duplicates", "--ambiguous"), "are two lists: give one of them"),
        (("split", "Portsmouth", "--as", "X"), "say which mentions are split off, in one way"),
        (("split", "Portsmouth", "--document", "sea"), "give the name of what is split off by --as"),
        (("split", "Portsmouth", "--by-context", "--as", "X"), "leave --as and the others out"),
        (("merge", "Portsmouth", "Porstmouth"), "did you mean 'Portsmouth'?"),
        (("import", "nil.json"), "nil.json cannot be read as JSON"),
        (("undo", "99"), "there is no decision 99"),
    ],
)
def test_what_cannot_be_is_one_line(index: Path, arguments: tuple[str, ...], message: str) -> None:
    done = run_clew("entities", *arguments, "--index", index)
    check_refused(done, message)
    assert done.err.count("\n") == 1
