"""Training from folders of data, as `clew train gfm` does it: weights come out that load and stand for a recipe."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.index import Index
from clew.inference.query_network import QueryGNNSettings
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.models.llm.access import LLMClientFactory
from clew.nn.query_gnn import QueryGNN
from clew.query.chain_search import CHAIN_FEATURES
from clew.retrievers.gfm.passage_graphs import FALLBACK_NOTE, FEATURES
from clew.retrievers.gfm.settings import GFM
from clew.retrievers.gfm.weights import TextEncoder, TrainedGNN, load_weights, save_weights
from clew.store.weights_io import PRETRAINED_FOLDER
from clew.training.checkpoint import ProcessGroup, single_process
from clew.training.data.corpora import DEVELOPMENT_FILE, TRAIN_FILE, distinct_names
from clew.training.data.gfm_examples import FORMS, GFMExamples
from clew.training.hyperparameters import AdaptRecipe, Recipe, RetrievalLoss, TrainingResult
from clew.training.loop import train
from clew.training.objectives.document_retrieval import DocumentRetrieval, mean_recall
from clew.training.recipes.gfm_adapt import adapt_gfm
from clew.types import Document
from clew_lab.gfm.published_retriever import GFMPaper
from clew_lab.training.hyperparameters import CompletionRecipe
from clew_lab.training.recipes.gfm import (
    build_examples,
    open_graph_view,
    train_gfm,
)
from clew_lab.training.recipes.gfm_recipe import GFMRecipe, published_recipe
from clew_lab.training.recipes.gfm_runs import describe_recipe, describe_training
from clew_lab.training.recipes.networks import query_network_settings
from clew_lab.training.recipes.weight_settings import settings_of_weights
from tests.devices import DEVICES
from tests.faults.commands import run_clew
from tests.small_index import make_index

ENCODER = DEFAULT_ENCODER
RECIPE = GFMRecipe(width=16, layers=2, nodes=80, questions=60, loop=Recipe(epochs=2, average=0.5))


def silent(stage: str, done: int, total: int) -> None:
    assert stage
    assert done <= total or not total


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights trained on it, with the run beside them."""
    folder = tmp_path_factory.mktemp("out")
    train_gfm([data], [data], folder, RECIPE, silent)
    return folder


@pytest.fixture(scope="module")
def questions(data: Path, out: Path) -> GFMExamples:
    return build_examples(open_graph_view(data, out / "run", RECIPE, silent), data, TRAIN_FILE, RECIPE, silent)


@pytest.mark.slow
def test_weights_come_out_that_say_what_they_are(data: Path, out: Path) -> None:
    trained = load_weights(out)
    assert (trained.model.settings.width, trained.nodes) == (16, 80)
    about = json.loads((out / "config.json").read_text(encoding="utf-8"))["about"]
    assert about["data"] == about["validation"] == ["polar"]
    assert about["questions"] == 30
    assert str(data) not in (out / "config.json").read_text(encoding="utf-8")


def test_the_same_command_again_trains_nothing_and_gives_the_same_weights(data: Path, out: Path) -> None:
    before = load_weights(out).key
    result = train_gfm([data], [data], out, RECIPE, silent)
    assert load_weights(out).key == before
    (log,) = (out / "run").glob("state-*/log.jsonl")
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2
    assert result.figures["mean"] > 0.5


def test_every_question_is_laid_out_in_every_form(questions: GFMExamples) -> None:
    assert len(questions.items) == 30
    for item in questions.items:
        assert len(item.graphs) == len(item.vectors) == len(FORMS)
        whole, _, some, none = item.graphs
        assert item.relevant[0].sum() <= sum(map(len, item.gold))
        assert FALLBACK_NOTE in none.notes or not none.seeds.any()
        assert set(some.nodes[(some.seeds > 0) & (FALLBACK_NOTE not in some.notes)]) <= set(
            whole.nodes[whole.seeds > 0]
        )
        assert len(whole.nodes) <= 80 + 10
    assert np.mean([item.relevant[0].sum() / len(item.gold) for item in questions.items]) > 0.9


