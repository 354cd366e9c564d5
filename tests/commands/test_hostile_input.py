"""Input that is meant to break a command: one line that says what to do, and nothing of a secret in it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from clew.commands.app import report_bug
from clew.commands.output import format_json
from clew.errors import InputError
from clew.indexing.kg_formats.files import graph_file
from clew.query.filters import parse_filter
from clew.retrievers.registry import parse_retriever
from clew.settings import load_settings


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


def test_graphml_in_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bogus.graphml"
    file.write_bytes(b'<?xml version="1.0" encoding="bogus"?><graphml/>')
    with pytest.raises(InputError, match="not GraphML"):
        list(graph_file(file).statements())


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
        'synonym_threshold = "http://user:sk-SECRET@host/"',
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


def test_where_no_file_could_be_read_the_exit_code_is_1(tmp_path: Path) -> None:
    (tmp_path / "bad.xyz").write_text("x", encoding="utf-8")
    (tmp_path / "good.txt").write_text("Fram sailed.", encoding="utf-8")

    def index(*names: str) -> int:
        command = [sys.executable, "-m", "clew", "index", *names, "--index", "i", "--encoder", "none"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode

    assert index("good.txt", "bad.xyz") == 0
    assert index("bad.xyz") == 1
