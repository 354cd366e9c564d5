"""`preset=paper` of `g-rag`: AMR counted as published, and networks whose edges stay alive, held to loops."""

from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from clew.errors import InputError
from clew.inference.document_network import NORMALIZATIONS, DocumentGNNSettings, DocumentInput, normalise_edges
from clew.models.encoders.hashing import HashingEncoder
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.rerankers.g_rag.weights import FeatureColumns
from clew.store.weights_io import PRETRAINED_FOLDER
from clew.training.hyperparameters import TrainingResult
from clew_lab.amr.amr_document_graph import AMRDocumentGraphBuilder
from clew_lab.amr.graph import AMRGraph, count_common_parts
from clew_lab.amr.local_parser import LocalAMRParser
from clew_lab.amr.reranker import load_any_reranker
from clew_lab.evaluation.multi_positive_metrics import compute_multi_positive_measures, rank_positives
from clew_lab.nn.document_gnn import DocumentBatch, DocumentGNN, normalize_edges
from clew_lab.training.data.reranking_pools import PoolExample
from clew_lab.training.hyperparameters import RerankLoss
from clew_lab.training.objectives.reranking import Reranking, figures_by_set
from clew_lab.training.recipes.networks import build_document_network
from clew_lab.training.recipes.rerank_recipe import RerankRecipe, published_rerank_recipe
from lab.tests.amr.test_amr_document_graph import PASSAGES, POOL
from tests.faults.commands import run_clew

Array = NDArray[np.float64]
ENCODER = HashingEncoder(32)
TEXT, WIDTH = 16, 8
PUBLISHED = DocumentGNNSettings(
    TEXT, network="g-rag", width=WIDTH, messages="weighted", edge_rule="gated", projection=False
)
LATER = ("normalization", "messages", "edge_rule", "projection", "weighted")


def make_input(n: int = 7, seed: int = 0, density: float = 0.6) -> DocumentInput:
    random = np.random.default_rng(seed)
    counts = random.integers(1, 6, (n, n, 2)) * (random.random((n, n, 1)) < density)
    counts = np.triu(counts.transpose(2, 0, 1), 1)
    edges = (counts + counts.transpose(0, 2, 1)).transpose(1, 2, 0).astype(np.float32)
    edges[-1] = edges[:, -1] = 0
    vectors, question = random.normal(size=(n, TEXT)), random.normal(size=TEXT)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question /= np.linalg.norm(question)
    return DocumentInput(vectors.astype(np.float32), np.zeros((n, 0), np.float32), edges, question.astype(np.float32))


def make_model(settings: DocumentGNNSettings, seed: int = 0) -> DocumentGNN:
    torch.manual_seed(seed)
    return DocumentGNN(settings).eval()


# The update of edges


def recipe_network(**changed: Any) -> RerankRecipe:
    return replace(RerankRecipe(kind="amr", numbers=False, text=True, chains=False, network="g-rag"), **changed)


def edges_after_first_layer(recipe: RerankRecipe, seed: int, pool: DocumentInput) -> tuple[torch.Tensor, DocumentGNN]:
    model = build_document_network(replace(recipe, loop=replace(recipe.loop, seed=seed)), TEXT).train(mode=False)
    batch = DocumentBatch.from_inputs([pool])
    edges = normalize_edges(batch.edges, model.settings.normalization)
    return model.layers[0](model._initial_states(batch), edges)[1], model


def spread(edges: NDArray[np.float32]) -> float:
    """Return the coefficient of variation of the weights of edges."""
    weights = edges.sum(-1)[(edges > 0).any(-1)]
    return float(weights.std() / weights.mean())


@pytest.mark.parametrize("preset", ["ours", "paper"])
def test_the_edges_of_no_network_die(preset: str) -> None:
    """A ReLU of a linear layer set all edges to 0 in one network of six, and its gradient was exactly 0."""
    pool = make_input(60, density=0.9)
    recipe = recipe_network() if preset == "ours" else replace(published_rerank_recipe(), width=WIDTH)
    before = normalise_edges(pool.edges, recipe.normalization)
    alive = (before > 0).any(-1)
    for seed in range(30):
        edges, model = edges_after_first_layer(recipe, seed, pool)
        assert ((edges[0] > 0).any(-1).numpy() == alive).all()
        assert spread(edges[0].detach().numpy()) > 0.3 * spread(before), "edges of different weights stay different"
        model(DocumentBatch.from_inputs([pool])).square().sum().backward()
        gradient = dict(model.named_parameters())["layers.0.edge_update.weight"].grad
        assert gradient is not None
        assert gradient.abs().sum() > 0
    relu = replace(recipe, edge_rule="relu")
    assert any(not edges_after_first_layer(relu, seed, pool)[0].any() for seed in range(60)), "as it was"


