"""Rankings by a local Ray cluster: the same report as that of one process."""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clew.index import Index
from tests.conftest import EXAMPLES
from tests.faults.commands import run_clew, run_process, start_process
from tests.indexing.test_cluster import descendants

QUESTIONS = EXAMPLES / "questions.jsonl"


def without_times(report: dict[str, Any]) -> dict[str, Any]:
    for figures in report["retrievers"].values():
        for name in [name for name in figures if name.startswith("seconds")]:
            del figures[name]
    return report


def options(index: Index, file: Path, *retrievers: str) -> list[str | Path]:
    location = index.table.location.absolute_name
    return ["eval", "--index", location, "--questions", QUESTIONS, "--retriever", ",".join(retrievers), "--out", file]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the actors are found in /proc")
@pytest.mark.parametrize("kills", [0, 1])
def test_the_report_is_that_of_one_process(plain_polar: Index, tmp_path: Path, kills: int) -> None:
    pytest.importorskip("ray")
    names = ("bm25", "pagerank", "dense")
    one, many = tmp_path / "one.json", tmp_path / "many.json"
    assert run_clew(*options(plain_polar, one, *names), "--runs", tmp_path / "one").code == 0
    process = start_process(*options(plain_polar, many, *names), "--runs", tmp_path / "many", "--ray", "local")
    assert process.pid is not None
    try:
        while process.is_alive() and kills:
            actors = [pid for pid, line in descendants(process.pid).items() if "SearchActor" in line]
            if actors:
                os.kill(actors[-1], signal.SIGKILL)
                kills -= 1
            time.sleep(0.02)
        process.join(240)
        assert (process.exitcode, kills) == (0, 0)
    finally:
        for pid in descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.join()
    assert without_times(json.loads(many.read_text())) == without_times(json.loads(one.read_text()))
    for file in sorted((tmp_path / "one").iterdir()):
        rankings = [
            json.loads((folder / file.name).read_text())["rankings"] for folder in (tmp_path / "one", tmp_path / "many")
        ]
        for ranking in (ranking for run in rankings for ranking in run):
            del ranking["usage"]
        assert rankings[0] == rankings[1]


@pytest.mark.slow
def test_a_fault_of_the_input_is_that_of_one_process(plain_polar: Index, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    arguments = [*options(plain_polar, tmp_path / "a.json", "bm25"), "--where", "nosuch = 1"]
    alone, on_cluster = run_process(*arguments), run_process(*arguments, "--ray", "local")
    assert alone.code == 2
    assert on_cluster == alone


def test_a_language_model_is_not_asked_on_a_cluster(tmp_path: Path) -> None:
    from clew.evaluation.cluster import _NoModels

    with pytest.raises(Exception, match="ollama:test is asked from one process: leave --ray out"):
        _NoModels().open("ollama:test", tmp_path)


def test_questions_on_graphs_stay_in_one_process(plain_polar: Index, tmp_path: Path) -> None:
    questions = tmp_path / "graph.jsonl"
    questions.write_text('{"id": "q", "question": "Who?", "topic": "Fram", "answers": ["Colin Archer"]}\n')
    location = plain_polar.table.location.absolute_name
    done = run_clew("eval", "--index", location, "--questions", questions, "--retriever", "frag", "--ray", "local")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "questions on graphs" in done.err
