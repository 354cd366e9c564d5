"""Networks over the graph of a question's passages, against loops over passages and against PyTorch Geometric."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch_geometric import nn as geometric

from clew.errors import InputError
from clew.inference.document_network import NETWORKS, DocumentGNNSettings, DocumentInput
from clew_lab.nn.document_gnn import DocumentBatch, DocumentGNN, edge_gradients, normalize_edges

TEXT, NUMBERS, EDGES, WIDTH = 6, 3, 4, 8
PYG = ("gcn", "gat", "sage", "gin")
Array = NDArray[np.float64]

every = pytest.mark.parametrize("network", NETWORKS)


def make_network(network: str, seed: int = 0, **changed: Any) -> DocumentGNN:
    """Return a network in evaluation mode with random weights throughout."""
    shape = DocumentGNNSettings(TEXT, NUMBERS, EDGES, network, WIDTH)
    torch.manual_seed(seed)
    model = DocumentGNN(replace(shape, **changed)).eval()
    if model.settings.numbers:
        torch.nn.init.normal_(model.number_score.weight)
    if model.settings.text:
        torch.nn.init.normal_(model.question_projection.weight, std=0.3)
    return model


def make_batch(sizes: list[int], seed: int = 0, density: float = 0.4) -> DocumentBatch:
    """Return questions with given numbers of passages; the last passage of each has no edge."""
    random = np.random.default_rng(seed)
    count, most = len(sizes), max(sizes)
    arrays = [np.zeros(shape, dtype=np.float32) for shape in ((count, most, TEXT), (count, most, NUMBERS))]
    edges, present = np.zeros((count, most, most, EDGES), dtype=np.float32), np.zeros((count, most), dtype=bool)
    for place, size in enumerate(sizes):
        present[place, :size] = True
        for array in arrays:
            array[place, :size] = random.normal(size=(size, array.shape[2]))
        features = random.integers(1, 5, (size, size, EDGES)) * (random.random((size, size, EDGES)) < density)
        features[np.arange(size), np.arange(size)] = features[-1] = features[:, -1] = 0
        edges[place, :size, :size] = features
    questions = random.normal(size=(count, TEXT)).astype(np.float32)
    return DocumentBatch(*(torch.from_numpy(part) for part in (*arrays, edges, questions, present)))


def cut_question(whole: DocumentBatch, place: int, size: int) -> DocumentBatch:
    """Return one question of a batch, with its first passages only."""
    one = slice(place, place + 1)
    vectors, numbers, edges = whole.vectors[one, :size], whole.numbers[one, :size], whole.edges[one, :size, :size]
    return DocumentBatch(vectors, numbers, edges, whole.questions[one], whole.present[one, :size])


def score(model: DocumentGNN, batch: DocumentBatch) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = model(batch)
    return result


def weights(model: DocumentGNN) -> dict[str, Array]:
    return {name: tensor.double().numpy() for name, tensor in model.state_dict().items()}


def relu(values: Array) -> Array:
    return np.maximum(values, 0.0)


def start_and_end(model: DocumentGNN, batch: DocumentBatch) -> tuple[Array, Array, Array]:
    """Return the initial states (n, w) of a question's passages, their own scores (n,), and the question (w,)."""
    w = weights(model)
    vectors, numbers = batch.vectors[0].double().numpy(), batch.numbers[0].double().numpy()
    question = batch.questions[0].double().numpy()
    if not numbers.shape[1]:
        vectors, question = vectors * TEXT**0.5, question * TEXT**0.5
    states = vectors @ w["text_projection.weight"].T + w["text_projection.bias"]
    question = w["question_projection.weight"] @ question + w["question_projection.bias"]
    if not numbers.shape[1]:
        return states, np.zeros(len(states)), question
    states = states + relu(numbers @ w["number_projection.weight"].T + w["number_projection.bias"])
    own_scores = (numbers @ w["number_score.weight"].T)[:, 0] + w["state_score.bias"][0]
    return states, own_scores, question + w["state_score.weight"][0]


def slow_scores(model: DocumentGNN, batch: DocumentBatch) -> Array:
    """Return the scores of one question by loops over its passages."""
    states, own_scores, question = start_and_end(model, batch)
    edges = batch.edges[0].double().numpy()
    if model.settings.network == "g-rag":
        edges = slow_normalize(edges)
    step = {"g-rag": slow_g_rag_layer, "relational": slow_relational_layer, "mlp": slow_mlp_layer}[
        model.settings.network
    ]
    for layer in range(model.settings.layers):
        part = {n.split(".", 2)[2]: v for n, v in weights(model).items() if n.startswith(f"layers.{layer}.")}
        states, edges = step(part, states, edges)
    return np.array([float(question @ states[v]) + own_scores[v] for v in range(len(states))])


