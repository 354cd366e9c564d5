"""Training of the path ranker on generated questions with a known deciding feature."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from clew.errors import InputError
from clew.retrievers.frag.path_ranking import FEATURES, PathRankerWeights
from clew_lab.training.fitting.path_ranker import PathExample, PathRecipe, _init_parameters, _loss, train_path_ranker

if TYPE_CHECKING:
    from clew.types import FloatArray

WIDTH = 12
EVEN = [0.5 if name in ("explained", "in_order", "explained_by_ends", "mean_likeness") else 0.0 for name in FEATURES]
PLAIN = PathRecipe(rank=0, nearness=0.0, epochs=30, batch=16, rate=5e-2)


def random_unit_vectors(random: np.random.Generator, *shape: int) -> "FloatArray":
    rows = random.normal(size=shape)
    vectors: FloatArray = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return vectors


TABLE = random_unit_vectors(np.random.default_rng(11), 20, WIDTH)


def make_examples(decides: str, count: int = 60, seed: int = 0) -> list[PathExample]:
    """Return questions where only the path with the greatest value of one feature leads to the answer."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        chains = int(random.integers(2, 9))
        features = random.normal(size=(chains, len(FEATURES))).astype(np.float32)
        worth = np.zeros(chains, dtype=np.float32)
        worth[features[:, FEATURES.index(decides)].argmax()] = 1.0
        rows = random.integers(0, len(TABLE), chains)
        rows = np.column_stack([rows, np.where(np.arange(chains) % 2, -1, (rows + 7) % len(TABLE))])
        made.append(PathExample(features, rows, random_unit_vectors(random, WIDTH), worth))
    return made


def score(weights: PathRankerWeights, example: PathExample) -> "FloatArray":
    worth = TABLE @ weights.relation_side.T @ (weights.question_side @ example.question)
    means = [np.mean([worth[row] for row in rows if row >= 0]) for rows in example.relations]
    scores: FloatArray = example.features @ weights.weights + np.array(means, dtype=np.float32)
    return scores


def hit_rate(weights: PathRankerWeights, some: list[PathExample]) -> float:
    """Return the share of questions whose best-scored path has the highest F1."""
    return float(
        np.mean([example.f1_scores[score(weights, example).argmax()] == example.f1_scores.max() for example in some])
    )


@pytest.mark.parametrize("decides", ["against", "kind_of_end", "in_order"])
def test_the_deciding_feature_gets_the_greatest_weight(decides: str) -> None:
    weights = train_path_ranker(make_examples(decides), TABLE, PLAIN, "own")
    assert FEATURES[int(np.abs(weights.weights).argmax())] == decides
    assert hit_rate(weights, make_examples(decides, seed=1)) > 0.85
    assert (weights.encoder, weights.about["questions"]) == ("own", 60)


def test_a_feature_against_a_path_gets_a_negative_weight() -> None:
    turned = [
        replace(example, features=example.features * np.array([1, 1, 1, 1, -1, 1, 1], dtype=np.float32))
        for example in make_examples("back_and_forth")
    ]
    weights = train_path_ranker(turned, TABLE, PLAIN, "own")
    assert weights.weights[FEATURES.index("back_and_forth")] < 0
    assert int(np.abs(weights.weights).argmax()) == FEATURES.index("back_and_forth")


@pytest.mark.slow
def test_nearness_regularises_towards_even_weights() -> None:
    some = make_examples("mean_likeness")
    scale = np.concatenate([e.features - e.features.mean(axis=0) for e in some]).std(axis=0)

    def leaning(nearness: float) -> float:
        weights = train_path_ranker(some, TABLE, replace(PLAIN, nearness=nearness), "own").weights * scale
        even = np.array(EVEN)
        return float(weights @ even / np.linalg.norm(weights) / np.linalg.norm(even))

    free, regularised, fixed = leaning(0.0), leaning(0.5), leaning(100.0)
    assert free < 0.65, "one of the four has nearly all"
    assert free + 0.05 < regularised < 0.98
    assert fixed > 0.999


def test_a_constant_feature_gets_a_small_weight() -> None:
    place = FEATURES.index("back_and_forth")
    some = make_examples("mean_likeness")
    for example in some:
        example.features[:, place] = 1.0  # as where every chain has one relation
    weights = train_path_ranker(some, TABLE, replace(PLAIN, nearness=0.1), "own").weights
    assert abs(weights[place]) < 1, "another graph has chains that go back"
    for example in some:
        example.features[:, FEATURES.index("explained")] = 0.3
    assert np.abs(train_path_ranker(some, TABLE, PLAIN, "own").weights).max() < 30


