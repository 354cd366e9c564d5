"""GQA's scene graphs as published go through the commands: training of a selection, and the comparison."""

import json
from pathlib import Path

import pytest

from clew_lab.graph_readers.reader_files import describe_reader
from lab.tests.datasets.scene_graph_files import write_gqa_questions, write_question_table, write_scene_graphs
from tests.faults.commands import run_clew
from tests.models.tiny_llama import write_tiny_llama

SMALL = ("--encoder", "hashing:32", "--budget", "2", "--epochs", "1", "--draws", "4", "--width", "4")


def test_g_retrievers_questions_on_gqas_files(tmp_path: Path) -> None:
    data = write_question_table(write_scene_graphs(tmp_path / "scenes", 10), 10)
    compared = ("compare", "--data", data, "--select", "steiner,whole", "--topk-e", "3", "--seeds", "1", "--json")
    done = run_clew(*compared, *SMALL)
    assert done.code == 0, done
    report = json.loads(done.out)
    assert (report["questions"], report["learned_from"]) == (4, 12)  # of 2 and 6 images
    assert report["selections"]["whole"]["nodes"] == 3
    assert {"accuracy", "published", "containment"} <= report["selections"]["steiner"].keys()
    assert "F1" not in report["selections"]["steiner"], "it is WebQSP's"
    assert [one["measure"] for one in report["comparisons"]] == ["accuracy", "published"]


@pytest.mark.slow
def test_a_selection_is_trained_on_scene_graphs(tmp_path: Path) -> None:
    data = write_question_table(write_scene_graphs(tmp_path / "scenes", 10), 10)
    model = write_tiny_llama(tmp_path / "llama", ["What color is the cup?", "red", "blue", "green", "lamp"])
    reads = ("--reader", model, "--soft-prompt", "2", "--graph-token", "whole", "--node-features", "laplacian")
    done = run_clew("train", "subgraph", "--data", data, "--out", tmp_path / "w", *SMALL, *reads)
    assert done.code == 0, done
    assert "learned from 12 questions, 4 chose the epoch" in done.out
    saved = describe_reader(tmp_path / "w" / "reader").graph_token
    assert saved is not None
    assert saved["features"] == "laplacian"


def test_gqas_own_questions_and_their_evidence(tmp_path: Path) -> None:
    data = write_gqa_questions(write_scene_graphs(tmp_path / "scenes", 9), "train", 0, 6)
    write_gqa_questions(data, "val", 6, 3)
    parts = ("--split", "train", "--test-split", "val", "--seeds", "1")
    done = run_clew("compare", "--data", data, "--select", "top-k,whole", *parts, *SMALL, "--json")
    assert done.code == 0, done
    report = json.loads(done.out)
    assert report["questions"] == 3
    assert report["selections"]["whole"]["gold"] == 1
    lacking = run_clew("compare", "--data", data, *SMALL)
    assert lacking.code == 2
    assert "no questions of the split 'test'; wanted one of train, val" in lacking.err


@pytest.mark.parametrize("change", ["graphs", "questions"])
def test_a_damaged_file_is_one_line(change: str, tmp_path: Path) -> None:
    data = write_question_table(write_scene_graphs(tmp_path / "scenes", 5), 5)
    file = data / ("train_sceneGraphs.json" if change == "graphs" else "questions.csv")
    file.write_text(file.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    done = run_clew("train", "subgraph", "--data", data, "--out", tmp_path / "w", *SMALL)
    assert (done.code, done.out) == (2, "")
    assert len(done.err.strip().splitlines()) == 1
    assert str(file) in done.err
    assert not (tmp_path / "w").exists()
