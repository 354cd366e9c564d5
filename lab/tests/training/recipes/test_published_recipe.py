"""`preset=paper` of `gfm`: training on the whole graph with the losses, seeds and steps of GFM-RAG."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import clew
from clew.errors import InputError
from clew.index import Index
from clew.inference.query_network import QueryGNNSettings
from clew.nn.query_gnn import QueryGNN
from clew.query.linking import link_question
from clew.retrievers.gfm.settings import EntityForm
from clew.retrievers.gfm.weights import TextEncoder, TrainedGNN, load_weights, save_weights
from clew.training.data.gfm_examples import GFMExamples, make_examples
from clew.training.hyperparameters import TrainingResult
from clew.training.objectives.document_retrieval import DocumentRetrieval, QuestionBatch
from clew.types import Question
from clew_lab.gfm.published_retriever import GFMPaper
from clew_lab.graph.synonyms import load_synonyms
from clew_lab.training.hyperparameters import CompletionRecipe
from clew_lab.training.objectives.kg_completion import KGCompletion
from clew_lab.training.recipes import gfm
from clew_lab.training.recipes.gfm_graphs import graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe, published_recipe
from clew_lab.training.recipes.networks import query_network_settings
from clew_lab.training.recipes.weight_settings import settings_of_weights
from tests.faults.commands import run_clew
from tests.oracles import gfm_rag

QUESTIONS = (
    Question("a", "Where was the commander of the Vega born?", gold=("vega", "palander")),
    Question("b", "In which province is the town Karlskrona?", gold=("karlskrona", "bridge")),
)


def small_recipe(**changes: object) -> GFMRecipe:
    return replace(published_recipe(), width=8, layers=2, linker="exact", **changes)  # type: ignore[arg-type]


def recipe_of_command(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> GFMRecipe:
    """Return the recipe that a command would train by."""
    seen: list[GFMRecipe] = []

    def keep(_data: object, _validation: object, _out: object, recipe: GFMRecipe, *_: object) -> TrainingResult:
        seen.append(recipe)
        return TrainingResult()

    monkeypatch.setattr("clew_lab.training.recipes.gfm.train_gfm", keep)
    done = run_clew("train", "gfm", "--data", folder, "--out", folder, *options)
    assert done.code == 0, done.err
    return seen[0]


def test_one_word_gives_the_published_recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = recipe_of_command(monkeypatch, tmp_path, "--preset", "paper")
    assert recipe == published_recipe()
    assert (recipe.targets, recipe.width, recipe.layers, recipe.whole_graph, recipe.seeds) == (
        "entities",
        512,
        6,
        True,
        "plain",
    )
    loop, loss = recipe.loop, recipe.loss
    assert (loop.epochs, loop.rate, loop.schedule, loop.decay, loop.warmup, loop.clip, loop.average) == (
        5,
        5e-4,
        "constant",
        0.01,
        0,
        0.0,
        0.0,
    )
    assert (loss.alpha, loss.ranking, loss.augment, loss.batch) == (0.3, "paper", False, 4)
    facts = recipe_of_command(monkeypatch, tmp_path, "--preset", "paper", "--stage", "pretrain")
    assert (facts.loss.alpha, facts.completion.steps, facts.completion.negatives, facts.loop.epochs) == (
        1.0,
        30_000,
        128,
        1,
    )
    code = recipe_of_command(monkeypatch, tmp_path, "--preset", "paper", "--stage", "pretrain", "--ranking", "code")
    assert (code.loss.temperature, code.completion.negatives, code.seeds) == (1.0, 256, "rarity")


def test_every_part_of_the_preset_is_an_option_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (
        "--targets entities --width 512 --layers 6 --whole-graph --seeds plain --linker embedding --linker-floor -1 "
        "--ranker paper "
        "--no-augment --ranking paper --alpha 0.3 --batch 4 --epochs 5 --rate 5e-4 "
        "--schedule constant --decay 0.01 "
        "--warmup 0 --clip 0 --average 0"
    )
    by_options = recipe_of_command(monkeypatch, tmp_path, *text.split())
    published = published_recipe()
    assert replace(by_options, preset="paper", completion=published.completion) == published
    text = text.replace("--no-augment", "--stage pretrain --steps 30000 --negatives 128")
    text = text.replace("--alpha 0.3", "--alpha 1").replace("--epochs 5", "--epochs 1")
    facts, published = recipe_of_command(monkeypatch, tmp_path, *text.split()), published_recipe("pretrain")
    assert replace(facts, preset="paper", loss=replace(facts.loss, augment=False)) == published
    changed = recipe_of_command(monkeypatch, tmp_path, "--preset", "paper", "--width", "128", "--augment")
    assert changed == replace(published_recipe(), width=128, loss=replace(published_recipe().loss, augment=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--preset paper --targets passages", "which --preset paper runs on: add --no-whole-graph, or leave --targets"),
        ("--targets passages --whole-graph", "--whole-graph is for entities or documents as targets"),
        ("--preset paper --features", "--features is for passages as targets, and the targets are entities"),
        ("--preset paper --chains", "--chains is for passages"),
        ("--preset paper --prior", "--prior is for passages"),
        ("--targets entities --features", "--features is for passages"),
        ("--targets entities --chains", "--chains is for passages"),
        ("--seeds plain", "--seeds is for entities or documents as targets, and the targets are passages"),
        ("--ranker paper", "--ranker is for entities as targets, and the targets are passages"),
        ("--targets documents --ranker paper", "--ranker is for entities as targets, and the targets are documents"),
        ("--preset paper --whole-graph --nodes 50", "--whole-graph takes all nodes: leave it or --nodes out"),
        ("--targets entities --stage pretrain --whole-graph --fact-nodes 50", "leave it or --fact-nodes out"),
        ("--ranking listwise --temperature 3", "--temperature is for --ranking code, and the ranking is listwise"),
        ("--preset paper --temperature 3", "and the ranking is paper: leave it out"),
        ("--linker-floor 0.5", "--linker-floor is for a --linker that compares vectors, and the linker is exact"),
        ("--steps 9", "--steps is for --stage pretrain, and the stage is finetune: leave it out"),
        ("--negatives 9", "--negatives is for --stage pretrain, and the stage is finetune"),
        ("--preset paper --fact-nodes 60", "--fact-nodes is for --stage pretrain, and the stage is finetune"),
        ("--stage paths --fact-nodes 60", "--fact-nodes is for --stage pretrain, and the stage is paths"),
        ("--questions 9", "--questions is for --stage paths, and the stage is finetune"),
        ("--stage pretrain --questions 9", "--questions is for --stage paths, and the stage is pretrain"),
        ("--stage paths --fraction 0.5", "--fraction is for --stage finetune, and the stage is paths"),
        ("--stage pretrain --augment", "--augment is for --stage paths or finetune, and the stage is pretrain"),
    ],
)
def test_options_that_a_training_would_not_read_are_refused(tmp_path: Path, options: str, message: str) -> None:
    done = run_clew("train", "gfm", "--data", tmp_path, "--out", tmp_path / "out", *options.split())
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "out").exists()


def test_the_preset_goes_with_passages_without_the_whole_graph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = ("--preset", "paper", "--targets", "passages", "--no-whole-graph")
    recipe = recipe_of_command(monkeypatch, tmp_path, *options)
    assert (recipe.targets, recipe.whole_graph) == ("passages", False)


@pytest.mark.parametrize(
    ("options", "nodes", "fact_nodes"), [("--nodes 50", 50, 50), ("--stage pretrain --fact-nodes 60", 1000, 60)]
)
def test_a_number_of_nodes_leaves_the_whole_graph(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str, nodes: int, fact_nodes: int
) -> None:
    recipe = recipe_of_command(monkeypatch, tmp_path, "--preset", "paper", *options.split())
    assert (recipe.whole_graph, recipe.nodes, recipe.completion.nodes) == (False, nodes, fact_nodes)


def test_weights_of_passages_are_no_start_of_the_preset(small: Index, tmp_path: Path) -> None:
    encoder = TextEncoder(small.context.encoder.name, small.context.encoder.fingerprint)
    shape = QueryGNNSettings(4, small.context.encoder.dimension, 1, learned_inverse=True)
    save_weights(tmp_path / "start", TrainedGNN(QueryGNN(shape).network(), "passages", encoder, 5, ""), {})
    options = ("--preset", "paper", "--start", tmp_path / "start")
    done = run_clew("train", "gfm", "--data", tmp_path, "--out", tmp_path / "out", *options)
    assert done.code == 2
    assert "start score passages, and --preset paper is for entities" in done.err


def test_weights_are_searched_with_the_linker_that_they_were_trained_with(
    small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = clew.open(small_folder)
    encoder = TextEncoder(small.context.encoder.name, small.context.encoder.fingerprint)
    recipe = small_recipe()
    model = QueryGNN(query_network_settings(recipe, small.context.encoder.dimension))
    trained = gfm._trained_network(model, replace(recipe, linker="embedding"), encoder)
    save_weights(tmp_path / "embedding", trained, {})
    assert json.loads((tmp_path / "embedding" / "config.json").read_text())["form"]["linker"] == "embedding"
    assert load_weights(tmp_path / "embedding").form == trained.form
    assert settings_of_weights(tmp_path / "embedding")["linker"] == "embedding"
    save_weights(tmp_path / "exact", gfm._trained_network(model, recipe, encoder), {})
    assert "linker" not in json.loads((tmp_path / "exact" / "config.json").read_text())["form"]

    def notes(index: Index, **settings: object) -> str:
        spec = GFMPaper(**{"preset": "ours", "weights": tmp_path / "embedding", **settings})  # type: ignore[arg-type]
        return " ".join(index.search("Who works at the Naval Shipyard?", 3, spec).notes)

    monkeypatch.setenv("CLEW_LINKER_FLOOR", "0.3")
    low = clew.open(small_folder)
    assert "(cosine " in notes(low)
    assert "(cosine " not in notes(low, linker="exact")
    assert "(cosine " not in notes(low, weights=tmp_path / "exact")
    assert "(cosine " not in notes(low, linker_floor=1.0)
    monkeypatch.delenv("CLEW_LINKER_FLOOR")
    high = clew.open(small_folder)
    assert "(cosine " not in notes(high)
    assert "(cosine " in notes(high, linker_floor=0.3)
    assert "(cosine " in notes(high, preset="paper")
    assert "(cosine " not in notes(high, preset="paper", linker_floor=1.0)
    monkeypatch.setenv("CLEW_LINKER", "exact")
    assert "(cosine " not in notes(clew.open(small_folder))


def test_the_whole_graph_is_for_entities() -> None:
    with pytest.raises(InputError, match="give --targets entities"):
        GFMRecipe(whole_graph=True)


@pytest.fixture(scope="module")
def examples(small: Index) -> GFMExamples:
    return make_examples(graph_view(small.context, small_recipe()), QUESTIONS, augment=False)


@pytest.mark.parametrize("ranking", ["paper", "code"])
def test_the_loss_is_that_of_the_equations_over_all_entities(small: Index, examples: GFMExamples, ranking: str) -> None:
    s = small.snapshot
    torch.manual_seed(0)
    model = QueryGNN(query_network_settings(small_recipe(), examples.relations.shape[1])).eval()
    loss = replace(published_recipe(ranking=ranking).loss, alpha=0.3)  # type: ignore[arg-type]
    objective = DocumentRetrieval([examples], {}, loss)
    computed = objective.loss(model, QuestionBatch(examples, tuple(examples.items), (0, 0)))
    entities = list(s.entities)
    facts = {(entities[h], s.relations[r], entities[t]) for h, r, t in s.triples.tolist() if h != t}
    synonyms = load_synonyms(small.context)
    facts |= {(entities[a], "equivalent", entities[b]) for a in range(len(entities)) for b in synonyms.row(a)}
    expected = []
    for question in QUESTIONS:
        named = [e for name in link_question(s, question.text).linked_names for e in name.entities]
        scores = gfm_rag.logits(
            model.state_dict(),
            2,
            entities,
            sorted(facts),
            torch.from_numpy(small.context.encoder.encode_queries([question.text])[0]),
            {entities[e]: 1.0 for e in named},
            lambda text: torch.from_numpy(small.context.encode_texts([text])[0]),
        )
        ids = list(s.passage_ids)
        right = {entities[e] for id_ in question.gold for e in s.mentions.row(ids.index(id_)).tolist()}
        expected.append(published_loss(scores, right, ranking))
    assert computed is not None
    assert float(computed.detach()) == pytest.approx(np.mean(expected), abs=1e-5)


def published_loss(scores: dict[str, float], right: set[str], ranking: str) -> float:
    """Return 0.3 of the cross-entropy and 0.7 of the ranking loss, of the paper or of its code, one entity a time."""
    p = {entity: 1 / (1 + math.exp(-score)) for entity, score in scores.items()}
    wrong = [entity for entity in scores if entity not in right]
    positive = -sum(math.log(p[e]) for e in right) / len(right)
    if ranking == "paper":
        negative = -sum(math.log(1 - p[e]) for e in wrong) / len(wrong)
        ratio = -sum(p[e] / sum(p[o] for o in wrong) for e in right) / len(right)
        return 0.3 * (positive + negative) + 0.7 * ratio
    total = sum(math.exp(scores[e] / 0.2) for e in wrong)
    negative = -sum(math.exp(scores[e] / 0.2) / total * math.log(1 - p[e]) for e in wrong)
    ratio = -sum(math.log(p[e] / (sum(p.values()) + 1e-5) + 1e-5) for e in right) / len(right)
    return 0.3 * (positive + negative) / 2 + 0.7 * ratio


def test_negatives_of_a_fact_are_of_the_whole_graph(small: Index) -> None:
    recipe = small_recipe(stage="pretrain", completion=CompletionRecipe(steps=2, batch=2, held_out=2))
    facts = gfm._build_facts(graph_view(small.context, recipe), recipe)
    edge = int(facts.queryable_edges[0])
    graph = facts.question_graph(edge)
    count = facts.edges.node_count
    assert graph.nodes.tolist() == list(range(count))
    assert len(graph.edges) == len(facts.edges.relations) - 2
    negatives = set(KGCompletion._negative_nodes(facts, edge, graph).tolist())
    known = {int(facts.edges.senders[edge]), *facts.true_answers(edge).tolist()}
    assert negatives == set(range(count)) - known


def test_weights_trained_by_the_preset_are_searched_as_published(small: Index, tmp_path: Path) -> None:
    recipe = small_recipe()
    width = small.context.encoder.dimension
    model = QueryGNN(query_network_settings(recipe, width))
    encoder = TextEncoder(small.context.encoder.name, small.context.encoder.fingerprint)
    save_weights(tmp_path, gfm._trained_network(model, recipe, encoder), {})
    trained = load_weights(tmp_path)
    assert (trained.nodes, trained.form) == (None, EntityForm("plain", "paper"))
    shape = settings_of_weights(tmp_path)
    assert (shape["whole_graph"], shape["seeds"], shape["ranker"]) == (True, "plain", "paper")
    plain = small.search(QUESTIONS[0].text, 3, GFMPaper(preset="ours", weights=tmp_path))
    preset = small.search(QUESTIONS[0].text, 3, GFMPaper(preset="paper", weights=tmp_path, linker="exact"))
    assert [p.item.id for p in plain.passages] == [p.item.id for p in preset.passages]
    pruned = TrainedGNN(model.network(), "entities", encoder, 5, "")
    save_weights(tmp_path / "pruned", pruned, {})
    whole = small.retriever(GFMPaper(preset="paper", weights=tmp_path / "pruned", seeds="plain", linker="exact"))
    again = whole.retrieve([QUESTIONS[0].text], 3)[0]
    assert [p.item.id for p in again.passages] == [p.item.id for p in preset.passages]


def test_the_preset_needs_weights_of_entities(small: Index, tmp_path: Path) -> None:
    encoder = TextEncoder(small.context.encoder.name, small.context.encoder.fingerprint)
    shape = QueryGNNSettings(4, small.context.encoder.dimension, 1, learned_inverse=True)
    save_weights(tmp_path, TrainedGNN(QueryGNN(shape).network(), "passages", encoder, 5, ""), {})
    with pytest.raises(InputError, match="train gfm --preset paper"):
        small.retriever(GFMPaper(preset="paper", weights=tmp_path, linker="exact"))


def test_published_weights_are_trained_further_with_their_own_encoder(small: Index, tmp_path: Path) -> None:
    encoder = TextEncoder("hashing:24", "", normalize=True)
    torch.manual_seed(0)
    shape = query_network_settings(small_recipe(), 24)
    published = TrainedGNN(QueryGNN(shape).network(), "entities", encoder, None, "", form=EntityForm("rarity", "paper"))
    save_weights(tmp_path / "start", published, {}, half=False)
    data = tmp_path / "small"
    data.mkdir()
    documents = [
        {"id": id_, "title": small.snapshot.titles[p], "text": small.snapshot.passage(p).text}
        for p, id_ in enumerate(small.snapshot.passage_ids)
    ]
    (data / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in documents), encoding="utf-8")
    lines = [json.dumps({"id": q.id, "question": q.text, "gold": list(q.gold)}) + "\n" for q in QUESTIONS]
    (data / "train.jsonl").write_text("".join(lines), encoding="utf-8")
    options = ("--preset", "paper", "--start", tmp_path / "start", "--epochs", "2")
    done = run_clew("train", "gfm", "--data", data, "--out", tmp_path / "out", *options)
    assert done.code == 0, done.err
    tuned = load_weights(tmp_path / "out")
    assert (tuned.encoder, tuned.nodes, tuned.form) == (
        encoder,
        None,
        EntityForm("rarity", "paper", linker="embedding"),
    )
    moved = [float(np.abs(tuned.model.arrays[n] - a).max()) for n, a in published.model.arrays.items()]
    assert 1e-4 < max(moved) < 0.1
    about = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))["about"]
    assert not {"completion", "nodes"} & about.keys()  # no fact was completed, and the graph is whole
    assert (about["whole_graph"], about["stage"]) == (True, "finetune")
    assert "last epoch 2," in done.out  # nothing was compared
    index = clew.open(next((tmp_path / "out" / "run" / "indexes").glob("small-*")))
    assert index.search(QUESTIONS[0].text, 3, GFMPaper(preset="ours", weights=tmp_path / "out")).passages