def test_the_unit_of_a_feature_does_not_matter() -> None:
    some = make_examples("mean_likeness")
    units = np.array([10, 1, 0.1, 5, 1, 1, 2], dtype=np.float32)
    other = [replace(example, features=example.features * units) for example in some]
    recipe = replace(PLAIN, nearness=0.1, epochs=5)
    one, two = (train_path_ranker(e, TABLE, recipe, "own").weights for e in (some, other))
    np.testing.assert_allclose(two * units, one, rtol=1e-2, atol=1e-3)


def test_the_comparison_of_words_needs_a_rank() -> None:
    random = np.random.default_rng(5)
    turn = np.linalg.qr(random.normal(size=(WIDTH, WIDTH)))[0].astype(np.float32)
    some = []
    for _ in range(200):
        rows = random.choice(len(TABLE), 5, replace=False)
        question = random_unit_vectors(random, WIDTH)
        worth = np.zeros(5, dtype=np.float32)
        worth[(TABLE[rows] @ turn @ question).argmax()] = 1.0
        none = np.zeros((5, len(FEATURES)), dtype=np.float32)
        some.append(PathExample(none, rows[:, None], question, worth))
    recipe = PathRecipe(rank=WIDTH, nearness=0.1, decay=0.0, epochs=20, batch=32, rate=5e-2)
    assert hit_rate(train_path_ranker(some, TABLE, recipe, "own"), some) > 0.9
    without = train_path_ranker(some, TABLE, replace(recipe, rank=0), "own")
    assert without.question_side.shape == without.relation_side.shape == (0, WIDTH)
    assert hit_rate(without, some) < 0.5


def test_the_loss_of_a_batch_is_the_mean_of_those_of_its_questions() -> None:
    some = make_examples("mean_likeness", 7)
    some[2] = replace(some[2], f1_scores=np.linspace(0, 1, len(some[2].f1_scores), dtype=np.float32))
    vectors, scale = torch.from_numpy(TABLE), torch.full((len(FEATURES),), 0.7)
    parameters = _init_parameters(torch.tensor(EVEN), WIDTH, PathRecipe(rank=3))
    with torch.no_grad():
        parameters["relation_side"] += torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(3))
    some[3] = replace(some[3], relations=some[3].relations[:, :1])  # chains of one relation alone
    together = _loss(some, vectors, scale, parameters)
    alone = [_loss([example], vectors, scale, parameters).item() for example in some]
    assert together.item() == pytest.approx(np.mean(alone), abs=1e-5)
    weights = PathRankerWeights(
        np.array(EVEN, dtype=np.float32) * np.float32(1.5) / np.float32(0.7),
        parameters["question_side"].detach().numpy(),
        parameters["relation_side"].detach().numpy(),
        "own",
        {},
    )
    for example, loss in zip(some, alone, strict=True):
        scores = score(weights, example).astype(np.float64)
        shares = np.exp(scores) / np.exp(scores).sum()
        wanted = example.f1_scores.astype(np.float64) ** 2
        assert loss == pytest.approx(float(-(wanted / wanted.sum() * np.log(shares)).sum()), abs=1e-4)


def test_the_same_seed_gives_the_same_bytes() -> None:
    recipe = PathRecipe(rank=2, epochs=2, batch=16)
    one, other = (train_path_ranker(make_examples("mean_likeness"), TABLE, recipe, "own") for _ in range(2))
    for name in ("weights", "question_side", "relation_side"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
        assert getattr(one, name).dtype == np.float32
    assert one.about["recipe"]["rank"] == 2
    third = train_path_ranker(make_examples("mean_likeness"), TABLE, replace(recipe, seed=1), "own")
    assert third.question_side.tobytes() != one.question_side.tobytes()


def test_questions_without_a_path_to_an_answer_are_skipped() -> None:
    some = make_examples("mean_likeness", 20)
    nothing = replace(some[0], f1_scores=np.zeros_like(some[0].f1_scores))
    none = PathExample(
        np.zeros((0, len(FEATURES)), dtype=np.float32),
        np.zeros((0, 2), dtype=np.int64),
        some[0].question,
        np.zeros(0, dtype=np.float32),
    )
    recipe = PathRecipe(rank=1, epochs=1, batch=4)
    plain = train_path_ranker(some, TABLE, recipe, "own")
    more = train_path_ranker([nothing, *some[:10], none, *some[10:]], TABLE, recipe, "own")
    np.testing.assert_array_equal(plain.weights, more.weights)
    assert more.about["questions"] == 20
    for useless in ([], [none], [nothing, none]):
        with pytest.raises(InputError, match="no question has a path to its answers"):
            train_path_ranker(useless, TABLE, recipe, "own")


def test_one_question_with_one_path() -> None:
    features, worth = np.ones((1, len(FEATURES)), dtype=np.float32), np.ones(1, dtype=np.float32)
    one = PathExample(features, np.zeros((1, 1), dtype=np.int64), TABLE[0], worth)
    weights = train_path_ranker([one], TABLE, PathRecipe(epochs=1), "own")
    assert np.abs(weights.weights).max() < 10
