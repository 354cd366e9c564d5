"""Input that is meant to break a command: one line that says what to do, and nothing of a secret in it."""

import json
from pathlib import Path

import pytest

from clew.commands.app import COMMANDS, GROUPS, report_bug
from clew.commands.output import format_json
from clew.errors import InputError
from clew.indexing.kg_formats.files import graph_file
from clew.query.filters import parse_filter
from clew.retrievers.registry import parse_retriever
from clew.settings import load_settings
from tests.commands.refusals import check_refused
from tests.faults.commands import Outcome, run_clew, write_lines


@pytest.mark.parametrize("digits", [309, 400, 4300, 5000])
def test_a_number_of_many_digits_in_a_filter_is_refused(digits: int) -> None:
    with pytest.raises(InputError) as caught:
        parse_filter(f"year = {'9' * digits}")
    assert len(str(caught.value)) < 6000


@pytest.mark.parametrize(
    "text",
    [
        f"frag:paths={'9' * 5000}",
        f"naive-ge:length={10**30}",
        "naive-ge:length=17",
        "naive-ge:width=1001",
        f"gear:width={10**30}",
        f"gcn-subgraph:budget={10**30}",
        f"steiner:budget={10**30}",
    ],
    ids=lambda text: text[:30],
)
def test_settings_have_bounds(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_retriever(text)
    assert len(str(caught.value)) < 300


PREFIX = "@prefix ex: <http://e/> .\nex:a ex:b ex:c"


@pytest.mark.parametrize(
    "text", [PREFIX[:end] for end in range(1, len(PREFIX) + 1)] + ["@prefix", "<a> <b> [", "<a> ("]
)
def test_turtle_that_is_cut_off_is_refused_or_read(tmp_path: Path, text: str) -> None:
    pytest.importorskip("rdflib")
    file = tmp_path / "cut.ttl"
    file.write_text(text, encoding="utf-8")
    try:
        with_statements = list(graph_file(file).statements())
    except InputError:
        return
    assert not with_statements


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "idna", "punycode"])
def test_an_encoding_that_does_not_fit_is_refused(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "t.tsv"
    file.write_bytes(b"a\tb\tc\nd\te\tf\n")
    with pytest.raises(InputError, match=encoding):
        list(graph_file(file, encoding=encoding).statements())


@pytest.mark.parametrize(
    "line",
    [
        'api_key = "sk-SECRET"',
        'openai_token = "sk-SECRET"',
        'base_urll = "http://user:sk-SECRET@host/"',
        'linker_floor = "http://user:sk-SECRET@host/"',
    ],
)
def test_no_secret_of_the_settings_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("clew.toml").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_settings()
    assert "SECRET" not in str(caught.value)
    assert line.split(" ", 1)[0] in str(caught.value)


def test_json_cannot_steer_a_terminal() -> None:
    value = {"text": "a\x1b[31m\x9b31m\u202eevil\u2066\u2028 \x7f é 卡"}
    shown = format_json(value)
    assert json.loads(shown) == value
    assert not [c for c in shown if not c.isprintable()]
    assert "é 卡" in shown


def test_a_fault_of_the_program_is_one_line_and_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise KeyError("missing")
    except KeyError as error:
        report_bug(type(error), error, error.__traceback__)
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    name = printed.rstrip().rpartition(" ")[2]
    log = Path(name)
    assert "KeyError: 'missing'" in log.read_text(encoding="utf-8")
    log.unlink()


def test_where_a_file_could_not_be_read_the_exit_code_is_1(tmp_path: Path) -> None:
    (tmp_path / "bad.xyz").write_text("x", encoding="utf-8")
    (tmp_path / "good.txt").write_text("Fram sailed.", encoding="utf-8")

    def index(*names: str) -> Outcome:
        place = ("--index", tmp_path / "i", "--encoder", "none")
        return run_clew("index", *(tmp_path / name for name in names), *place)

    done = index("bad.xyz")
    assert (done.code, done.err.splitlines()[-1]) == (1, "exit code 1: 1 failed, nothing was added")
    assert not (tmp_path / "i").exists()
    assert index("good.txt").code == 0
    assert index("good.txt", "bad.xyz").code == 1


HOSTILE = "Fram\x9b31m\u202eevil\u2066\u2028\u200f\u061c\x7f\x1b[2J"
SECRET = "sk-SECRETSECRET"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index, a graph, questions and a text whose names would steer a terminal."""
    folder = tmp_path_factory.mktemp("hostile")
    row = {"id": f"a{HOSTILE}", "title": HOSTILE, "text": f"{HOSTILE} sailed to Oslo.", "metadata": {HOSTILE: HOSTILE}}
    write_lines(folder / "rows.jsonl", [row])
    question = {"id": f"q{HOSTILE}", "question": f"Where did {HOSTILE} sail?", "gold": [HOSTILE], "answers": [HOSTILE]}
    write_lines(folder / "questions.jsonl", [question])
    write_lines(folder / "hops.jsonl", [{**question, "topics": [HOSTILE], "hops": 1}])
    (folder / "graph.tsv").write_text(f"Oslo{HOSTILE[:20]}\tlies in\tNorway\n", encoding="utf-8")
    index = ("--index", folder / "i", "--encoder", "none")
    assert run_clew("index", folder / "rows.jsonl", *index).code == 0
    assert run_clew("kg", "import", folder / "graph.tsv", *index[:2]).code == 0
    assert run_clew("index", folder / "rows.jsonl", "--index", folder / "other", "--encoder", "none").code == 0
    return folder


PRINTING = [
    ("search", f"Where did {HOSTILE} sail?", "--index", "i"),
    (
        "search",
        f"Where did {HOSTILE} sail?",
        "--index",
        "i",
        "--retriever",
        "frag:ranker=bm25,router=tf-idf",
        "--trace",
    ),
    ("search", f"Where did {HOSTILE} sail?", "--index", "i", "--json"),
    ("ask", f"Where did {HOSTILE} sail?", "--index", "i"),
    ("ask", f"Where did {HOSTILE} sail?", "--index", "i", "--json"),
    ("eval", "--index", "i", "--questions", "questions.jsonl", "--retriever", "bm25", "--out", "figures.json"),
    ("open", "i"),
    ("open", "i", "--json"),
    ("chat", "i"),
    ("conflicts", "i"),
    ("conflicts", "i", "--json"),
    ("stats", "--index", "i"),
    ("stats", "--index", "i", "--json"),
    ("cache", "--index", "i", "--json"),
    ("entities", "list", "--log", "--index", "i"),
    ("verify", "--index", "i"),
    ("restore", "--list", "--index", "i"),
    ("remove", HOSTILE, "--index", "i"),
    ("keys", "keys.json", "--add", HOSTILE, "--where", "a = 1"),
    ("keys", "keys.json"),
    ("retrievers", HOSTILE),
    ("index", f"{HOSTILE}.txt", "--index", "i"),
    ("serve", HOSTILE),
    ("doctor", "--index", HOSTILE),
    ("doctor", "--index", HOSTILE, "--json"),
]


@pytest.mark.parametrize("arguments", PRINTING, ids=lambda arguments: " ".join(arguments).replace(HOSTILE, "X"))
def test_no_command_steers_a_terminal(
    hostile: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(hostile)
    script = f"Where did {HOSTILE} sail?\n:sources\n:why\n:{HOSTILE}\n" if arguments[0] == "chat" else ""
    done = run_clew(*arguments, stdin=script.encode(errors="replace"))
    written = [Path("figures.json").read_text(encoding="utf-8")] if "figures.json" in arguments else []
    for text in (done.out, done.err, *written):
        assert not [c for c in text if not c.isprintable() and c not in "\n\t"]
    assert done.out or done.err


def test_every_command_that_prints_is_tried() -> None:
    silent = {"compact", "adapt", "repair", "reencode"}  # counts and places
    assert {arguments[0] for arguments in PRINTING} | silent == {*COMMANDS, "entities"}


ALL_COMMANDS = [(name,) for name in COMMANDS] + [(group, name) for group, (_, own) in GROUPS.items() for name in own]


@pytest.mark.parametrize("command", ALL_COMMANDS, ids=" ".join)
def test_no_command_echoes_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
    """Keys of the settings, of the environment and of addresses, with arguments that do and do not fit."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLEW_API_KEY", f"{SECRET}1")
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}2")
    address = f"s3://user:{SECRET}3@"
    named = (f"n={address}", *(("--host", "0.0.0.0") if command == ("serve",) else ()))  # else it would serve
    attempts: list[tuple[str, ...]] = [(), ("x",), ("--index", address), ("x", "--index", address), named]
    for toml in ("", f'api_key = "{SECRET}4"\n', f'base_url = "http://user:{SECRET}5@127.0.0.1:1"\nk = "x"\n'):
        Path("clew.toml").write_text(toml, encoding="utf-8")
        for arguments in attempts:
            done = run_clew(*command, *arguments)
            assert done.code or (command[0] in ("retrievers", "doctor") and not arguments) or command == ("keys",)
            assert SECRET not in done.out + done.err, (toml, arguments)


def test_no_address_of_a_language_model_shows_its_password(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile)
    monkeypatch.setenv("CLEW_API_KEY", f"{SECRET}1")
    for address in (f"http://user:{SECRET}@127.0.0.1:1/v1", f"nonsense://user:{SECRET}@127.0.0.1:1/v1"):
        done = run_clew(
            "ask", f"Where did {HOSTILE} sail?", "--index", "i", "--model", "openai:x", "--base-url", address
        )
        assert done.code
        assert "127.0.0.1" in done.err
        assert SECRET not in done.out + done.err


@pytest.mark.parametrize(("place", "fault"), [("a.md", "which is a file"), ("a.md/x", "which lies below the file")])
def test_an_index_in_the_place_of_a_file_is_refused(tmp_path: Path, place: str, fault: str) -> None:
    (tmp_path / "a.md").write_text("# Rossby\n\nRossby was built in Kiel.\n")
    done = run_clew("index", str(tmp_path / "a.md"), "--index", str(tmp_path / place))
    check_refused(done, fault)
    assert "Errno" not in done.err