# The network by loops


def sigmoid(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))


def slow_normalise(edges: Array, normalization: str) -> Array:
    n, _, features = edges.shape
    result = np.zeros_like(edges)
    for m in range(features):
        one = edges[:, :, m]
        rows = np.array([[one[i, j] / one[i].sum() if one[i, j] else 0.0 for j in range(n)] for i in range(n)])
        for i, j in product(range(n), repeat=2):
            if normalization == "root":
                result[i, j, m] = one[i, j] / np.sqrt(one[i].sum() * one[:, j].sum()) if one[i, j] else 0.0
            elif normalization == "dimensions":
                result[i, j, m] = rows[i, j] / rows[:, j].sum() if rows[i, j] else 0.0
            else:
                shared = (k for k in range(n) if rows[i, k] and rows[j, k])
                result[i, j, m] = sum(rows[i, k] * rows[j, k] / rows[:, k].sum() for k in shared)
    return result


def slow_scores(model: DocumentGNN, pool: DocumentInput) -> Array:
    """Equations 7 to 11 over all pairs of passages; the question is not projected, the last layer linear."""
    settings = model.settings
    w = {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}
    states, edges = (
        pool.vectors.astype(float) * TEXT**0.5,
        slow_normalise(pool.edges.astype(float), settings.normalization),
    )
    n = len(states)
    for layer in range(settings.layers):
        name, last = f"layers.{layer}", layer == settings.layers - 1
        near = [[u for u in range(n) if (edges[v, u] > 0).any()] for v in range(n)]
        after, changed = [], np.zeros_like(edges)
        for v in range(n):
            divisor = len(near[v]) if settings.messages == "divided" else 1
            message = sum((edges[v, u].sum() * states[u] / divisor for u in near[v]), np.zeros(states.shape[1]))
            row = w[f"{name}.update.weight"] @ np.concatenate([states[v], message]) + w[f"{name}.update.bias"]
            after.append(row if last else np.maximum(row, 0))
            for u in [] if last else near[v]:
                mean = sum((edges[x, u] for x in near[v]), np.zeros(2)) / len(near[v])
                both = np.concatenate([edges[v, u], mean]) * len(near[v])
                logits = w[f"{name}.edge_update.weight"] @ both + w[f"{name}.edge_update.bias"]
                changed[v, u] = edges[v, u] * 2 * sigmoid(logits)
        states, edges = np.array(after), changed
    return np.asarray(states @ pool.question.astype(float) * TEXT**0.5)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_normalization_equals_loops(normalization: str) -> None:
    pool = make_input(9)
    expected = slow_normalise(pool.edges.astype(float), normalization)
    np.testing.assert_allclose(normalise_edges(pool.edges, normalization), expected, atol=1e-6)
    by_torch = normalize_edges(torch.from_numpy(pool.edges)[None], normalization)[0].numpy()
    np.testing.assert_allclose(by_torch, expected, atol=1e-6)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("messages", ["divided", "weighted"])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_published_network_equals_loops(normalization: str, messages: str, layers: int) -> None:
    model = make_model(replace(PUBLISHED, normalization=normalization, messages=messages, layers=layers))
    pool = make_input()
    expected = slow_scores(model, pool)
    np.testing.assert_allclose(model.scores(pool), expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.network().scores(pool), expected, rtol=1e-3, atol=1e-4)


def test_an_mlp_of_the_same_build_has_no_messages() -> None:
    model = make_model(replace(PUBLISHED, network="mlp"))
    pool = make_input()
    np.testing.assert_allclose(model.network().scores(pool), model.scores(pool), rtol=1e-4, atol=1e-4)
    without = replace(pool, edges=np.zeros_like(pool.edges))
    assert model.scores(without).tolist() == model.scores(pool).tolist()
    assert {name.rsplit(".", 2)[-2] for name in model.state_dict()} == {"own"}


