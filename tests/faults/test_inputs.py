"""Unusual inputs of commands: each works or gives one clear line, in bounded time and memory."""

import json
from pathlib import Path

import pytest

from tests.faults.commands import Outcome, run_clew, write_lines

RETRIEVERS = ("bm25", "entity-graph", "pagerank")
NAMES = ("a/b", "../c", "it's", 'say "x"', "back\\slash", "line\nbreak", "日本", "🚢", "שלום", "a" * 300, "%00")


# Linux forgets the highest memory of a process where a 5 is written to this file.
PEAK_RESET, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def read_peak_memory() -> int:
    """Return the most memory that this process has had since `PEAK_RESET`, in bytes."""
    line = next(line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def index_files(index: Path, *paths: Path) -> Outcome:
    return run_clew("index", *paths, "--index", index, "--encoder", "none")


def search_passages(index: Path, question: str, retriever: str = "pagerank") -> list[dict[str, str]]:
    outcome = run_clew("search", question, "--index", index, "--retriever", retriever, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    passages: list[dict[str, str]] = json.loads(outcome.out)["passages"]
    return passages


UNREADABLE = {
    "blank.md": b" \n\t\n",
    "binary.txt": bytes(range(256)) * 20,
    "nul.txt": b"Oslo is in Norway.\0\0\0Bergen too.",
    "cut.jsonl": b'{"id": "a", "text": "Oslo',
    "list.jsonl": b"[1, 2]\n",
    "notext.jsonl": b'{"id": "a"}\n',
    "broken.pdf": b"%PDF-1.4 nothing",
    "broken.docx": b"PK\x03\x04 nothing",
}


def test_files_that_cannot_be_read_are_reported_and_the_others_are_indexed(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in UNREADABLE.items():
        (folder / name).write_bytes(content)
    (folder / "oslo.md").write_text("# Oslo\n\nOslo is the capital of Norway.", encoding="utf-8")
    outcome = index_files(tmp_path / "index", folder)
    assert outcome.code == 1, outcome
    assert "1 added" in outcome.out
    assert f"{len(UNREADABLE)} failed" in outcome.out
    printed = outcome.out + outcome.err
    assert [name for name in UNREADABLE if name not in printed] == []
    assert "Traceback" not in printed
    (passage,) = search_passages(tmp_path / "index", "capital of Norway")
    assert passage["document_id"] == "oslo.md"


def test_an_empty_folder_gives_an_empty_index(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert index_files(tmp_path / "index", tmp_path / "in").code == 0
    for retriever in RETRIEVERS:
        assert search_passages(tmp_path / "index", "Oslo", retriever) == []
    assert run_clew("verify", "--index", tmp_path / "index").code == 0


@pytest.mark.slow
@pytest.mark.skipif(not PEAK_RESET.exists(), reason="there is no way to ask for the memory of a part of a process")
def test_a_line_of_ten_megabytes(tmp_path: Path) -> None:
    """A peak of the whole process would be that of an earlier test, or of the code that a first command loads.

    More than one worker would read the line in processes whose memory is not seen here.
    """
    index_files(tmp_path / "first", write_lines(tmp_path / "first.jsonl", [{"id": "a", "text": "Oslo is in Norway."}]))
    words = "the sea ice drifts from shore to shore and melts in the summer "
    text = (words * (10_000_000 // len(words) + 1))[:10_000_000]
    path = write_lines(
        tmp_path / "long.jsonl", [{"id": "long", "title": "", "text": text}, {"id": "b", "text": "Oslo."}]
    )
    PEAK_RESET.write_text("5", encoding="ascii")
    before = read_peak_memory()
    outcome = run_clew("index", path, "--index", tmp_path / "index", "--encoder", "none", "--workers", "1")
    growth = read_peak_memory() - before
    assert outcome.code == 0, outcome
    assert "Traceback" not in outcome.err
    assert growth < 400 << 20, f"{growth >> 20} MiB more"  # 270 are seen
    assert search_passages(tmp_path / "index", "Oslo", "bm25")[0]["document_id"] == "b"


@pytest.mark.parametrize("name", NAMES)
def test_ids_of_any_letters_come_back_and_can_be_removed(name: str, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "ids.jsonl", [{"id": name, "text": f"The fjord of {name}."}, {"id": "b", "text": "Oslo."}]
    )
    outcome = index_files(tmp_path / "index", path)
    assert outcome.code == 0, outcome
    (passage,) = search_passages(tmp_path / "index", "the fjord", "bm25")
    assert passage["document_id"] == name
    assert run_clew("remove", "--index", tmp_path / "index", "--", name).code == 0
    assert search_passages(tmp_path / "index", "the fjord", "bm25") == []
    assert run_clew("verify", "--index", tmp_path / "index").code == 0


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("بنيت سفينة فيغا في بريمرهافن عام ١٨٧٢.", "أين بنيت سفينة فيغا؟"),
        ("הספינה וגה נבנתה בברמרהאפן.", "היכן נבנתה הספינה וגה?"),
        ("The 🚢 left 👩‍👩‍👧 and 🇳🇴 behind 😀.", "Who left the 🚢?"),
        ("Fridtjof\u202eNansen\u202c was here.", "Nansen"),
        ("e\u0301clair and \u00e9clair", "éclair"),
    ],
)
def test_text_of_any_script_round_trips(text: str, question: str, tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "t.jsonl", [{"id": "a", "title": "", "text": text}, {"id": "b", "text": "Something else."}]
    )
    assert index_files(tmp_path / "index", path).code == 0
    for retriever in RETRIEVERS:
        assert search_passages(tmp_path / "index", question, retriever)[0]["text"] == text
    assert run_clew("search", question, "--index", tmp_path / "index").code == 0
