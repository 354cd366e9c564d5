"""Training of the hop predictor: it generalises from synthetic questions, and to more hops than in training."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.errors import InputError
from clew.models.encoders.hashing import HashingEncoder
from clew.query.linking import FUNCTION_WORDS, MaskedQuestion
from clew.retrievers.frag.hop_predictor import (
    ARRAY_NAMES,
    HOP_CLASSES,
    TERMS,
    WORDS,
    HopPredictor,
    HopPredictorWeights,
    load_hop_predictor,
    question_terms,
    save_hop_predictor,
)
from clew.training.fitting.hop_predictor import (
    FEEDBACK_RECIPE,
    HopExample,
    HopRecipe,
    accuracy,
    make_synthetic_questions,
    train_hop_predictor,
)

if TYPE_CHECKING:
    from clew.types import FloatArray

VOCABULARY = [f"{a}{b}{c}" for a in "bdfglm" for b in ("ana", "eto", "iru") for c in ("k", "sh", "")]
LEARNED, UNSEEN = VOCABULARY[::2], VOCABULARY[1::2]
QUICK = HopRecipe(made_up=0, hidden=8, epochs=25, batch=32)
WIDTH = 16
FUNCTION_SIDE = 4  # dimensions of function words: the vectors tell what kind a word is


def encode(words: Sequence[str]) -> "FloatArray":
    """Return a distinct unit vector for each word; function words and others use different dimensions."""
    rows = np.zeros((len(words), WIDTH), dtype=np.float32)
    for row, word in zip(rows, words, strict=True):
        random = np.random.default_rng(list(word.encode()))
        side = slice(0, FUNCTION_SIDE) if word in FUNCTION_WORDS else slice(FUNCTION_SIDE, WIDTH)
        row[side] = np.abs(random.normal(0, 1, len(row[side])))
    unit: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def make_questions(count: int, max_hops: int, vocabulary: Sequence[str] = LEARNED, seed: int = 0) -> list[HopExample]:
    """Return questions of at most `max_hops` relations."""
    generated = make_synthetic_questions(vocabulary, 4 * count, np.random.default_rng(seed))
    return [one for one in generated if one.hops <= max_hops][:count]


@pytest.fixture(scope="module")
def trained_on_two_hops() -> HopPredictorWeights:
    """Weights trained on questions of one and of two relations."""
    return train_hop_predictor(make_questions(300, 2), QUICK, encode, "own")


def hop_accuracy(router: HopPredictor, some: Sequence[HopExample]) -> float:
    """Return the share of questions whose number of hops is predicted."""
    likeliest = router.hop_probabilities([one.question for one in some]).argmax(axis=1) + 1
    return float(np.mean(likeliest == [one.hops for one in some]))


@pytest.mark.slow
def test_hops_of_unseen_words_are_predicted(trained_on_two_hops: HopPredictorWeights) -> None:
    router = HopPredictor(trained_on_two_hops, encode)
    assert hop_accuracy(router, make_questions(200, 2, UNSEEN, seed=1)) > 0.97


def test_it_counts_three_though_it_was_taught_one_and_two(trained_on_two_hops: HopPredictorWeights) -> None:
    router = HopPredictor(trained_on_two_hops, encode)
    three = [one for one in make_questions(400, 3, UNSEEN, seed=2) if one.hops == 3]
    assert len(three) > 80
    assert hop_accuracy(router, three) > 0.9
    assert accuracy(router, make_questions(200, 3, UNSEEN, seed=3)) > 0.95


def test_function_words_count_little_and_relations_about_one(trained_on_two_hops: HopPredictorWeights) -> None:
    router = HopPredictor(trained_on_two_hops, encode)
    nothing = router.expected_hops([MaskedQuestion((), ())])[0]
    each = router.expected_hops([MaskedQuestion((word,), ()) for word in (*UNSEEN, "of", "the", "what", "s")]) - nothing
    assert each[: len(UNSEEN)] == pytest.approx(np.ones(len(UNSEEN)), abs=0.35)
    assert (each[len(UNSEEN) :] < 0.2).all()


def test_synthetic_questions_alone_suffice() -> None:
    recipe = replace(QUICK, made_up=300, share=1.0, epochs=15)
    one = [HopExample(MaskedQuestion(("who", "is", "the", LEARNED[0], "of"), ()), 1)]
    weights = train_hop_predictor(one, recipe, encode, "own", LEARNED)
    assert hop_accuracy(HopPredictor(weights, encode), make_questions(200, 3, UNSEEN, seed=4)) > 0.9
    without = train_hop_predictor(one, replace(recipe, made_up=0), encode, "own", LEARNED)
    assert hop_accuracy(HopPredictor(without, encode), make_questions(200, 3, UNSEEN, seed=4)) < 0.8


def test_vectors_of_a_real_encoder_suffice() -> None:
    encoder = HashingEncoder(64)
    weights = train_hop_predictor(make_questions(300, 2), QUICK, encoder.encode, encoder.fingerprint)
    assert weights.encoder == encoder.fingerprint
    assert hop_accuracy(HopPredictor(weights, encoder.encode), make_questions(100, 3, seed=5)) > 0.85


@pytest.mark.parametrize("kind", [WORDS, TERMS])
def test_the_same_seed_gives_the_same_bytes(kind: str, tmp_path: Path) -> None:
    recipe = HopRecipe(kind, made_up=50, hidden=4, epochs=2, batch=16)
    for name in ("one", "other"):
        save_hop_predictor(tmp_path / name, train_hop_predictor(make_questions(40, 2), recipe, encode, "own", LEARNED))
    for file in ("config.json", "model.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "other" / file).read_bytes()
    read = load_hop_predictor(tmp_path / "one")
    assert set(read.arrays) == set(ARRAY_NAMES[kind])
    assert json.loads((tmp_path / "one" / "config.json").read_text(encoding="utf-8"))["about"]["recipe"]["seed"] == 0
    if kind == WORDS:
        other = train_hop_predictor(make_questions(40, 2), replace(recipe, seed=1), encode, "own", LEARNED)
        assert other.arrays["direct"].tobytes() != read.arrays["direct"].tobytes()


def test_without_a_vocabulary_no_questions_are_generated() -> None:
    recipe = replace(QUICK, made_up=50, epochs=1)
    plain = train_hop_predictor(make_questions(20, 2), recipe, encode, "own")
    none = train_hop_predictor(make_questions(20, 2), replace(recipe, made_up=0), encode, "own", LEARNED)
    for name in ARRAY_NAMES[WORDS]:
        np.testing.assert_array_equal(plain.arrays[name], none.arrays[name])


def test_synthetic_questions() -> None:
    made = make_synthetic_questions(LEARNED, 500, np.random.default_rng(3))
    assert made == make_synthetic_questions(LEARNED, 500, np.random.default_rng(3))
    assert {one.hops for one in made} == {1, 2, 3}
    for one in made:
        words = [word for word in one.question.words if word in LEARNED]
        assert len(words) == one.hops
        assert all(word in FUNCTION_WORDS for word in one.question.words if word not in LEARNED)
        assert one.question.after[::2] == ("s",) * (len(one.question.after) // 2)
    assert any(one.question.after for one in made)
    assert make_synthetic_questions(LEARNED, 0, np.random.default_rng(3)) == []


def test_terms_are_a_ridge_regression() -> None:
    some = [
        *make_questions(60, 3),
        HopExample(MaskedQuestion(("of", "of", "of"), ()), 2),
        HopExample(MaskedQuestion((), ()), 1),
    ]
    recipe = HopRecipe(TERMS, decay=0.03)
    weights = train_hop_predictor(some, recipe, encode, "own")
    rows = [question_terms(one.question) for one in some]
    terms = sorted({term for row in rows for term in row})
    assert weights.terms == tuple(terms)
    idf = [np.log((1 + len(rows)) / (1 + sum(term in row for row in rows))) + 1 for term in terms]
    assert weights.arrays["idf"].tolist() == pytest.approx(idf, rel=1e-6)
    table = np.array([[row.count(term) * weight for term, weight in zip(terms, idf, strict=True)] for row in rows])
    hops = np.array([one.hops for one in some], dtype=np.float64)
    mean = hops.mean()
    dense = np.linalg.solve(table.T @ table + 0.03 * len(some) * np.eye(len(terms)), table.T @ (hops - mean))
    np.testing.assert_allclose(weights.arrays["weights"], dense, atol=1e-6)
    fitted = table @ dense + mean
    spread = np.sqrt(np.mean((fitted - hops) ** 2))
    assert weights.arrays["spread"].tolist() == pytest.approx([max(spread, 0.2), mean], abs=1e-6)
    np.testing.assert_allclose(HopPredictor(weights).expected_hops([one.question for one in some]), fitted, atol=1e-5)


def test_terms_separate_simple_from_complex() -> None:
    weights = train_hop_predictor(make_questions(400, 3), HopRecipe(TERMS, decay=1e-3), encode, "own")
    assert (weights.kind, weights.encoder) == (TERMS, "")
    assert accuracy(HopPredictor(weights), make_questions(200, 3, seed=6)) > 0.9
    (one,) = make_questions(1, 3)
    few = train_hop_predictor([one], HopRecipe(TERMS), encode, "own")
    assert HopPredictor(few).expected_hops([one.question]).tolist() == pytest.approx([one.hops])


def test_feedback_changes_the_weights_slightly_in_the_right_direction(trained_on_two_hops: HopPredictorWeights) -> None:
    before = {name: array.copy() for name, array in trained_on_two_hops.arrays.items()}
    strange = [HopExample(MaskedQuestion(("who", "is", "the", word, "of"), ()), 3) for word in UNSEEN[:8]]
    adapted = train_hop_predictor(strange, FEEDBACK_RECIPE, encode, "own", LEARNED, start=trained_on_two_hops)
    for name, array in trained_on_two_hops.arrays.items():
        np.testing.assert_array_equal(array, before[name])
    old, new = HopPredictor(trained_on_two_hops, encode), HopPredictor(adapted, encode)
    questions = [one.question for one in strange]
    moved = new.expected_hops(questions) - old.expected_hops(questions)
    assert (moved > 0).all()
    assert (moved < 0.05).all()
    many = train_hop_predictor(
        strange, replace(FEEDBACK_RECIPE, epochs=60, rate=1e-2), encode, "own", start=trained_on_two_hops
    )
    assert accuracy(HopPredictor(many, encode), strange) > accuracy(old, strange)


def test_without_steps_the_start_is_unchanged(trained_on_two_hops: HopPredictorWeights) -> None:
    still = train_hop_predictor(
        make_questions(5, 1), replace(FEEDBACK_RECIPE, epochs=0), encode, "own", start=trained_on_two_hops
    )
    for name in ARRAY_NAMES[WORDS]:
        np.testing.assert_allclose(still.arrays[name], trained_on_two_hops.arrays[name], rtol=1e-6)


def test_more_hops_than_classes_count_as_the_last_class() -> None:
    some = make_questions(40, 2)
    far = [replace(one, hops=40) if one.hops == 2 else one for one in some]
    most = [replace(one, hops=HOP_CLASSES) if one.hops == 2 else one for one in some]
    recipe = replace(QUICK, epochs=2)
    one, other = (train_hop_predictor(examples, recipe, encode, "own") for examples in (far, most))
    np.testing.assert_array_equal(one.arrays["direct"], other.arrays["direct"])


def test_questions_without_words_can_be_trained_on() -> None:
    weights = train_hop_predictor([HopExample(MaskedQuestion((), ()), 2)] * 4, replace(QUICK, epochs=40), encode, "own")
    assert int(HopPredictor(weights, encode).hop_probabilities([MaskedQuestion((), ())]).argmax()) + 1 in (1, 2)


def test_accuracy_matches_a_hand_computed_one() -> None:
    arrays = {"weights": np.ones(1, dtype=np.float32), "idf": np.ones(1, dtype=np.float32)}
    arrays["spread"] = np.array([0.2, 0.0], dtype=np.float32)
    router = HopPredictor(HopPredictorWeights(TERMS, arrays, ("hop",), "", {}))
    some = [
        HopExample(MaskedQuestion(("hop",) * words, ()), hops)
        for words, hops in ((1, 1), (3, 3), (4, 3), (2, 3), (1, 2))
    ]
    assert accuracy(router, some) == pytest.approx(4 / 5)
    assert accuracy(router, some, delta=1) == pytest.approx(4 / 5)
    assert accuracy(router, some, delta=3) == pytest.approx(4 / 5)


def test_unusable_examples_and_starts_are_refused() -> None:
    for recipe in (QUICK, HopRecipe(TERMS), FEEDBACK_RECIPE):
        with pytest.raises(InputError, match="no question to learn from"):
            train_hop_predictor([], recipe, encode, "own", LEARNED)
    some = make_questions(5, 1)
    terms = train_hop_predictor(some, HopRecipe(TERMS), encode, "own")
    for start in (terms, train_hop_predictor(some, replace(QUICK, epochs=1), encode, "another")):
        with pytest.raises(InputError, match="wanted words of the same encoder"):
            train_hop_predictor(some, FEEDBACK_RECIPE, encode, "own", start=start)