def slow_normalize(edges: Array) -> Array:
    result = np.zeros_like(edges)
    for i, j, m in np.ndindex(*edges.shape):
        if edges[i, j, m]:
            result[i, j, m] = edges[i, j, m] / np.sqrt(sum(edges[i, :, m]) * sum(edges[:, j, m]))
    return result


def slow_g_rag_layer(w: dict[str, Array], states: Array, edges: Array) -> tuple[Array, Array]:
    """Equations 7 to 11: messages weighted by features, their mean, g of both; then edges by their neighbours'."""
    n = len(states)
    adjacent = [[u for u in range(n) if edges[v, u].any()] for v in range(n)]
    after, changed = np.zeros_like(states), np.zeros_like(edges)
    for v in range(n):
        messages = np.zeros(states.shape[1])
        for u in adjacent[v]:
            for m in range(edges.shape[2]):
                messages = messages + edges[v, u, m] * states[u] / len(adjacent[v])
        after[v] = relu(w["update.weight"] @ np.concatenate([states[v], messages]) + w["update.bias"])
        for u in adjacent[v]:
            neighbours = sum((edges[x, u] for x in adjacent[v]), np.zeros(edges.shape[2])) / len(adjacent[v])
            if "edge_update.weight" in w:
                both = np.concatenate([edges[v, u], neighbours])
                changed[v, u] = relu(w["edge_update.weight"] @ both + w["edge_update.bias"])
    return after, changed if "edge_update.weight" in w else edges


def slow_norm(w: dict[str, Array], row: Array) -> Array:
    centred = row - row.mean()
    scaled: Array = centred / np.sqrt((centred**2).mean() + 1e-5)
    return scaled * w["layer_norm.weight"] + w["layer_norm.bias"]


def slow_relational_layer(w: dict[str, Array], states: Array, edges: Array) -> tuple[Array, Array]:
    n, width = states.shape
    after = np.zeros_like(states)
    for v in range(n):
        mixed = w["own.weight"] @ states[v] + w["own.bias"]
        for m in range(edges.shape[2]):
            matrix, total = w["heard.weight"][m * width : (m + 1) * width], edges[v, :, m].sum()
            for u in range(n):
                if edges[v, u, m]:
                    mixed = mixed + edges[v, u, m] / total * (matrix @ states[u])
        after[v] = states[v] + relu(slow_norm(w, mixed))
    return after, edges


def slow_mlp_layer(w: dict[str, Array], states: Array, edges: Array) -> tuple[Array, Array]:
    return np.array([row + relu(slow_norm(w, w["own.weight"] @ row + w["own.bias"])) for row in states]), edges


@pytest.mark.parametrize("changed", [{}, {"edge_update": False}, {"layers": 3}, {"layers": 1}, {"numbers": 0}], ids=str)
@pytest.mark.parametrize("network", ["g-rag", "relational", "mlp"])
def test_scores_equal_loops_over_passages(network: str, changed: dict[str, Any]) -> None:
    model = make_network(network, **changed)
    for seed in range(3):
        batch = make_batch([7], seed)
        batch = replace(batch, numbers=batch.numbers[..., : model.settings.numbers])
        np.testing.assert_allclose(score(model, batch)[0].numpy(), slow_scores(model, batch), rtol=1e-4, atol=1e-4)


@every
def test_untrained_networks_rank_near_the_cosine(network: str) -> None:
    random = np.random.default_rng(4)
    vectors = random.normal(size=(20, 6, 64))
    vectors[:, 3] = vectors[:, 3] / 3 + vectors[:, 0]  # the passage of each question that is similar to it
    unit = torch.from_numpy(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).float()
    edges = torch.zeros(20, 5, 5, EDGES)
    edges[:, 0, 1] = edges[:, 1, 0] = 1.0  # GCN and GAT would blur the similar one if it had neighbours
    torch.manual_seed(1)
    model = DocumentGNN(DocumentGNNSettings(64, 0, EDGES, network, 64)).eval()
    batch = DocumentBatch(unit[:, 1:], torch.zeros(20, 5, 0), edges, unit[:, 0], torch.ones(20, 5, dtype=torch.bool))
    assert int((score(model, batch).argmax(1) == 2).sum()) >= 17  # by chance 4