def test_steps_lower_the_loss(questions: GFMExamples) -> None:
    torch.manual_seed(0)
    settings = network_settings(questions)
    model, objective = QueryGNN(settings), DocumentRetrieval([questions], {"polar": questions}, RetrievalLoss())
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for epoch in range(6):
        assert len(list(objective.batches(epoch))) == len(objective) == 4
        for batch in objective.batches(0):
            loss = objective.loss(model, batch)
            assert loss is not None
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(float(loss.detach()))
    assert np.mean(losses[-4:]) < 0.7 * np.mean(losses[:4])
    figures = objective.validate(model)
    assert figures["mean"] == pytest.approx((figures["polar recall@2"] + figures["polar recall@5"]) / 2)
    assert mean_recall(model, questions, (2, 5)) == pytest.approx(
        [figures["polar recall@2"], figures["polar recall@5"]]
    )


def test_steps_in_bfloat16_go_where_those_in_float32_go(questions: GFMExamples, tmp_path: Path) -> None:
    gradients, losses = [], []
    for enabled in (False, True):
        torch.manual_seed(0)
        model = QueryGNN(network_settings(questions))
        with torch.no_grad():
            for parameter in model.parameters():  # an untrained network has the scores of its prior alone
                parameter.add_(0.05 * torch.randn_like(parameter))
        objective = DocumentRetrieval([questions], {}, RetrievalLoss())
        batch = next(iter(objective.batches(0)))
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = objective.loss(model, batch)
        assert loss is not None
        assert loss.dtype == torch.float32
        loss.backward()  # type: ignore[no-untyped-call]
        rows = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        gradients.append(torch.cat(rows))
        losses.append(float(loss.detach()))
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert float(torch.cosine_similarity(gradients[0], gradients[1], dim=0)) > 0.99
    done = []
    for dtype in ("float32", "bfloat16"):
        torch.manual_seed(0)
        model = QueryGNN(replace(network_settings(questions), prior=False))  # knows no ranking to start from
        objective = DocumentRetrieval([questions], {"polar": questions}, RetrievalLoss())
        recipe = Recipe(epochs=6, rate=5e-3, warmup=1, average=0.0)
        folder = tmp_path / dtype
        done.append(train(model, objective, recipe, folder, silent, single_process("cpu"), dtype))
        assert all(p.dtype == torch.float32 and bool(torch.isfinite(p).all()) for p in model.parameters())
    assert done[1].figures["mean"] > done[1].initial_figures["mean"]
    assert done[1].figures["mean"] == pytest.approx(done[0].figures["mean"], abs=0.1)
    with pytest.raises(InputError, match="holds a run of"):
        train(model, objective, recipe, tmp_path / "bfloat16", silent, single_process("cpu"))


def test_the_numbers_of_steps_are_an_option_and_runs_of_before_go_on() -> None:
    plain, half = describe_recipe(RECIPE), describe_recipe(replace(RECIPE, dtype="bfloat16"))
    assert "dtype" not in plain
    assert half == {**plain, "dtype": "bfloat16"}
    with pytest.raises(InputError, match="dtype is 'float16': wanted float32 or bfloat16"):
        replace(RECIPE, dtype="float16")  # type: ignore[arg-type]


