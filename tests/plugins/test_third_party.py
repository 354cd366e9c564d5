"""A package of somebody else adds a retriever, a reranker, an extractor, an encoder, a model and an answerer."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "third_party"
TEXTS = {"a": "Amundsen sailed the Gjoa.", "b": "Byrd flew over the Pole.", "c": "Cook saw the ice."}
FROM_PYTHON = """
import sys, clew
from clew_example_plugin import Alphabetical, AlphabeticalRetriever
index = clew.create(sys.argv[1], clew.Settings(encoder="letters", extractor="capitals"))
index.add([clew.Document(id, id.upper(), text) for id, text in {texts}.items()])
def ids(evidence): return "".join(found.item.id[0] for found in evidence.passages)
print(ids(index.search("?", 2, "alphabetical")))
print(ids(index.search("?", 2, Alphabetical(descending=True))))
print(ids(index.search("?", 3, clew.Reranked(base="alphabetical", rerank="reversed"))))
print(ids(index.search("?", 1, AlphabeticalRetriever(index.context, False))))
print(ids(clew.open(sys.argv[1]).search("ice", 1, "dense")), "Gjoa." in index.snapshot.entities)
print(index.ask("ice", 1, "bm25", model="constant:Oslo").text, index.ask("ice", 1, "bm25", model="title").text)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that finds the package installed."""
    folder = tmp_path_factory.mktemp("third-party")
    shutil.copytree(SOURCE, folder / "source")
    place = folder / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", str(place)]
    subprocess.run([*command, str(folder / "source")], check=True, capture_output=True, timeout=300)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), *sys.path])}


def run(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_all_work_from_python(environment: dict[str, str], tmp_path: Path) -> None:
    done = run(environment, "-c", FROM_PYTHON.replace("{texts}", repr(TEXTS)), str(tmp_path / "index"))
    assert done.stdout.split("\n")[:6] == ["ab", "cb", "cba", "a", "c True", "Oslo C"], done.stderr


@pytest.mark.slow
def test_all_work_from_the_command_line(environment: dict[str, str], tmp_path: Path) -> None:
    corpus, index = tmp_path / "corpus.jsonl", str(tmp_path / "index")
    rows = [json.dumps({"id": id_, "title": id_.upper(), "text": text}) for id_, text in TEXTS.items()]
    corpus.write_text("\n".join(rows) + "\n", encoding="utf-8")
    clew = ("-m", "clew")
    made = run(
        environment, *clew, "index", str(corpus), "--index", index, "--encoder", "letters", "--extractor", "capitals"
    )
    assert made.returncode == 0, made.stderr
    search = (*clew, "search", "?", "--index", index, "-k", "3", "--json", "--retriever")
    found = run(environment, *search, "alphabetical:descending=yes", "--rerank", "reversed")
    assert [one["id"][0] for one in json.loads(found.stdout)["passages"]] == ["a", "b", "c"], found.stderr
    wrong = run(environment, *search, "alphabetical:descend=yes")
    assert wrong.returncode == 2
    assert "alphabetical has no setting 'descend'; did you mean descending?" in wrong.stderr
    for model, answer in {"constant:Oslo": "Oslo", "title": "C"}.items():
        asked = run(
            environment, *clew, "ask", "ice", "--index", index, "--retriever", "bm25", "-k", "1", "--model", model
        )
        assert asked.stdout.split("\n")[0] == answer, asked.stderr
    near = run(environment, *search, "alphabetic")
    assert "no retriever is called 'alphabetic'; did you mean alphabetical?" in near.stderr