@pytest.mark.parametrize("network", PYG)
def test_other_layers_equal_pytorch_geometric(network: str) -> None:
    model, batch = make_network(network, layers=1), make_batch([6], 3)
    layer: Any = model.layers[0].convolution
    kinds: dict[str, Any] = {
        "gcn": lambda: geometric.GCNConv(WIDTH, WIDTH),
        "gat": lambda: geometric.GATConv(WIDTH, 1, heads=8),
        "sage": lambda: geometric.SAGEConv(WIDTH, WIDTH, aggr="lstm"),
        "gin": lambda: geometric.GINConv(
            torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)),
            train_eps=True,
            aggr="mean",
        ),
    }
    reference = kinds[network]()
    reference.load_state_dict(layer.state_dict())
    states, own_scores, question = (torch.from_numpy(part).float() for part in start_and_end(model, batch))
    adjacent = batch.edges[0].gt(0).any(-1)
    if network == "sage":  # the reference reads padding, except for the passage with most neighbours
        adjacent[:, :] = False
        adjacent[torch.arange(4)[:, None], torch.tensor([[4, 1, 2], [3, 0, 2], [5, 4, 3], [1, 2, 0]])] = True
    pairs = [(u, v) for v in range(6) for u in range(6) if adjacent[v, u]]
    with torch.no_grad():
        wanted = torch.relu(reference(states, torch.tensor(pairs).T)) @ question + own_scores
    binary = replace(batch, edges=adjacent[None, :, :, None].float().repeat(1, 1, 1, EDGES))
    messages = [v for v in range(6) if network != "sage" or adjacent[v].any()]
    torch.testing.assert_close(score(model, binary)[0, messages], wanted[messages], rtol=1e-4, atol=1e-5)


def test_the_lstm_reads_neighbours_in_order_and_no_padding() -> None:
    model, batch = make_network("sage", layers=1), make_batch([6], 5)
    adjacent = batch.edges[0].gt(0).any(-1)
    assert len({int(count) for count in adjacent.sum(1)}) > 2
    states, own_scores, question = (torch.from_numpy(part).float() for part in start_and_end(model, batch))
    layer: Any = model.layers[0].convolution
    with torch.no_grad():
        rows = []
        for v in range(6):
            neighbours = states[adjacent[v]]
            last_state = layer.aggr_module.lstm(neighbours[None])[0][0, -1] if len(neighbours) else torch.zeros(WIDTH)
            rows.append(torch.relu(layer.lin_l(last_state) + layer.lin_r(states[v])))
        wanted = torch.stack(rows) @ question + own_scores
    torch.testing.assert_close(score(model, batch)[0], wanted, rtol=1e-4, atol=1e-5)


@every
def test_a_batch_equals_its_questions_one_by_one_whatever_is_in_its_padding(network: str) -> None:
    sizes = [5, 1, 8, 3]
    model, whole = make_network(network), make_batch(sizes, 1)
    padding = ~whole.present
    whole.vectors[padding], whole.numbers[padding] = 7.0, -7.0
    whole.edges[padding] = 1.0
    whole.edges.transpose(1, 2)[padding] = 1.0
    result = score(model, whole)
    for place, size in enumerate(sizes):
        single = score(model, cut_question(whole, place, size))
        torch.testing.assert_close(result[place, :size], single[0], rtol=1e-4, atol=1e-5)


@every
def test_passages_without_edges_have_scores(network: str) -> None:
    model, batch = make_network(network), make_batch([4], 1, density=0.0)
    assert not batch.edges.any()
    result = score(model, batch)
    assert bool(result.isfinite().all())
    assert len(set(result[0].tolist())) == 4


@every
@pytest.mark.parametrize("read", [{}, {"numbers": 0}, {"text": 0}], ids=str)
def test_gradients_reach_all_weights(network: str, read: dict[str, int]) -> None:
    model = make_network(network, seed=1, **read).train()
    batch = make_batch([6, 9], 6)
    parts = {"vectors": batch.vectors, "numbers": batch.numbers, "questions": batch.questions}
    batch = replace(batch, **{k: v[..., : read.get("numbers" if k == "numbers" else "text")] for k, v in parts.items()})
    result: torch.Tensor = model(batch)
    result[batch.present].pow(2).sum().backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.isfinite().all()), name
        assert bool(parameter.grad.any()), name


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 999), st.sampled_from([0.0, 0.3, 1.0]))
def test_features_are_normalised_over_both_dimensions(size: int, seed: int, density: float) -> None:
    random = np.random.default_rng(seed)
    edges = random.integers(0, 9, (size, size, 2)).astype(np.float64)
    edges *= random.random((size, size, 2)) < density
    result = normalize_edges(torch.from_numpy(edges)[None])[0].numpy()
    np.testing.assert_allclose(result, slow_normalize(edges), atol=1e-9)
    symmetric = edges + edges.transpose(1, 0, 2)
    same = normalize_edges(torch.from_numpy(symmetric)[None])[0].numpy()
    np.testing.assert_allclose(same, same.transpose(1, 0, 2))
    assert not same.size or np.linalg.norm(same[..., 0], 2) <= 1 + 1e-9


