"""Training what `routed` chooses by, as `clew train routed` does it."""

import json
from pathlib import Path

import numpy as np
import pytest

import clew as library
from clew.errors import InputError
from clew.evaluation.runs import execute
from clew.evaluation.scoring import score
from clew.retrievers.registry import parse_retriever
from clew.training.data.corpora import CORPUS_FILE, DEVELOPMENT_FILE, TRAIN_FILE
from clew_lab.datasets.loaders import load_questions
from clew_lab.retrievers.routed.weights import SIGNALS, load_choices
from clew_lab.training.fitting.routing import RoutingRecipe
from clew_lab.training.recipes.routed import observe_choices, train_routed
from tests.faults.commands import run_clew

CHOICES = ("bm25", "pagerank", "naive-ge:base=pagerank,read=3")
RECIPE = RoutingRecipe(cutoff=3)


def silent(stage: str, done: int, total: int) -> None:
    assert stage
    assert done <= total or not total


@pytest.fixture(autouse=True)
def _cheap_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_ENCODER", "hashing")


QUESTIONS = 12
"""Of each file; this module asks all of them of each choice several times."""


@pytest.fixture(scope="module")
def data(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example corpus with its first questions."""
    folder = tmp_path_factory.mktemp("few") / data.name
    folder.mkdir()
    (folder / CORPUS_FILE).symlink_to(data / CORPUS_FILE)
    for name in (TRAIN_FILE, DEVELOPMENT_FILE):
        lines = (data / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:QUESTIONS]), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights trained on it, with the run beside them."""
    folder = tmp_path_factory.mktemp("out") / "weights"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLEW_ENCODER", "hashing")
        weights, result = train_routed([data], [data], folder, CHOICES, RECIPE, silent)
    assert result.questions == QUESTIONS
    names = {name.partition(":")[0] for name in result.figures}
    assert names == {f"polar, {choice}" for choice in ("bm25", "pagerank", "naive-ge", "routed")}
    assert weights == load_choices(folder, tuple(SIGNALS))
    return folder


@pytest.mark.slow
def test_weights_come_out_that_a_search_can_use(data: Path, out: Path) -> None:
    weights = load_choices(out, tuple(SIGNALS))
    assert {choice.retriever for choice in weights.choices} == set(CHOICES)
    assert weights.cutoff == 3
    assert "pagerank" in weights.default_choices
    (folder,) = (out / "run" / "indexes").glob("polar-*")
    evidence = library.open(folder).search(
        "Where was the Fram built?", 3, parse_retriever(f"routed:weights={out},budget=1")
    )
    assert evidence.passages
    assert "recall@3" in evidence.notes[0]
    assert str(data) not in (out / "config.json").read_text(encoding="utf-8")


def test_what_was_observed_is_what_an_evaluation_measures(data: Path, out: Path) -> None:
    seen = observe_choices(data, DEVELOPMENT_FILE, "polar", out / "run", CHOICES, RECIPE, silent)
    (folder,) = (out / "run" / "indexes").glob("polar-*")
    index, questions = library.open(folder), load_questions(data / DEVELOPMENT_FILE)
    assert seen.passages == len(index.snapshot.passage_ids)
    assert seen.signals.shape == (QUESTIONS, len(SIGNALS))
    for column, name in enumerate(CHOICES):
        run = execute(index.retriever(parse_retriever(name), 0), name, questions, 3)
        assert seen.recalls[:, column] == pytest.approx(score(run, questions, (3,)).values["recall@3"])
    assert seen.seconds.shape == (QUESTIONS, 3)
    assert (seen.seconds > 0).all()
    assert (seen.overhead_seconds > 0).all()


def test_the_same_command_again_asks_nothing_and_gives_the_same_weights(data: Path, out: Path) -> None:
    before = (out / "config.json").read_bytes()
    kept = {path: path.stat().st_mtime_ns for path in (out / "run" / "observed").iterdir()}
    assert sorted(path.stem.rpartition("-")[2] for path in kept) == ["found", "found", "seconds", "seconds"]
    train_routed([data], [data], out, CHOICES, RECIPE, silent)
    assert (out / "config.json").read_bytes() == before
    assert {path: path.stat().st_mtime_ns for path in (out / "run" / "observed").iterdir()} == kept


def test_seconds_are_measured_again_without_the_rest(data: Path, out: Path) -> None:
    observed = out / "run" / "observed"
    found = {path: path.stat().st_mtime_ns for path in observed.glob("*-found.npz")}
    for path in observed.glob("*-seconds.npz"):
        path.unlink()
    before = load_choices(out, tuple(SIGNALS))
    after = train_routed([data], [data], out, CHOICES, RECIPE, silent)[0]
    assert {path: path.stat().st_mtime_ns for path in observed.glob("*-found.npz")} == found
    assert {c.name: c.weights for c in after.choices} == {c.name: c.weights for c in before.choices}
    assert after.overhead != before.overhead


@pytest.mark.parametrize("content", [b"", b"PK", b"nothing of the kind"])
def test_observations_that_are_damaged_are_told(data: Path, out: Path, content: bytes) -> None:
    path = sorted((out / "run" / "observed").glob("*-seconds.npz"))[0]
    whole = path.read_bytes()
    path.write_bytes(content)
    try:
        with pytest.raises(InputError, match=r"-seconds\.npz cannot be read .*remove it"):
            train_routed([data], [data], out, CHOICES, RECIPE, silent)
    finally:
        path.write_bytes(whole)


def test_the_command_prints_what_each_choice_is_worth(data: Path, out: Path, tmp_path: Path) -> None:
    done = run_clew(
        *("train", "routed", "--data", data, "--validate", data, "--out", tmp_path / "weights"),
        *("--choices", "pagerank,bm25", "--cutoff", "2", "--penalty", "10", "--kept", "0.9"),
    )
    assert done.code == 0, done.err
    assert "polar, pagerank: recall@2 0." in done.out
    assert "polar, routed: recall@2 0." in done.out
    assert "a second has to buy" in done.out
    weights = load_choices(tmp_path / "weights", tuple(SIGNALS))
    assert {choice.name for choice in weights.choices} == {"bm25", "pagerank"}
    about = json.loads((tmp_path / "weights" / "config.json").read_text(encoding="utf-8"))["about"]
    assert about["questions"] == QUESTIONS
    assert (about["penalty"], about["kept"]) == (10.0, 0.9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--choices", "bm25"), "wanted pagerank among them"),
        (("--choices", "pagerank,routed"), "and not routed"),
        (("--choices", "pagerank,magic"), "no retriever is called 'magic'"),
        (("--choices", "pagerank,gfm"), "read vectors of the encoder"),
        (("--choices", "pagerank,pagerank:x=1"), "has no setting 'x'"),
        (("--penalty", "0"), "wanted above 0"),
        (("--kept", "2"), "--kept is '2'; wanted a number of at most 1"),
    ],
)
def test_what_cannot_be_trained_is_one_line_and_code_2(
    data: Path, out: Path, options: tuple[str, ...], message: str
) -> None:
    done = run_clew("train", "routed", "--data", data, "--out", out, *options)
    assert done.code == 2
    assert message in done.err
    assert done.err.strip().count("\n") == 0


def test_folders_that_lack_something(data: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(
        InputError, match=r"empty has no corpus\.jsonl: give folders with corpus\.jsonl and train\.jsonl"
    ):
        train_routed([empty], [], tmp_path / "out", CHOICES, RECIPE, silent)
    (empty / "corpus.jsonl").write_text('{"id": "a", "title": "Oslo", "text": "A town."}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"empty has no dev\.jsonl"):
        train_routed([data], [empty], tmp_path / "out", CHOICES, RECIPE, silent)
    (empty / TRAIN_FILE).write_text('{"id": "q", "question": "Where?", "gold": []}\n', encoding="utf-8")
    with pytest.raises(InputError, match="no question with gold"):
        train_routed([empty], [], tmp_path / "out", CHOICES, RECIPE, silent)
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="file is a file"):
        train_routed([data], [], tmp_path / "file", CHOICES, RECIPE, silent)


def test_the_questions_learned_from_judge_where_no_folder_does(data: Path, tmp_path: Path) -> None:
    weights, result = train_routed([data], [], tmp_path / "out", CHOICES[:2], RECIPE, silent)
    assert {name.partition(",")[0] for name in result.figures} == {"polar"}
    assert np.isfinite(weights.seconds_price)
