"""Selections of subgraphs by the command line: training, comparing, searching with what was trained, and bad input."""

import json
from pathlib import Path

import pytest

from faults.commands import Outcome, clew
from kinship import made, write_graph
from models.tiny_llama import write_tiny_llama

TOPICS = ("Ada Lind", "Bo Lind", "Carl Lind", "Eva Holm", "Dora Lind", "Vardø")
ANSWERS = {"Ada Lind": "Vardø", "Bo Lind": "Carl Lind", "Carl Lind": "fisher", "Eva Holm": "teacher"}
HASHING = ("--encoder", "hashing:32", "--budget", "3", "--epochs", "1", "--draws", "16", "--width", "4")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    lines = [
        {"id": topic, "question": f"what has {topic}", "topic": [topic], "answers": [ANSWERS.get(topic, "Norway")]}
        for topic in TOPICS
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def trained(folder: Path, questions: Path, *options: str) -> Outcome:
    kg = write_graph(folder)
    return clew("train", "subgraph", "--kg", kg, "--questions", questions, "--out", folder / "w", *HASHING, *options)


def test_what_is_trained_is_searched_with(tmp_path: Path, questions: Path) -> None:
    done = trained(tmp_path, questions)
    assert done.code == 0, done
    assert "learned from 5 questions, 1 chose the epoch" in done.out
    used = f"gcn-subgraph:weights={tmp_path / 'w'}"
    assert used in done.out
    made(tmp_path, "hashing:32")
    found = clew(
        "search", "what has [Ada Lind]", "--index", tmp_path / "index", "--retriever", used + ",budget=3", "--json"
    )
    assert found.code == 0, found
    paths = json.loads(found.out)["paths"]
    assert 1 <= len(paths) <= 3
    assert all(path["triples"][0]["head"] == "Ada Lind" or path["triples"][0]["tail"] == "Ada Lind" for path in paths)


def test_an_index_gives_questions_too(tmp_path: Path, questions: Path) -> None:
    made(tmp_path, "hashing:32")
    done = clew(
        "train", "subgraph", "--index", tmp_path / "index", "--questions", questions, "--out", tmp_path / "w", *HASHING
    )  # fmt: skip
    assert done.code == 0, done
    other = clew("train", "subgraph", "--index", tmp_path / "index", "--questions", questions, "--out", tmp_path / "w")
    assert other.code == 2
    assert "was made with the encoder 'hashing:32'" in other.err


def test_selections_are_compared(tmp_path: Path, questions: Path) -> None:
    kg = write_graph(tmp_path)
    names = "gcn,gcn-untrained,steiner,top-k,ego,random,whole"
    asked = ("compare", "--kg", kg, "--questions", questions, "--test", questions, "--select", names, "--seeds", "1")
    done = clew(*asked, *HASHING, "--json")
    assert done.code == 0, done
    report = json.loads(done.out)
    assert list(report["selections"]) == names.split(",")
    assert report["questions"] == len(TOPICS)
    assert report["selections"]["whole"]["nodes"] > report["selections"]["top-k"]["nodes"] == 3
    table = clew(*asked, *HASHING)
    assert table.code == 0, table
    assert [line.split()[0] for line in table.out.splitlines()[2:9]] == names.split(",")
    assert "gcn minus steiner, accuracy: " in table.out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "give --data FOLDER or FILE, or --kg TRIPLES or --index INDEX with --questions FILE"),
        (("--data", "none.jsonl", "--kg", "kg.tsv"), "give --data FOLDER or FILE"),
        (("--data", "none.jsonl"), "none.jsonl"),
        (("--kg", "none.tsv", "--questions", "none.jsonl"), "none"),
    ],
)
@pytest.mark.parametrize("command", [("train", "subgraph", "--out", "w"), ("compare",)])
def test_what_cannot_be_read_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = clew(*command, *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--objective", "best"), "objective is 'best': wanted policy or paper"),
        (("--inputs", "all"), "inputs is 'all': wanted text or question"),
        (("--combination", "mean"), "combination is 'mean': wanted product or sum"),
        (("--rate", "0"), "rate is 0"),
    ],
)
def test_a_recipe_that_is_none_is_refused(tmp_path: Path, questions: Path, options: tuple[str, ...], said: str) -> None:
    done = trained(tmp_path, questions, *options)
    assert done.code == 2
    assert said in done.err
    assert not (tmp_path / "w").exists()


def test_a_selection_that_is_none_is_refused(tmp_path: Path, questions: Path) -> None:
    kg = write_graph(tmp_path)
    done = clew("compare", "--kg", kg, "--questions", questions, "--select", "gcn,best", *HASHING)
    assert done.code == 2
    assert "no selection is called 'best'" in done.err


def test_a_causal_language_model_reads(tmp_path: Path, questions: Path) -> None:
    model = write_tiny_llama(tmp_path / "llama", [*TOPICS, *ANSWERS.values(), "what has"])
    asked = ("compare", "--kg", write_graph(tmp_path), "--questions", questions, "--test", questions, "--seeds", "1")
    done = clew(*asked, "--select", "gcn,steiner", "--reader", model, *HASHING, "--json")
    assert done.code == 0, done
    told = json.loads(done.out)["selections"]
    assert all(told[name]["loss"] > 0 and told[name]["train_seconds"] >= 0 for name in ("gcn", "steiner"))
    absent = clew(*asked, "--reader", tmp_path / "none", *HASHING)
    assert absent.code == 1
    assert str(tmp_path / "none") in absent.err
