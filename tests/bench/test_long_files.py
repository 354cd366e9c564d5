"""Long texts made of a machine's documentation, and where the evidence of their questions stands."""

import gzip
import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from clew.types import Evidence, Passage, Scored

BENCH = Path(__file__).parent.parent.parent / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("long_files")


@pytest.fixture
def texts(bench: ModuleType) -> ModuleType:
    del bench
    return importlib.import_module("long_texts")


def test_info_pages_lose_headers_menus_and_indexes(texts: ModuleType, tmp_path: Path) -> None:
    nodes = (
        "File: sed.info,  Node: Top\n\n1 Sed\n*****\n\n* Menu:\n\n* Intro::  What it is\n\nIt edits streams.\n",
        "File: sed.info,  Node: Index\n\n\x00\x08[index\x00\x08]\n* Menu:\n\n* edit:  Intro.  (line 1)\n",
    )
    (tmp_path / "sed.info.gz").write_bytes(
        gzip.compress(("preamble\n" + "".join("\x1f\n" + n for n in nodes)).encode())
    )
    assert texts.read_text("manual", tmp_path) == "1 Sed\n*****\n\nIt edits streams.\n"


def test_a_page_becomes_the_text_that_it_shows(texts: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "print.html"
    page.write_text(
        "<head><title>no</title></head><div>menu</div><main><h1>Own<b>ing</b></h1>\n<p>A\n  value.</p>"
        "<pre>let x;\nlet y;</pre><script>no()</script></main><p>after</p>",
        encoding="utf-8",
    )
    assert texts.read_text("textbook", page) == "Owning\n\nA value.\n\nlet x;\nlet y;\n"


def test_documentation_strings_come_with_the_names_of_what_is_public(texts: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "wave.py").write_text(
        '"""Reads sound."""\nclass Reader:\n    """Reads."""\n    def seek(self, place=0):\n        """Go to."""\n'
        '    def _own(self):\n        """Hidden."""\ndef _hidden():\n    """Hidden."""\n',
        encoding="utf-8",
    )
    text = texts.read_text("library", tmp_path)
    assert text == "wave\nReads sound.\n\nwave.Reader\nReads.\n\nwave.Reader.seek(self, place=0)\nGo to.\n"


def test_release_notes_are_in_the_order_of_versions(texts: ModuleType, tmp_path: Path) -> None:
    for version in ("2.10.0", "2.9.0", "2.9.1", "1.8.0"):
        (tmp_path / f"{version}.txt").write_text(f"Git {version}\n", encoding="utf-8")
    assert texts.read_text("releases", tmp_path) == "Git 2.9.0\n\nGit 2.10.0\n"


def test_a_missing_source_is_one_clear_line(texts: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        texts.read_text("licences", tmp_path / "absent")
    message = str(stop.value)
    assert "absent" in message
    assert "--source licences=PATH" in message
    assert "\n" not in message


def test_evidence_is_where_the_middle_of_each_quote_stands(bench: ModuleType, tmp_path: Path) -> None:
    text = "One  two\nthree four. One two three five. Six seven."
    path = tmp_path / "questions.jsonl"
    records = [
        {"question": "which?", "evidence": ["two three", "Six seven"]},
        {"question": "absent?", "evidence": ["no such words"]},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (question,) = bench.load_questions(path, text)
    assert question.places == ((text.index("three"), text.index("three", 20)), (text.index("seven"),))
    for spans, share in (([(0, 20)], 0.5), ([(20, len(text))], 1.0), ([(0, 2), (40, len(text))], 0.5), ([], 0.0)):
        passages = tuple(Scored(Passage(str(a), "d", "", text[a:b], a, b), 1.0) for a, b in spans)
        assert bench.quote_share(question, Evidence(passages)) == share


@pytest.mark.parametrize("kind", ["manual", "textbook", "licences", "library", "releases"])
def test_each_kind_has_questions_with_short_quotes(kind: str) -> None:
    lines = (BENCH / "long_files" / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    assert len(records) >= (100 if kind == "manual" else 30)
    assert len({record["question"] for record in records}) == len(records)
    for record in records:
        assert 1 <= len(record["evidence"]) <= 2
        assert all(len(quote.split()) <= 30 for quote in record["evidence"])
