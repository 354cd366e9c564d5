"""`clew chat`: scripts of questions, follow-ups, commands; and `clew open`."""

import json
import shutil
from pathlib import Path

import pytest

import clew
from clew.models.reader.reader import MANIFEST_FILE, READER_FOLDER
from tests.faults.commands import Outcome, run_clew, write_lines

ROWS = (
    {"id": "fram", "title": "Fram", "text": "Fram was designed by Colin Archer. Fram was launched in 1892."},
    {"id": "archer", "title": "Colin Archer", "text": "Colin Archer was born in Larvik. He died in 1921."},
    {"id": "larvik", "title": "Larvik", "text": "Larvik is a town in Norway.", "metadata": {"year": 1671}},
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chat")
    lines = write_lines(folder / "rows.jsonl", ROWS)
    done = run_clew("index", lines, "--index", folder / "index", "--encoder", "none")
    assert done.code == 0, done
    reader = clew.open(folder / "index").context.own_weights_folder("reader")
    shutil.copytree(READER_FOLDER, reader)
    manifest = json.loads((reader / MANIFEST_FILE).read_text(encoding="utf-8"))
    manifest["calibration"]["line"] = manifest["calibration"]["threshold"]  # whatever it answers is asserted
    (reader / MANIFEST_FILE).write_text(json.dumps(manifest), encoding="utf-8")
    return folder / "index"


def talk(index: Path, *lines: str, options: tuple[str, ...] = ()) -> Outcome:
    script = "\n".join(lines).encode()
    return run_clew("chat", index, "--retriever", "bm25", *options, stdin=script)


def test_follow_ups_are_made_whole_and_shown(index: Path) -> None:
    script = ("Which man designed the Fram?", "", "Where was he born?", "and when did he die?", "why?")
    done = talk(index, *script)
    assert done.code == 0
    assert done.err.splitlines() == ["note: 'why?' says too little to go on from the question before: ask in full"]
    assert "Understood as: Where was Colin Archer born?\n" in done.out
    assert "Understood as: When did Colin Archer die?" in done.out
    assert done.out.count("no language model was used") == 1


def test_a_line_that_is_not_utf_8_is_one_note_and_the_conversation_goes_on(index: Path) -> None:
    script = b"Who designed the Fram?\nWho was Amund S\xf8rensen?\nWhen was it launched?\n"
    done = run_clew("chat", index, "--retriever", "bm25", stdin=script)
    assert done.code == 0
    assert done.err == "note: line 2 of the input is not UTF-8 text and is left out: save it as UTF-8, ask again\n"
    assert "Understood as: When was Fram launched?" in done.out


def test_commands_of_the_conversation(index: Path) -> None:
    done = talk(
        index, ":why", "Who designed the Fram?", ":sources", ":why", ":where year = 1671", "Who designed the Fram?",
        ":where", ":retriever chains", ":retriever", ":forget", "Where was he born?", ":help", ":quit", "never asked"
    )  # fmt: skip
    assert done.code == 0
    assert "note: nothing was asked yet" in done.err
    assert "  [fram]  " in done.out
    assert "How they connect:" in done.out or "Fram was designed by Colin Archer." in done.out
    assert "where year = 1671" in done.out
    assert "all passages" in done.out
    assert done.out.count("retriever chains") == 3
    assert "Understood as" not in done.out
    assert "'he' refers to nothing that was asked before" in done.err
    assert ":sources" in done.out
    assert "never asked" not in done.out


def test_errors_are_one_line_and_the_conversation_goes_on(index: Path) -> None:
    done = talk(
        index, ":where nix = 5", ":retriever pagernk", ":nothing", ":where year = 'x'", "Who designed the Fram?"
    )
    assert done.code == 0
    errors = done.err.splitlines()
    assert len(errors) == 3
    assert "'nix'" in errors[0]
    assert "pagernk" in errors[1]
    assert "':nothing' is no command" in errors[2]
    assert "no passage meets the filter (0 of 3); 'year' has numbers, and 'x' is a text" in done.out


@pytest.mark.parametrize(
    "options", [("--retriever", "nix"), ("--where", "nix = 5"), ("--model", "nix"), ("-k", "0", "--where", "(")]
)
def test_what_cannot_be_asked_is_refused_at_once(index: Path, options: tuple[str, ...]) -> None:
    done = run_clew("chat", index, *options, stdin=b"Who designed the Fram?\n")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1


def test_there_has_to_be_an_index(tmp_path: Path) -> None:
    for command in ("chat", "open"):
        done = run_clew(command, tmp_path / "none")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "there is no INDEX: name a folder" in run_clew(command).err


def test_open_says_what_an_index_holds_and_could_answer(index: Path) -> None:
    done = run_clew("open", index)
    assert (done.code, done.err) == (0, "")
    assert "3 documents, 3 passages" in done.out
    assert "year: number, 1 value in 1 passage, such as 1671" in done.out
    question = "When did the one who designed Fram die?"
    assert f"  {question}\n" in done.out
    found = json.loads(run_clew("search", question, "--index", index, "--json").out)
    assert {"fram", "archer"} <= {passage["id"] for passage in found["passages"]}
    assert run_clew("open", index) == done


def test_open_as_json(index: Path) -> None:
    shown = json.loads(run_clew("open", index, "--json", "--questions", "1").out)
    assert shown["documents"] == 3
    assert len(shown["questions"]) == 1
    assert shown["fields"][0]["name"] == "year"
