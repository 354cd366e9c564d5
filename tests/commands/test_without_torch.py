"""Every command of a user without torch and extras: index, search by every retriever, ask, eval, import, verify."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clew.models.encoders.int8_minilm import Int8MiniLM
from clew.models.encoders.sentence_transformer import SentenceTransformerEncoder
from tests.faults.commands import run_clew

ROOT = Path(__file__).resolve().parents[2]
GOLD = ("james-caird.md", "dulwich-college.md")
PROGRAM = """
import sys
training = "torch", "torch_geometric", "sentence_transformers", "transformers", "scipy"
models = "pydantic_ai", "httpx2", "genai_prices"
servers = "fastapi", "uvicorn", "mcp", "opentelemetry", "watchfiles"
for package in (*training, *models, *servers):
    sys.modules[package] = None  # an import of it fails
from clew.commands.app import main
from clew.retrievers.registry import RERANKED, RETRIEVERS

corpus, questions, graph, index = sys.argv[1:]
question = "Who founded the school where the boat James Caird is kept today?"

def clew(*arguments):
    print("$", *arguments, flush=True)
    sys.argv = ["clew", *arguments]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, arguments

clew("index", corpus, "--index", index)
for name in sorted(set(RETRIEVERS.entries) - {RERANKED}):
    clew("search", question, "--index", index, "--retriever", name, "-k", "2")
clew("search", question, "--index", index, "--retriever", "fused", "--rerank", "g-rag", "-k", "2")
clew("search", question, "--index", index, "--retriever", "gfm:nodes=all", "--paths", "2", "-k", "2")
clew("ask", question, "--index", index)
clew("eval", "--index", index, "--questions", questions, "--retriever", "gfm,pagerank")
clew("kg", "import", graph, "--index", index + "-graph")
clew("search", "[Fram] design", "--index", index + "-graph", "--retriever", "frag")
clew("search", "[Fram] design", "--index", index + "-graph", "--retriever", "gcn-subgraph")
clew("verify", "--index", index)
"""


@pytest.mark.slow
def test_every_command_works_where_torch_cannot_be_imported(tmp_path: Path) -> None:
    examples, corpus = ROOT / "examples", tmp_path / "polar"
    corpus.mkdir()
    for file in {*sorted((examples / "polar").iterdir())[::10], *(examples / "polar" / name for name in GOLD)}:
        shutil.copy(file, corpus)
    questions = (examples / "questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "questions.jsonl").write_text(questions[1], encoding="utf-8")
    arguments = [corpus, tmp_path / "questions.jsonl", examples / "expeditions.tsv", tmp_path / "index"]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Dulwich College" in done.stdout
    assert "clean: every passage reads back" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["index", "examples/polar/fram.md", "--encoder", "all-MiniLM-L6-v2"], "encoders"),
        (["index", "examples/polar/fram.md", "--encoder", "some/model"], "encoders"),
        (["train", "gfm", "--data", "examples", "--out", "out"], "train"),
        (["index", "examples/polar/fram.md", "--device", "cuda"], "train"),
    ],
)
def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(
    tmp_path: Path, arguments: list[str], extra: str
) -> None:
    program = (
        "import sys\n"
        "for package in ('torch', 'torch_geometric', 'sentence_transformers', 'transformers'):\n"
        "    sys.modules[package] = None\n"
        "from clew.commands.app import main; main()"
    )
    given = [str(ROOT / part) if part.startswith("examples") else part for part in arguments]
    place = ["--index", str(tmp_path / "index")] if arguments[0] == "index" else []
    done = subprocess.run(
        [sys.executable, "-c", program, *given, *place],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert lines[-1].startswith("clew: ")
    assert f"run pip install 'clew[{extra}]'" in lines[-1]
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "index").exists()


def test_an_index_of_an_encoder_that_is_not_installed_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, encode = tmp_path / "index", Int8MiniLM().encode
    question = ("search", "Who designed Fram?", "--index", place, "--retriever")
    with monkeypatch.context() as installed:  # its weights need not be here
        installed.setattr(SentenceTransformerEncoder, "encode", lambda _, texts: encode(texts))
        installed.setattr(SentenceTransformerEncoder, "encode_queries", lambda _, texts: encode(texts))
        installed.setattr(SentenceTransformerEncoder, "dimension", Int8MiniLM.dimension)
        installed.setattr(SentenceTransformerEncoder, "fingerprint", "another")
        made = run_clew(
            "index", ROOT / "examples" / "polar" / "fram.md", "--index", place, "--encoder", "all-MiniLM-L6-v2"
        )
        assert made.code == 0, made.err
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert run_clew(*question, "bm25").code == 0  # reads no vectors
    done = run_clew(*question, "dense")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    way_out = f"run clew reencode --index {place} --encoder all-MiniLM-L6-v2-int8, which needs no torch"
    assert done.err.endswith(f"run pip install 'clew[encoders]', or {way_out}\n")
    changed = run_clew("reencode", "--index", place, "--encoder", "bundled")
    assert changed.code == 0, changed.err
    assert "1 passage has vectors of all-MiniLM-L6-v2-int8" in changed.out
    assert run_clew(*question, "dense").code == 0


def test_weights_that_cannot_be_opened_leave_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    file, place = ROOT / "examples" / "polar" / "fram.md", tmp_path / "index"
    commands: list[list[str | Path]] = [["index", file], ["kg", "import", ROOT / "examples" / "expeditions.tsv"]]
    for command in commands:
        done = run_clew(*command, "--index", place, "--encoder", "all-MiniLM-L6-v2")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert not place.exists()
    assert run_clew("index", file, "--index", place, "--encoder", "hashing").code == 0
