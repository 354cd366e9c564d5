"""Reranking losses against explicit sums, and a task that only edges solve."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.inference.document_network import DocumentGNNSettings
from clew.nn.ranking_losses import listwise_loss
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.rerankers.g_rag.weights import FeatureColumns
from clew.training.hyperparameters import Recipe
from clew.training.loop import train
from clew_lab.nn.document_gnn import DocumentGNN
from clew_lab.training.data.reranking_pools import PoolExample
from clew_lab.training.hyperparameters import LossKind, RerankLoss
from clew_lab.training.objectives.reranking import (
    Reranking,
    pool_figures,
    rank_pools,
    rerank_loss,
    score_pools,
    set_loss,
)

LOSSES: tuple[LossKind, ...] = ("set", "listwise", "pairwise", "cross-entropy")
SCORES = [0.5, -1.0, 2.0, 0.25, 1.0, -0.5]
RELEVANT = [True, False, False, True, False, False]
READ = FeatureColumns((0,), (0,))


def silent(stage: str, done: int, total: int) -> None:
    assert stage
    assert 0 <= done <= total


@st.composite
def scored_passages(draw: st.DrawFn) -> tuple[list[float], list[bool]]:
    """Draw scores of passages, and which are evidence: at least one, and not all."""
    count = draw(st.integers(2, 8))
    scores = draw(st.lists(st.integers(-40, 40).map(lambda tenths: tenths / 10), min_size=count, max_size=count))
    relevant = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    first, second = draw(st.permutations(range(count)).map(lambda order: order[:2]))
    relevant[first], relevant[second] = True, False
    return scores, relevant


def reference_loss(kind: LossKind, scores: list[float], relevant: list[bool], temperature: float = 1.0) -> float:
    good = [score for score, wanted in zip(scores, relevant, strict=True) if wanted]
    bad = [score for score, wanted in zip(scores, relevant, strict=True) if not wanted]
    if kind == "cross-entropy":
        return sum(-math.log(math.exp(s) / sum(map(math.exp, scores))) for s in good)
    if kind == "pairwise":
        return sum(max(0.0, 1.0 - (s - other)) for s in good for other in bad) / (len(good) * len(bad))
    each = [-math.log(math.exp(s) / (math.exp(s) + sum(map(math.exp, bad)))) for s in good]
    if kind == "listwise":
        return sum(each) / len(each)
    return temperature * math.log(sum(math.exp(loss / temperature) for loss in each) / len(each))


def keep_hardest(scores: list[float], relevant: list[bool], hardest: int) -> tuple[list[float], list[bool]]:
    """Keep the evidence and the best-scored others."""
    others = sorted((s for s, wanted in zip(scores, relevant, strict=True) if not wanted), reverse=True)[:hardest]
    evidence = [score for score, wanted in zip(scores, relevant, strict=True) if wanted]
    return [*evidence, *others], [True] * len(evidence) + [False] * len(others)


@pytest.mark.parametrize("kind", LOSSES)
@settings(max_examples=40, deadline=None)
@given(scored_passages(), st.sampled_from([0.25, 1.0, 3.0]), st.integers(0, 9))
def test_losses_equal_explicit_sums(
    kind: LossKind, one: tuple[list[float], list[bool]], temperature: float, hardest: int
) -> None:
    loss = rerank_loss(RerankLoss(kind, temperature, hardest), torch.tensor(one[0]), torch.tensor(one[1]))
    wanted = reference_loss(kind, *(keep_hardest(*one, hardest) if hardest else one), temperature)
    assert float(loss) == pytest.approx(wanted, rel=1e-4, abs=1e-4)


@settings(max_examples=40, deadline=None)
@given(scored_passages())
def test_set_is_listwise_at_high_and_the_worst_passage_at_low_temperature(one: tuple[list[float], list[bool]]) -> None:
    scores, relevant = torch.tensor(one[0], dtype=torch.float64), torch.tensor(one[1])
    each = [float(listwise_loss(scores[keep], relevant[keep])) for keep in single_relevant_masks(relevant)]
    assert float(set_loss(scores, relevant, 1e5)) == pytest.approx(float(listwise_loss(scores, relevant)), abs=1e-3)
    assert float(set_loss(scores, relevant, 1e-3)) == pytest.approx(max(each), abs=1e-2)
    warmer = [float(set_loss(scores, relevant, t)) for t in (0.1, 1.0, 10.0)]
    assert warmer[0] >= warmer[1] - 1e-9 >= warmer[2] - 2e-9


def single_relevant_masks(relevant: torch.Tensor) -> list[torch.Tensor]:
    """Return for each piece of evidence the mask without the other pieces."""
    places = relevant.nonzero()[:, 0].tolist()
    return [~relevant | (torch.arange(len(relevant)) == place) for place in places]


@pytest.mark.parametrize("kind", LOSSES)
def test_only_the_hardest_others_have_a_gradient(kind: LossKind) -> None:
    scores = torch.tensor(SCORES, requires_grad=True)
    loss = rerank_loss(RerankLoss(kind, hardest=2), scores, torch.tensor(RELEVANT))
    (values,) = torch.autograd.grad(loss, scores)
    assert [i for i, value in enumerate(values.tolist()) if value] == [0, 2, 3, 4]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "hinge"}, "kind is 'hinge': wanted set, listwise, pairwise or cross-entropy"),
        ({"temperature": 0.0}, "above 0"),
        ({"temperature": math.inf}, "above 0"),
        ({"temperature": math.nan}, "above 0"),
        ({"hardest": -1}, "at least 0"),
        ({"batch": 0}, "at least 1"),
    ],
)
def test_loss_settings_out_of_range_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RerankLoss(**wrong)


def make_example(numbers: list[float], relevant: list[bool], gold: int = 0, seed: int = 0) -> PoolExample:
    """Return passages with one feature each and random edges."""
    size = len(numbers)
    edges = (np.random.default_rng(seed).random((size, size, 1)) < 0.4).astype(np.float32)
    edges[np.arange(size), np.arange(size)] = 0
    column = np.array(numbers, dtype=np.float32)[:, None]
    graph = DocumentGraph(np.zeros((size, 0), np.float32), column, edges, np.zeros(0, np.float32))
    return PoolExample(graph, np.array(relevant), ~np.array(relevant), gold or sum(relevant))


def make_bridge_example(seed: int) -> PoolExample:
    """Return passages whose evidence is the one named in the question and the one linked to it."""
    random = np.random.default_rng(seed)
    size = 8
    named, far, *rest = random.permutation(size).tolist()
    edges = np.zeros((size, size, 1), dtype=np.float32)
    edges[far, named] = 1.0  # receives messages of the named one
    edges[rest[0], rest[1]] = edges[rest[2], rest[3]] = edges[rest[4], rest[5]] = 1.0
    numbers = np.zeros((size, 1), dtype=np.float32)
    numbers[named] = 1.0
    relevant = np.isin(np.arange(size), [named, far])
    return PoolExample(DocumentGraph(numbers[:, :0], numbers, edges, numbers[0, :0]), relevant, ~relevant, 2)


def make_network(kind: str, seed: int = 0) -> DocumentGNN:
    torch.manual_seed(seed)
    return DocumentGNN(DocumentGNNSettings(0, 1, 1, kind, 16, dropout=0.0))


def make_objective(count: int = 64, loss: RerankLoss | None = None) -> Reranking:
    validation = {"held out": [make_bridge_example(1000 + seed) for seed in range(40)]}
    return Reranking([make_bridge_example(seed) for seed in range(count)], validation, READ, loss or RerankLoss())


RECIPE = Recipe(epochs=6, rate=0.02, warmup=1, average=0.0)


@pytest.mark.slow
def test_a_network_with_edges_learns_the_task(tmp_path: Path) -> None:
    model = make_network("relational")
    before = make_objective().validate(model)["held out all_gold@5"]
    result = train(model, make_objective(), RECIPE, tmp_path, silent)
    assert before < 0.9
    assert result.figures["held out recall@2"] > 0.98
    assert result.figures["held out all_gold@5"] == 1.0


@pytest.mark.slow
def test_a_network_without_edges_does_not_learn_the_task(tmp_path: Path) -> None:
    result = train(make_network("mlp"), make_objective(), RECIPE, tmp_path, silent)
    assert 0.5 <= result.figures["held out recall@2"] < 0.7  # the named one, and of the others one by chance


def test_batches_have_all_questions_once_in_the_order_of_the_seed() -> None:
    examples = [make_bridge_example(seed) for seed in range(10)]
    one = Reranking(examples, {}, READ, RerankLoss(batch=4))
    first, again, other = ([list(batch) for batch in one.batches(seed)] for seed in (3, 3, 4))
    assert first == again != other
    assert [len(batch) for batch in first] == [4, 4, 2]
    assert len(one) == 3
    assert {id(each) for batch in first for each in batch} == {id(each) for each in examples}


def test_questions_without_evidence_or_without_others_are_skipped(tmp_path: Path) -> None:
    further = replace(make_example([1.0, 2.0], [True, False]), others=np.array([False, False]))
    useless = [make_example([1.0, 2.0], [False, False], gold=1), make_example([1.0, 2.0], [True, True]), further]
    one = Reranking([*useless, make_example([1.0, 2.0], [True, False])], {}, READ, RerankLoss())
    assert [len(batch) for batch in one.batches(0)] == [1]
    with pytest.raises(InputError, match="no question has both evidence and other passages"):
        train(make_network("mlp"), Reranking(useless, {}, READ, RerankLoss()), RECIPE, tmp_path, silent)


def test_the_loss_of_a_batch_is_the_mean_of_its_questions_despite_padding() -> None:
    examples = [
        make_example([1.0, -1.0, 0.5], [True, False, False], 1, 1),
        make_bridge_example(2),
        make_example([0.0, 3.0], [False, True]),
    ]
    for kind in LOSSES:
        one, model = make_objective(1, RerankLoss(kind, hardest=1)), make_network("relational").eval()
        alone = [one.loss(model, [each]) for each in examples]
        loss = one.loss(model, examples)
        wanted = np.mean([float(own.detach()) for own in alone])
        assert float(loss.detach()) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("hardest", [0, 1])
def test_passages_that_are_neither_evidence_nor_others_have_no_loss(kind: LossKind, hardest: int) -> None:
    numbers, relevant = [1.0, 4.0, 0.5, 2.0], [True, False, False, True]
    whole = make_example(numbers, relevant)
    one = replace(whole, others=np.array([False, False, True, False]))
    model, reranking = make_network("relational").eval(), make_objective(1, RerankLoss(kind, hardest=hardest))
    scores = score_pools(model, [one], READ)[0]
    labelled = torch.tensor([True, False, True, True])
    wanted = rerank_loss(RerankLoss(kind, hardest=hardest), scores[labelled], torch.from_numpy(one.relevant)[labelled])
    assert float(reranking.loss(model, [one]).detach()) == pytest.approx(float(wanted.detach()))
    assert float(reranking.loss(model, [whole]).detach()) != pytest.approx(float(wanted.detach()))


def test_batches_are_halved() -> None:
    batch = [make_bridge_example(seed) for seed in range(3)]
    assert make_objective(1).halve(batch) == (batch[:1], batch[1:])
    assert make_objective(1).halve(batch[:1]) is None


def rank_by_number(model: DocumentGNN) -> DocumentGNN:
    """Set the weights of a network so that it ranks by the feature alone."""
    for parameter in model.parameters():
        torch.nn.init.zeros_(parameter)
    torch.nn.init.ones_(model.number_score.weight)
    return model


def test_figures_match_hand_computed_ones() -> None:
    examples = [
        make_example([0.1, 0.9, 0.5], [True, True, False]),  # best first: True, False, True
        make_example([3.0, 2.0, 1.0, 0.5, 0.4, 0.3], [False, False, False, False, False, True], gold=3),
        make_example([0.0, 0.0, 0.0], [False, True, True], gold=2),  # a tie keeps its order
    ]
    model = rank_by_number(make_network("mlp")).train()
    rankings = rank_pools(model, examples, READ)
    assert [own.tolist() for own in rankings] == [
        [True, False, True],
        [False, False, False, False, False, True],
        [False, True, True],
    ]
    assert model.training
    figures = pool_figures(rankings, examples)
    assert figures == pytest.approx({"recall@2": 1 / 3, "recall@5": 2 / 3, "all_gold@5": 2 / 3})
    assert pool_figures(rankings[:1], examples[:1]) == {"recall@2": 0.5, "recall@5": 1.0, "all_gold@5": 1.0}
    half = make_example([2.0, 1.0], [True, False], gold=2)  # one piece of evidence was not retrieved
    assert pool_figures([half.relevant], [half]) == {"recall@2": 0.5, "recall@5": 0.5, "all_gold@5": 0.0}
    sets = Reranking([], {"one": examples[:1], "all": examples}, READ, RerankLoss())
    figures = sets.validate(model)
    assert next(iter(figures)) == "mean"
    assert figures["one recall@2"] == 0.5
    assert figures["all all_gold@5"] == pytest.approx(2 / 3)
    assert figures["mean"] == pytest.approx(np.mean([0.5, 1.0, 1.0, 1 / 3, 2 / 3, 2 / 3]))
    assert Reranking(examples, {}, READ, RerankLoss()).validate(model) == {}


def test_ranking_uses_no_dropout() -> None:
    torch.manual_seed(0)
    model = DocumentGNN(DocumentGNNSettings(0, 1, 1, "relational", 16, dropout=0.5)).train()
    examples = [make_bridge_example(seed) for seed in range(20)]
    first, second = (np.stack(rank_pools(model, examples, READ)) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("count", [1, 16, 17, 40])
def test_batches_are_ranked_like_single_questions(count: int) -> None:
    model: DocumentGNN = make_network("relational").eval()
    examples = []
    for seed in range(count):
        others = 2 + seed % 5
        numbers = np.random.default_rng(seed).random(1 + others).tolist()
        examples.append(make_example(numbers, [True, *[False] * others], 1, seed))
    one_by_one = [rank_pools(model, [each], READ)[0].tolist() for each in examples]
    assert [own.tolist() for own in rank_pools(model, examples, READ)] == one_by_one
    with torch.no_grad():
        whole = score_pools(model, examples, READ)
        for row, each in zip(whole, examples, strict=True):
            alone = score_pools(model, [each], READ)[0]
            torch.testing.assert_close(row[: len(alone)], alone, rtol=1e-4, atol=1e-5)