def test_a_network_without_a_projection_reads_no_numbers_and_no_relations() -> None:
    for wrong in ({"numbers": 3}, {"network": "relational"}):
        with pytest.raises(InputError, match="without a projection"):
            replace(PUBLISHED, **wrong)


@pytest.mark.parametrize("projection", [True, False])
@pytest.mark.parametrize("network", ["gcn", "gat", "sage", "gin"])
def test_weights_of_edges_are_read(network: str, projection: bool) -> None:
    """Only whether two passages are joined was read, although the appendix keeps equation 8's weights."""
    pool = make_input()
    other = pool.edges.copy()
    first = tuple(np.argwhere(other[..., 0])[0])
    other[(*first, slice(None))] *= 9
    shape = DocumentGNNSettings(TEXT, network=network, width=WIDTH, projection=projection)
    for weighted in (True, False):
        model = make_model(replace(shape, weighted=weighted))
        changed = model.scores(replace(pool, edges=other)) - model.scores(pool)
        assert bool(np.abs(changed).max() > 1e-5) is weighted


def test_gcn_and_gin_equal_dense_matrices() -> None:
    pool = make_input()
    weights = normalise_edges(pool.edges).sum(-1).astype(float)
    states = pool.vectors.astype(float) * TEXT**0.5
    shape = DocumentGNNSettings(TEXT, network="gcn", width=WIDTH, layers=1, projection=False, weighted=True)
    gcn = make_model(shape)
    w = {name: tensor.double().numpy() for name, tensor in gcn.state_dict().items()}
    loops = weights + np.eye(len(weights))
    roots = 1 / np.sqrt(loops.sum(1))
    expected = (roots[:, None] * loops * roots) @ states @ w["layers.0.convolution.lin.weight"].T
    expected = (expected + w["layers.0.convolution.bias"]) @ pool.question * TEXT**0.5
    np.testing.assert_allclose(gcn.scores(pool), expected, rtol=1e-3, atol=1e-4)
    gin = make_model(replace(shape, network="gin"))
    layer: Any = gin.layers[0]
    network: Any = layer.convolution.nn
    degree = np.maximum((weights > 0).sum(1, keepdims=True), 1)
    mixed = torch.from_numpy((states + weights @ states / degree).astype(np.float32))
    with torch.no_grad():
        expected = network(mixed).numpy() @ pool.question * TEXT**0.5
    np.testing.assert_allclose(gin.scores(pool), expected, rtol=1e-3, atol=1e-4)


def test_weights_stored_before_stay_as_they_are() -> None:
    for network in ("relational", "g-rag", "gcn", "mlp"):
        shape = DocumentGNNSettings(TEXT, network=network)
        assert not set(LATER) & set(shape.stored_settings())
        assert {**asdict(shape), **shape.stored_settings()} == asdict(shape)
    assert load_any_reranker(PRETRAINED_FOLDER / "g-rag").model.settings.stored_settings().keys().isdisjoint(LATER)
    assert set(PUBLISHED.stored_settings()) >= {"messages", "edge_rule", "projection"}


# AMR as counted in the source


def test_concepts_that_all_graphs_hold_count_as_published() -> None:
    """They counted for nothing, and no switch was left for the paper's count."""
    question = "Where was the commander of the Vega born?"
    built = {}
    for whole in (True, False):
        builder = AMRDocumentGraphBuilder(LocalAMRParser(), ENCODER.encode, whole=whole)
        (built[whole],) = builder.build([question], [POOL])
    graphs = LocalAMRParser().parse([question] * len(PASSAGES), PASSAGES)
    published = count_common_parts([graph for graph in graphs if isinstance(graph, AMRGraph)])
    assert built[True].edge_features.tolist() == published.astype(float).tolist()
    off_diagonal = ~np.eye(len(PASSAGES), dtype=bool)
    assert (built[True].edge_features[..., 0][off_diagonal] > 0).all(), "all hold the question"
    assert (built[True].edge_features >= built[False].edge_features).all()


# Training