def test_weights_tell_what_their_stage_read() -> None:
    """Fine-tuning told of 30,000 steps of facts that it had not run, and of a thousand nodes beside a whole graph."""
    facts = describe_training(published_recipe("pretrain"))
    assert facts["completion"] == {"steps": 30_000, "batch": 4, "negatives": 128, "held_out": 100}
    assert not {"nodes", "fraction", "questions"} & facts.keys()
    assert facts["loss"] == {"alpha": 1.0, "ranking": "paper", "batch": 4}
    assert {"nodes", "fraction"} < describe_training(RECIPE).keys()
    assert not {"completion", "questions"} & describe_training(RECIPE).keys()
    assert "questions" in describe_training(replace(RECIPE, stage="paths"))
    assert {"temperature", "augment"} <= describe_training(published_recipe(ranking="code"))["loss"].keys()


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_trains_what_the_processor_trains(questions: GFMExamples, tmp_path: Path, device: str) -> None:
    weights: list[dict[str, torch.Tensor]] = []
    for place in ("cpu", device):
        torch.manual_seed(0)
        model = QueryGNN(network_settings(questions))
        objective = DocumentRetrieval([questions], {"polar": questions}, RetrievalLoss())
        recipe = Recipe(epochs=1, warmup=1, average=0.0)
        done = train(model, objective, recipe, tmp_path / str(len(weights)), silent, single_process(place))
        assert done.best_epoch >= -1
        weights.append(model.state_dict())
    for name, value in weights[0].items():
        assert weights[1][name].device.type == "cpu"
        torch.testing.assert_close(weights[1][name], value, rtol=0, atol=0 if device == "cpu" else 1e-3)


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_adapting_trains_on_the_device_of_the_option(
    polar: Index, tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(
        model: object, objective: object, recipe: object, run: Path, progress: object, group: ProcessGroup
    ) -> None:
        raise InputError(f"would train on {group.device}")

    monkeypatch.setattr("clew.training.recipes.gfm_adapt.train", stop)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    place = polar.table.location.name
    weights = tmp_path / "weights"
    raw = QueryGNN(query_network_settings(RECIPE, 384))
    encoder = TextEncoder(polar.context.encoder.name, polar.context.encoder.fingerprint)
    save_weights(weights, TrainedGNN(raw.network(), "passages", encoder, 80, "", chains=True), {})
    options = ("--questions", "20", "--device", device)
    done = run_clew("adapt", "--index", place, "--start", weights, "--out", tmp_path / "out", *options)
    assert done.err.splitlines()[-1] == f"clew: would train on {device}"


def network_settings(questions: GFMExamples) -> QueryGNNSettings:
    features = len(FEATURES) + len(CHAIN_FEATURES)
    return QueryGNNSettings(16, questions.relations.shape[1], 2, features, prior=True, learned_inverse=True)


def test_batches_are_of_one_index_and_the_same_for_a_seed(questions: GFMExamples) -> None:
    other = replace(questions, items=questions.items[:5])
    objective = DocumentRetrieval([questions, other], {}, RetrievalLoss(batch=4))
    one, same, different = (list(objective.batches(seed)) for seed in (3, 3, 4))
    assert [b.items for b in one] == [b.items for b in same]
    assert [b.forms for b in one] != [b.forms for b in different]
    assert all(b.source is questions or b.source is other for b in one)
    assert sum(len(b.items) for b in one) == 35


@pytest.mark.parametrize(
    ("wrong", "message"), [({"alpha": 1.5}, "alpha"), ({"ranking": "best"}, "listwise"), ({"batch": 0}, "at least 1")]
)
def test_losses_that_are_none_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RetrievalLoss(**wrong)  # type: ignore[arg-type]


def test_folders_that_lack_something(data: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    done = run_clew("train", "gfm", "--data", empty, "--out", tmp_path / "out")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "corpus.jsonl" in done.err
    (empty / "corpus.jsonl").write_text('{"id": "a", "title": "Oslo", "text": "Oslo."}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.jsonl"):
        train_gfm([empty], [], tmp_path / "out", RECIPE, silent)
    question = {"id": "q", "question": "Where is Oslo?", "answers": ["x"], "gold": ["nowhere"]}
    (empty / "train.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="nowhere"):
        train_gfm([empty], [], tmp_path / "out", RECIPE, silent)
    assert not (tmp_path / "out" / "model.safetensors").exists()


FACTS = replace(RECIPE, stage="pretrain", loss=RetrievalLoss(1.0), completion=CompletionRecipe(10, 4, 16, 20, 60))


@pytest.mark.parametrize("targets", ["passages", "entities"])
@pytest.mark.parametrize("stage", ["pretrain", "paths", "finetune"])
@pytest.mark.slow
def test_every_stage_for_both_kinds_of_network(data: Path, out: Path, tmp_path: Path, stage: str, targets: str) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "indexes").symlink_to(out / "run" / "indexes")
    recipe = replace(FACTS if stage == "pretrain" else RECIPE, stage=stage, targets=targets)  # type: ignore[arg-type]
    judged = []
    if (stage, targets) == ("pretrain", "passages"):  # what judges the facts may be another index
        judged = [tmp_path / "bare"]
        judged[0].mkdir()
        (judged[0] / "corpus.jsonl").write_bytes((data / "corpus.jsonl").read_bytes())
    result = train_gfm([data], judged, tmp_path, recipe, silent)
    trained = load_weights(tmp_path)
    assert trained.targets == targets
    assert trained.model.settings == query_network_settings(recipe, 384)
    assert bool(result.figures) == (stage != "finetune")
    assert not judged or result.figures["reciprocal rank"] > 0
    about = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["about"]
    assert about["stage"] == stage
    evidence = Index(open_run_index(out).table, LLMClientFactory()).search(
        "Who founded the school where the boat James Caird is kept today?",
        3,
        GFM(weights=tmp_path) if targets == "passages" else GFMPaper(weights=tmp_path),
    )
    assert len(evidence.passages) == 3


def open_run_index(out: Path) -> Index:
    from clew.index import open as open_index

    (place,) = (out / "run" / "indexes").glob("polar-*")
    return open_index(place)


def test_training_goes_on_from_weights_of_the_same_shape(data: Path, out: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "indexes").symlink_to(out / "run" / "indexes")
    assert settings_of_weights(out)["width"] == 16
    recipe = replace(RECIPE, start=out, loop=Recipe(epochs=1, rate=1e-9, average=0.0))
    train_gfm([data], [], tmp_path, recipe, silent)
    before, after = load_weights(out).model.arrays, load_weights(tmp_path).model.arrays
    assert all(np.allclose(before[name], after[name], atol=1e-3) for name in before)
    with pytest.raises(InputError, match="width 16, not 8: give weights of the same shape"):
        train_gfm([data], [], tmp_path, replace(recipe, width=8), silent)


@pytest.mark.slow
def test_other_data_is_another_run(data: Path, tmp_path: Path) -> None:
    changing, same = tmp_path / "one" / "polar", tmp_path / "other" / "polar"
    for folder in (changing, same):
        folder.mkdir(parents=True)
        for name in ("corpus.jsonl", TRAIN_FILE):
            (folder / name).write_bytes((data / name).read_bytes())
    assert set(distinct_names([changing, same]).values()) == {"one/polar", "other/polar"}
    assert distinct_names([changing, changing])[changing] == "polar"
    alike = [tmp_path / first / "data" / "polar" for first in "ab"]
    assert set(distinct_names(alike).values()) == {"a/data/polar", "b/data/polar"}
    recipe = replace(RECIPE, loop=Recipe(epochs=1))
    train_gfm([changing], [], tmp_path / "out", recipe, silent)
    first = load_weights(tmp_path / "out").key
    lines = (data / TRAIN_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    (changing / TRAIN_FILE).write_text("".join(lines[:5]), encoding="utf-8")
    train_gfm([changing], [], tmp_path / "out", recipe, silent)
    assert load_weights(tmp_path / "out").key != first
    documents = (data / "corpus.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (changing / "corpus.jsonl").write_text("".join(documents[:-1]), encoding="utf-8")
    counts = [
        len(open_graph_view(f, tmp_path / "out" / "run", RECIPE, silent).snapshot.passage_ids) for f in (changing, same)
    ]
    assert counts == [len(documents) - 1, len(documents)]


@pytest.mark.parametrize(
    ("name", "value"), [("CLEW_ENCODER", "hashing:384"), ("CLEW_EXTRACTOR", "published:{folder}/openie.json")]
)
def test_an_index_of_another_encoder_or_extractor_is_never_taken(
    data: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "indexes").symlink_to(out / "run" / "indexes")
    before = {path.name for path in (out / "run" / "indexes").glob("polar-*")}
    monkeypatch.setenv(name, value.format(folder=tmp_path))
    if name == "CLEW_EXTRACTOR":
        with pytest.raises(InputError, match="openie"):
            open_graph_view(data, tmp_path / "run", RECIPE, silent)
    else:
        view = open_graph_view(data, tmp_path / "run", RECIPE, silent)
        assert view.encoder.name == "hashing:384"
    monkeypatch.delenv(name)
    assert open_graph_view(data, tmp_path / "run", RECIPE, silent).encoder.name == ENCODER
    for path in (out / "run" / "indexes").iterdir():
        if path.name.strip(".").removesuffix(".whole") not in before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize(
    ("options", "nodes", "fact_nodes"),
    [
        ((), 100, 100),
        (("--targets", "entities"), 1000, 250),
        (("--nodes", "5000"), 5000, 5000),
        (("--nodes", "5000", "--fact-nodes", "300"), 5000, 300),
    ],
)
def test_nodes_of_a_facts_graph_are_not_cut_in_silence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: tuple[str, ...], nodes: int, fact_nodes: int
) -> None:
    seen: list[GFMRecipe] = []

    def keep(_data: object, _validation: object, _out: object, recipe: GFMRecipe, *_: object) -> TrainingResult:
        seen.append(recipe)
        return TrainingResult()

    monkeypatch.setattr("clew_lab.training.recipes.gfm.train_gfm", keep)
    done = run_clew("train", "gfm", "--data", tmp_path, "--out", tmp_path, "--stage", "pretrain", *options)
    assert done.code == 0, done.err
    assert (seen[0].nodes, seen[0].completion.nodes) == (nodes, fact_nodes)
    assert (seen[0].loss.temperature, RetrievalLoss().temperature) == (1.0, 0.2)


def test_gold_entities_outside_the_pruned_graph_are_counted_and_told(data: Path, out: Path, tmp_path: Path) -> None:
    recipe = replace(RECIPE, targets="entities", nodes=5)
    view = open_graph_view(data, out / "run", recipe, silent)
    examples = build_examples(view, data, TRAIN_FILE, recipe, silent)
    gold = [
        {e for passages in item.gold for p in passages for e in view.snapshot.mentions.row(p).tolist()}
        for item in examples.items
    ]
    assert [item.gold_nodes for item in examples.items] == [len(one) for one in gold]
    outside = [len(one - set(item.graphs[0].nodes.tolist())) for one, item in zip(gold, examples.items, strict=True)]
    assert [item.gold_nodes_outside for item in examples.items] == outside
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "indexes").symlink_to(out / "run" / "indexes")
    options = ("--targets", "entities", "--nodes", "5", "--width", "8", "--layers", "1", "--epochs", "1")
    done = run_clew("train", "gfm", "--data", data, "--out", tmp_path, *options)
    assert f"{sum(outside)} of {sum(map(len, gold))} gold entities" in done.out
    about = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["about"]
    assert about["gold nodes outside the graphs"] == sum(outside) > 0
    assert "last epoch 1," in done.out  # nothing was compared
    assert about["best epoch"] == 1


def test_what_cannot_be_a_place_for_weights(data: Path, out: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="is a file"):
        train_gfm([data], [], file, RECIPE, silent)
    with pytest.raises(InputError, match="is a file"):
        adapt_gfm(open_run_index(out), out, file, AdaptRecipe(), silent)


def test_a_share_of_the_questions(data: Path, out: Path) -> None:
    ground = open_graph_view(data, out / "run", RECIPE, silent)
    few = build_examples(ground, data, TRAIN_FILE, replace(RECIPE, fraction=0.2), silent)
    assert len(few.items) == 6
    assert len(build_examples(ground, data, DEVELOPMENT_FILE, replace(RECIPE, fraction=0.2), silent).items) == 30


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"stage": "learn"}, "pretrain, paths or finetune"),
        ({"targets": "words"}, "passages, entities or documents"),
        ({"message": "rotate"}, "distmult"),
        ({"aggregate": "max"}, "mean"),
        ({"fraction": 0.0}, "above 0"),
        ({"width": 0}, "at least 1"),
    ],
)
def test_recipes_that_are_none(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(RECIPE, **wrong)  # type: ignore[arg-type]


@pytest.mark.slow
def test_adapting_keeps_what_wins_and_nothing_else(data: Path, out: Path, tmp_path: Path) -> None:
    index = open_run_index(out)
    recipe = AdaptRecipe(questions=40, loop=Recipe(epochs=1, rate=1e-3, average=0.5))
    won = adapt_gfm(index, PRETRAINED_FOLDER / "gfm", tmp_path / "won", recipe, silent)
    assert (won.questions, won.held_out) == (32, 8)
    assert (won.best_epoch >= 0) == (won.figures["mean"] > won.initial_figures["mean"])
    assert (won.best_epoch >= 0) == (tmp_path / "won").exists()
    torch.manual_seed(0)
    raw = QueryGNN(
        query_network_settings(replace(RECIPE, prior=False), 384)
    )  # knows nothing, and has no ranking to start from
    save_weights(
        tmp_path / "raw", TrainedGNN(raw.network(), "passages", load_weights(out).encoder, 80, "", chains=True), {}
    )
    longer = replace(recipe, loop=Recipe(epochs=4, rate=5e-3, average=0.5))
    learnt = adapt_gfm(index, tmp_path / "raw", tmp_path / "learnt", longer, silent)
    assert learnt.figures["mean"] > learnt.initial_figures["mean"]
    assert learnt.best_epoch >= 0
    assert load_weights(tmp_path / "learnt").key != load_weights(tmp_path / "raw").key
    useless = replace(recipe, loop=Recipe(epochs=1, rate=1e-12, average=0.0))
    lost = adapt_gfm(index, PRETRAINED_FOLDER / "gfm", tmp_path / "lost", useless, silent)
    assert lost.best_epoch == -1
    assert lost.initial_figures == lost.figures
    assert not (tmp_path / "lost").exists()


@pytest.mark.slow
def test_labelled_questions_are_learned_too_and_some_are_held_out(data: Path, out: Path, tmp_path: Path) -> None:
    index = open_run_index(out)
    recipe = AdaptRecipe(questions=40, loop=Recipe(epochs=1, rate=1e-3, average=0.5))
    done = adapt_gfm(index, PRETRAINED_FOLDER / "gfm", tmp_path / "out", recipe, silent, labelled=data / TRAIN_FILE)
    assert {"held out recall@2", "labelled recall@2"} <= done.figures.keys()
    few = tmp_path / "few.jsonl"
    few.write_text((data / TRAIN_FILE).read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="made or given: 1"):
        adapt_gfm(index, PRETRAINED_FOLDER / "gfm", tmp_path / "other", recipe, silent, labelled=few)
    stages: list[str] = []
    with pytest.raises(InputError, match="nowhere"):
        adapt_gfm(
            index,
            PRETRAINED_FOLDER / "gfm",
            tmp_path / "other",
            recipe,
            lambda stage, *_: stages.append(stage),
            labelled=tmp_path / "nowhere.jsonl",
        )
    assert stages == []  # before any work


def test_weights_of_another_encoder_are_not_adapted(tmp_path: Path) -> None:
    index = make_index(tmp_path / "index", [Document("a", "Oslo", "Oslo lies in Norway.")])
    with pytest.raises(InputError, match="and the index was made with hashing"):
        adapt_gfm(index, PRETRAINED_FOLDER / "gfm", tmp_path / "out", AdaptRecipe(), silent)


def test_documents_that_do_not_touch_give_no_questions(tmp_path: Path) -> None:
    index = make_index(
        tmp_path / "index", [Document("a", "Oslo", "It rains."), Document("b", "Rome", "It is hot.")], ENCODER
    )
    with pytest.raises(InputError, match="no name joins"):
        adapt_gfm(index, PRETRAINED_FOLDER / "gfm", tmp_path / "out", AdaptRecipe(), silent)


@pytest.mark.slow
def test_two_processes_train_one_model(data: Path, out: Path, tmp_path: Path) -> None:
    """As `torchrun` starts them: the first alone writes, and each takes every second one of three batches."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "indexes").symlink_to(out / "run" / "indexes")
    few = tmp_path / "polar"
    few.mkdir()
    (few / "corpus.jsonl").symlink_to(data / "corpus.jsonl")
    for name, count in ((TRAIN_FILE, 20), (DEVELOPMENT_FILE, 5)):
        lines = (data / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (few / name).write_text("".join(lines[:count]), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "clew"]
    folders = ("--data", few, "--validate", few, "--out", tmp_path)
    options = [*map(str, folders), "--width", "16", "--epochs", "2", "--device", "cpu"]
    done = subprocess.run([*command, "train", "gfm", *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("weights in") == 1
    assert load_weights(tmp_path).model.settings.width == 16
    (log,) = (tmp_path / "run").glob("state-*/log.jsonl")
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2