def test_dropout_acts_in_training_only() -> None:
    for network in NETWORKS:
        model, batch = make_network(network, dropout=0.5), make_batch([6], 2)
        assert torch.equal(score(model, batch), score(model, batch))
        assert not torch.equal(score(model.train(), batch), score(model, batch))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"network": "transformer"}, "'transformer'; wanted one of relational, g-rag"),
        ({"edges": 0}, "at least 1"),
        ({"width": 0}, "at least 1"),
        ({"layers": 0}, "at least 1"),
        ({"text": 0, "numbers": 0}, "0 wide vectors and 0 numbers; wanted at least one"),
        ({"text": -1}, "-1 wide vectors"),
        ({"numbers": -1}, "and -1 numbers"),
        ({"dropout": 1.0}, "dropout: .*wanted at least 0 and below 1"),
        ({"dropout": float("nan")}, "dropout: .*wanted at least 0 and below 1"),
        ({"network": "gat", "width": 12}, "multiple of 8"),
    ],
)
def test_invalid_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(DocumentGNNSettings(TEXT, NUMBERS), **wrong)


def test_a_batch_moves_to_a_device_as_a_whole() -> None:
    batch = make_batch([2, 3])
    moved = batch.to(torch.device("meta"))
    assert {part.device.type for part in (moved.vectors, moved.numbers, moved.edges, moved.questions)} == {"meta"}
    assert moved.present.shape == batch.present.shape


def random_input() -> DocumentInput:
    random = np.random.default_rng(4)
    edges = random.uniform(0.5, 2.0, (5, 5, EDGES)).astype(np.float32)
    edges[0, 3] = edges[3, 0] = edges[np.arange(5), np.arange(5)] = 0.0
    vectors = random.normal(size=(6, TEXT)).astype(np.float32)
    return DocumentInput(vectors[:5], np.zeros((5, 0), np.float32), edges, vectors[5])


@pytest.mark.parametrize(
    "settings",
    [
        DocumentGNNSettings(TEXT, edges=EDGES, network="relational", width=WIDTH),
        DocumentGNNSettings(TEXT, edges=EDGES, network="g-rag", width=WIDTH, edge_rule="gated", messages="weighted"),
        DocumentGNNSettings(
            TEXT, edges=EDGES, network="g-rag", width=WIDTH, normalization="dimensions", edge_rule="gated"
        ),
        DocumentGNNSettings(TEXT, edges=EDGES, network="gcn", width=WIDTH, weighted=True),
        DocumentGNNSettings(TEXT, edges=EDGES, network="mlp", width=WIDTH),
    ],
    ids=lambda settings: f"{settings.network}-{settings.normalization}",
)
def test_gradients_are_those_of_finite_differences(settings: DocumentGNNSettings) -> None:
    torch.manual_seed(2)
    network, documents, place = DocumentGNN(settings).network(), random_input(), 2
    found = edge_gradients(network, documents, place)
    model = DocumentGNN.from_network(network).double()
    batch = DocumentBatch.from_inputs([documents])

    def score(edges: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
        parts = batch.vectors.double(), batch.numbers.double(), torch.from_numpy(edges)[None]
        torch.set_default_dtype(torch.float64)
        try:
            with torch.inference_mode():
                return float(model(DocumentBatch(*parts, batch.questions.double(), batch.present))[0, place])
        finally:
            torch.set_default_dtype(torch.float32)

    step = 1e-6
    start = documents.edges.astype(np.float64)
    wanted = np.zeros_like(start)
    for at in zip(*np.nonzero(start), strict=True):
        up, down = start.copy(), start.copy()
        up[at] += step
        down[at] -= step
        wanted[at] = (score(up) - score(down)) / (2 * step)
    present = start > 0
    np.testing.assert_allclose(found.gradient[present], wanted[present], atol=2e-4)
    assert bool(np.abs(wanted).max() > 1e-3) == (settings.network != "mlp")
    effects = found.effects
    for i in range(5):
        for j in range(5):
            pair = start[i, j] * wanted[i, j] + start[j, i] * wanted[j, i] if i < j else np.zeros(EDGES)
            np.testing.assert_allclose(effects[i, j], pair, atol=1e-3)