def recipe_of_command(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> RerankRecipe:
    seen: list[RerankRecipe] = []

    def keep(*arguments: Any) -> TrainingResult:
        seen.append(arguments[4])
        return TrainingResult()

    monkeypatch.setattr("clew_lab.training.recipes.reranker.train_reranker", keep)
    done = run_clew("train", "reranker", "--data", folder, "--out", folder / "out", *options)
    assert done.code == 0, done.err
    return seen[0]


def test_one_word_gives_the_published_recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    recipe = recipe_of_command(monkeypatch, tmp_path, "--preset", "paper")
    assert recipe == published_rerank_recipe()
    assert (recipe.kind, recipe.whole, recipe.words, recipe.projection) == ("amr", True, True, False)
    loss, loop = recipe.loss, recipe.loop
    assert (loss.kind, loss.hardest, loss.batch, recipe.choose_by) == ("pairwise", 0, 5, "mrr")
    assert (loop.epochs * recipe.steps, loop.warmup, loop.rate, loop.clip, loop.average) == (50_000, 1000, 1e-4, 0, 0)
    changed = recipe_of_command(monkeypatch, tmp_path, "--preset", "paper", "--width", "8", "--no-words")
    assert changed == replace(published_rerank_recipe(), width=8, words=False)


def test_the_last_epoch_is_called_the_best_of_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for figures, words in (({}, "last epoch 2"), ({"mean": 0.5}, "best epoch 2")):
        result = TrainingResult(1, figures, initial_figures=figures)
        monkeypatch.setattr("clew_lab.training.recipes.reranker.train_reranker", lambda *_, made=result: made)
        done = run_clew("train", "reranker", "--data", tmp_path, "--out", tmp_path / "out")
        assert (done.code, f", {words}, " in done.out) == (0, True), done


def make_examples() -> list[PoolExample]:
    examples = []
    for seed in range(3):
        pool = make_input(seed=seed)
        relevant = np.zeros(7, dtype=bool)
        relevant[[0, 3]] = True
        graph = DocumentGraph(pool.vectors, pool.numbers, pool.edges, pool.question)
        examples.append(PoolExample(graph, relevant, ~relevant, 3))
    return examples


def test_an_epoch_may_be_a_number_of_steps_and_be_chosen_by_mrr() -> None:
    examples, columns = make_examples(), FeatureColumns((), (0, 1))
    objective = Reranking(examples, {"dev": examples}, columns, RerankLoss(batch=2), steps=7, choose_by="mrr")
    batches = list(objective.batches(0))
    assert len(objective) == len(batches) == 7
    assert [len(batch) for batch in batches] == [2, 1, 2, 1, 2, 1, 2]
    assert len(list(Reranking(examples, {}, columns, RerankLoss(batch=2)).batches(0))) == 2
    figures = objective.validate(make_model(replace(PUBLISHED, projection=False)))
    assert list(figures) == ["mean", "dev MRR"]
    given = figures_by_set({"dev": examples}, lambda some: [one.relevant for one in some], "mrr")
    assert given["mean"] == pytest.approx((1 + 1 / 4) / 3), "the evidence that was not retrieved counts 0"


def test_the_mrr_that_chooses_an_epoch_is_the_one_that_is_measured() -> None:
    """It was a mean over all pieces of evidence, in which a question with four counted four times."""
    one_piece = np.zeros(7, dtype=bool)
    one_piece[1] = True
    first, second, _ = make_examples()
    examples = [first, replace(second, relevant=one_piece, others=~one_piece, gold_count=1)]
    rankings = [example.relevant for example in examples]
    chosen_by = figures_by_set({"dev": examples}, lambda some: [one.relevant for one in some], "mrr")["mean"]
    names = [f"p{row}" for row in range(7)]
    positives = [
        rank_positives(names, names, [float(-row) for row in range(7)], [names[row] for row in np.flatnonzero(own)])
        for own in rankings
    ]
    missed = [replace(positives[0], gold=3), positives[1]]  # one piece of the first question's was not retrieved
    measured = compute_multi_positive_measures(missed, [10])["positives_rr"]
    assert chosen_by == pytest.approx(measured.mean()) == pytest.approx(((1 + 1 / 4) / 3 + 1 / 2) / 2)
