"""`clew questions`: samples with equally many questions of each number of hops, and counts."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from clew.errors import InputError
from clew.types import Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.datasets.question_sets import count_questions, question_json, sample_by_hops
from tests.faults.commands import run_clew
from tests.kinship import QUESTIONS, make_kinship_index, write_questions


def many(counts: dict[int, int]) -> list[Question]:
    hops = [hops for hops, count in counts.items() for _ in range(count)]
    np.random.default_rng(3).shuffle(hops)
    return [Question(f"q{i}", f"text {i}", ("a",), topics=("t",), hops=own) for i, own in enumerate(hops)]


def test_a_sample_has_as_many_of_each_and_keeps_the_order() -> None:
    questions = many({1: 30, 2: 7, 3: 12, 0: 5})
    drawn = sample_by_hops(questions, [1, 2, 3], 7, np.random.default_rng(0))
    assert Counter(question.hops for question in drawn) == {1: 7, 2: 7, 3: 7}
    places = [questions.index(question) for question in drawn]
    assert places == sorted(set(places))
    assert drawn == sample_by_hops(questions, [1, 2, 3], 7, np.random.default_rng(0))
    assert drawn != sample_by_hops(questions, [1, 2, 3], 7, np.random.default_rng(1))


def test_every_question_is_drawn_equally_often() -> None:
    questions = many({1: 6, 2: 3})
    drawn = Counter(q.id for seed in range(600) for q in sample_by_hops(questions, [1], 2, np.random.default_rng(seed)))
    assert len(drawn) == 6
    assert all(150 < count < 250 for count in drawn.values())  # 200 on average, deviation 11.5


def test_too_few_are_refused_and_not_filled_up() -> None:
    with pytest.raises(InputError, match="7 questions take 2 hops, and 8 are wanted: give --each 7"):
        sample_by_hops(many({1: 30, 2: 7}), [1, 2], 8, np.random.default_rng(0))
    with pytest.raises(InputError, match="0 questions take 4 hops, and 1 are wanted: leave that number out"):
        sample_by_hops(many({1: 30}), [1, 4], 1, np.random.default_rng(0))


def test_unknown_hops_are_counted_by_an_index(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps({"id": "a", "question": "x", "answers": ["y"], "topic": ["t"]}) + "\n", encoding="utf-8")
    done = run_clew("questions", "sample", file, "--hops", "2", "--each", "2")
    assert (done.code, done.out) == (2, "")
    assert "none of 1 question says its number of hops: give --index" in done.err


def test_counts_are_those_of_the_tables() -> None:
    sizes = [0, 1, 1, 2, 4, 5, 9, 10, 40]
    questions = [Question(str(i), "x", tuple(map(str, range(n))), hops=i % 3) for i, n in enumerate(sizes)]
    found = count_questions([*questions, Question("twice", "x", ("a", "a"), topics=("t",))])
    assert found.answers == {"0": 1, "1": 3, "2 to 4": 2, "5 to 9": 2, "10 or more": 2}
    assert found.hops == {0: 4, 1: 3, 2: 3}
    assert (found.questions, found.topics, found.paths) == (10, 1, 0)


def test_a_question_reads_back_as_it_was(tmp_path: Path) -> None:
    questions = [
        Question("a", "wo liegt Vardø", ("x", "y"), (), "bridge", 2, ("t", "u"), ((("t", "r", "m"), ("m", "s", "x")),)),
        Question("b", "x", ("y",), ("d1",)),
    ]
    file = tmp_path / "q.jsonl"
    file.write_text("".join(json.dumps(question_json(q)) + "\n" for q in questions), encoding="utf-8")
    assert load_questions(file) == questions


def test_sample_and_stats_by_the_command_line(tmp_path: Path) -> None:
    file = write_questions(tmp_path)
    done = run_clew("questions", "sample", file, "--hops", "3,1", "--each", "1", "--seed", "5")
    assert done.code == 0, done
    out = tmp_path / "sample.jsonl"
    out.write_text(done.out, encoding="utf-8")
    assert [question.hops for question in load_questions(out)] == [1, 3]
    assert run_clew("questions", "sample", file, "--hops", "3,1", "--each", "1", "--seed", "5").out == done.out
    told = run_clew("questions", "stats", file)
    assert told.out.startswith("6 questions, 6 with a topic, 0 with a gold path\n1 hop ")
    assert "33.3 %" in told.out
    assert json.loads(run_clew("questions", "stats", file, "--json").out)["hops"] == {"1": 2, "2": 2, "3": 2}


def test_hops_of_the_graph_replace_those_of_the_set(tmp_path: Path) -> None:
    make_kinship_index(tmp_path)
    records = [
        {"id": f"q{i}", "question": text, "topic": list(topics), "answers": list(answers), "hops": 9}
        for i, (text, topics, answers, _) in enumerate(QUESTIONS)
    ]
    records.append({"id": "x", "question": "who", "topic": ["Alone"], "answers": ["Vardø"]})
    file = tmp_path / "wrong.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    done = run_clew("questions", "stats", file, "--index", tmp_path / "index", "--json")
    assert json.loads(done.out)["hops"] == {"0": 1, "1": 2, "2": 2, "3": 2}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--hops", "1,x"), "--hops is '1,x'"),
        (("--hops", "0"), "--hops is '0'"),
        (("--hops", "1,1"), "--hops is '1,1'"),
        (("--each", "3", "--hops", "1"), "2 questions take 1 hop, and 3 are wanted"),
    ],
)
def test_bad_samples_are_refused(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    done = run_clew("questions", "sample", write_questions(tmp_path), *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_one_id_in_two_files_is_refused(tmp_path: Path) -> None:
    file = write_questions(tmp_path)
    done = run_clew("questions", "stats", file, file)
    assert done.code == 2
    assert "the id 'q0' is in two files" in done.err
