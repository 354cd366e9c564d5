"""`clew train reader`, from a tiny BERT model and from a reader, to answers that `clew.Reader` reads."""

import json
from pathlib import Path

import pytest
import torch

import clew
from clew.nn.span_reader import read_body
from clew.training.hyperparameters import ReaderRecipe, Recipe
from clew.training.recipes.reader import QuestionFile, ReaderData, average_with, fit_to_steps, train_reader
from clew.types import ignore_progress
from tests.faults.commands import run_clew
from tests.models.tiny_bert import write_tiny_bert

NAMES = ("ann", "bob", "cid", "dan", "eve", "fay")


def write_questions(path: Path, count: int = 60) -> Path:
    """Write questions that the words after "is" answer."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            name = NAMES[number % len(NAMES)]
            passage = {"title": f"t{number}", "text": f"it is {name}. no more of {number}."}
            row = {"id": str(number), "question": "who is it?", "answers": [name], "passages": [passage], "gold": [0]}
            file.write(json.dumps(row) + "\n")
    return path


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    write_tiny_bert(tmp_path / "bert")
    return tmp_path / "bert"


def test_a_reader_is_trained_and_trained_further(tmp_path: Path, bert: Path) -> None:
    questions = write_questions(tmp_path / "questions.jsonl")
    rate = ("--rate", "0.01", "--batch", "8")
    outcome = run_clew("train", "reader", questions, "--out", tmp_path / "one", "--start", bert, "--epochs", "8", *rate)
    assert outcome.code == 0, outcome.err
    assert "learned from 5" in outcome.out  # a part is held out
    reading = clew.Reader(tmp_path / "one").read("who is it?", [clew.ReaderText("t", "it is gus. no more of 7.")])
    assert 0 <= reading.none <= 1
    assert sum(span.probability for span in reading.spans) + reading.none <= 1 + 1e-6
    assert reading.shown == ((0, 0, 24),)
    again = ("train", "reader", questions, "--out", tmp_path / "two", "--start", tmp_path / "one", "--epochs", "1")
    assert run_clew(*again, *rate).code == 0
    assert not list(tmp_path.glob("*.run"))


def test_a_run_that_was_stopped_goes_on_and_ends_with_the_same_weights(tmp_path: Path, bert: Path) -> None:
    data = ReaderData([QuestionFile(write_questions(tmp_path / "questions.jsonl"))])
    recipe = ReaderRecipe(batch=8, loop=Recipe(epochs=3, rate=0.01))

    def stop_in_second(stage: str, done: int, total: int) -> None:
        if stage == "epoch 2 of 3" and done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_reader(data, bert, tmp_path / "stopped", recipe, stop_in_second)
    stages = []
    train_reader(data, bert, tmp_path / "stopped", recipe, lambda stage, *_: stages.append(stage))
    train_reader(data, bert, tmp_path / "whole", recipe, ignore_progress)
    assert "epoch 1 of 3" not in stages
    stopped, whole = ((tmp_path / name / "model.onnx").read_bytes() for name in ("stopped", "whole"))
    assert stopped == whole


@pytest.mark.parametrize("is_better", [True, False])
def test_the_mean_of_weights_is_kept_where_it_measures_better(bert: Path, *, is_better: bool) -> None:
    model = read_body(bert)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        model.kinds.bias.add_(4)
    figures = average_with(before, model, lambda _: {"F1": 2.0 if is_better else 0.5}, {"F1": 1.0})
    assert figures == {"F1": 2.0 if is_better else 1.0}
    moved = (model.kinds.bias.detach() - before["kinds.bias"]).tolist()
    assert moved == pytest.approx([2.0 if is_better else 4.0] * 4)
    assert torch.equal(model.spans.weight.detach(), before["spans.weight"])


def test_a_short_run_leaves_its_warm_up_and_its_first_weights() -> None:
    loop = ReaderRecipe().loop
    short = fit_to_steps(loop, 8)
    assert short.warmup <= loop.epochs * 8 // 10
    assert short.average ** (loop.epochs * 8) < 0.01  # what the first weights count in the average
    assert fit_to_steps(loop, 10_000) == loop


def test_faults_are_told_in_one_line(tmp_path: Path, bert: Path) -> None:
    questions = write_questions(tmp_path / "questions.jsonl", 12)
    without = tmp_path / "plain.jsonl"
    without.write_text('{"id": "1", "question": "who?", "answers": ["ann"]}\n', encoding="utf-8")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "tokenizer.json").write_text("{}", encoding="utf-8")
    for arguments, fault in (
        ((without, "--out", tmp_path / "out"), "has no passages: give --index"),
        ((questions,), "neither --index nor --out"),
        ((questions, "--out", questions), "is a file; the weights need a folder"),
        ((questions, "--out", tmp_path, "--start", bert), "holds other files than a reader's"),
        ((questions, "--out", tmp_path / "out", "--start", tmp_path), "holds neither a reader nor a BERT model"),
        (
            (questions, "--out", tmp_path / "out", "--start", tmp_path / "broken"),
            "is no file of the tokenizers library",
        ),
    ):
        outcome = run_clew("train", "reader", *arguments)
        assert (outcome.code, fault in outcome.err) == (2, True), outcome.err
    assert not (tmp_path / "out").exists()
