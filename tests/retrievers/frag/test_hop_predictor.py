"""Hop prediction: against sums in plain Python, weights on disk, and the shipped weights."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.errors import ProviderError
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.query.linking import MaskedQuestion, mask_names
from clew.retrievers.frag.hop_predictor import (
    HOP_CLASSES,
    TERMS,
    VECTOR_SCALE,
    WORDS,
    HopPredictor,
    HopPredictorWeights,
    load_hop_predictor,
    question_terms,
    save_hop_predictor,
)
from tests.retrievers.frag.damage import change_arrays, change_config, write_bytes, zeros

if TYPE_CHECKING:
    from clew.types import FloatArray

WIDTH, HIDDEN = 8, 3
ENCODER = HashingEncoder(WIDTH)
SHIPPED = Path(clew.__file__).parent / "weights"
ONE_HOP = ("who directed X", "which country is X in", "what year was X released")
THREE_HOPS = (
    "who are the actors in the films directed by the director of X",
    "what genres are the films that share actors with X",
    "the birthplace of X 's father 's spouse",
)


def random_weights(seed: int = 0, bell: float = 0.7, bias: float = 0.25) -> HopPredictorWeights:
    random = np.random.default_rng(seed)
    shapes: dict[str, Any] = {"direct": WIDTH + 1, "hidden": (HIDDEN, WIDTH), "hidden_bias": HIDDEN, "out": HIDDEN}
    change_arrays = {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    change_arrays["spread"] = np.array([bell, bias], dtype=np.float32)
    return HopPredictorWeights(WORDS, change_arrays, (), ENCODER.fingerprint, {"seed": seed})


def terms_weights() -> HopPredictorWeights:
    change_arrays = {
        "weights": np.array([0.5, -0.25, 1.0], dtype=np.float32),
        "idf": np.array([1.0, 2.0, 1.5], dtype=np.float32),
        "spread": np.array([0.6, 1.5], dtype=np.float32),
    }
    return HopPredictorWeights(TERMS, change_arrays, ("of", "who", "of the"), "", {"recipe": {}})


def plain_word_hops(vector: Sequence[float], change_arrays: "Mapping[str, FloatArray]") -> float:
    """Return the hops of a word by sums in plain Python."""
    scaled = [VECTOR_SCALE * value for value in vector]
    *direct, raw = map(float, change_arrays["direct"])
    raw += sum(a * b for a, b in zip(scaled, direct, strict=True))
    hidden: list[list[float]] = change_arrays["hidden"].tolist()
    for row, bias, out in zip(
        hidden, map(float, change_arrays["hidden_bias"]), map(float, change_arrays["out"]), strict=True
    ):
        raw += out * math.tanh(bias + sum(a * b for a, b in zip(scaled, row, strict=True)))
    return max(raw, 0.0) + math.log1p(math.exp(-abs(raw)))


def bell(count: float, width: float) -> list[float]:
    """Return the probabilities of 1, 2, ... hops."""
    count = min(max(count, 0.5), HOP_CLASSES + 0.5)
    heights = [math.exp(-((hops - count) ** 2) / (2 * width**2)) for hops in range(1, HOP_CLASSES + 1)]
    return [height / sum(heights) for height in heights]


def question(text: str) -> MaskedQuestion:
    position = text.find("X")
    return mask_names(text, [(position, position + 1)] if position >= 0 else [])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.sampled_from(["film", "of", "it", "who", "東"]), max_size=9), max_size=4))
def test_expected_hops_are_a_sum_over_words(questions: list[list[str]]) -> None:
    weights = random_weights(1)
    router = HopPredictor(weights, ENCODER.encode)
    query = [MaskedQuestion(tuple(words[: len(words) // 2]), tuple(words[len(words) // 2 :])) for words in questions]
    known_ids = {
        word: plain_word_hops(ENCODER.encode([word])[0].tolist(), weights.arrays) for word in chain(*questions)
    }
    expected = [0.25 + sum(known_ids[word] for word in words) for words in questions]
    assert router.expected_hops(query).tolist() == pytest.approx(expected, abs=1e-4)
    alone = [float(router.expected_hops([one])[0]) for one in query]
    assert router.expected_hops(query).tolist() == pytest.approx(alone, abs=1e-5)


def test_the_probabilities_of_each_number_of_hops() -> None:
    for seed in range(4):
        router = HopPredictor(random_weights(seed, bell=0.3 + seed), ENCODER.encode)
        query = [question("who made X"), question("the a b c d e f g of X"), MaskedQuestion((), ())]
        actual = router.hop_probabilities(query)
        assert actual.shape == (3, HOP_CLASSES)
        assert actual.sum(axis=1).tolist() == pytest.approx([1, 1, 1], abs=1e-6)
        for row, count in zip(actual.tolist(), router.expected_hops(query).tolist(), strict=True):
            assert row == pytest.approx(bell(count, float(router.weights.arrays["spread"][0])), abs=1e-5)
        for delta in range(HOP_CLASSES + 2):
            expected = [sum(row[delta:]) for row in actual.tolist()]
            assert router.multi_hop_probability(query, delta).tolist() == pytest.approx(expected, abs=1e-6)
        assert router.multi_hop_probability(query).tolist() == router.multi_hop_probability(query, 2).tolist()


@pytest.mark.parametrize("count", [-50.0, 0.0, 1e6])
def test_a_count_out_of_range_still_gives_probabilities(count: float) -> None:
    router = HopPredictor(random_weights(0, bell=0.05, bias=count), ENCODER.encode)
    actual = router.hop_probabilities([MaskedQuestion((), ())])
    assert np.isfinite(actual).all()
    assert int(actual[0].argmax()) == (0 if count <= 0 else HOP_CLASSES - 1)
    assert float(actual.sum()) == pytest.approx(1)


def test_an_empty_batch_of_questions() -> None:
    for router in (HopPredictor(random_weights(), ENCODER.encode), HopPredictor(terms_weights())):
        assert router.expected_hops([]).shape == router.multi_hop_probability([]).shape == (0,)
        assert router.hop_probabilities([]).shape == (0, HOP_CLASSES)


def test_terms_are_words_and_pairs_of_neighbours() -> None:
    assert question_terms(question("who of of X")) == ["who", "of", "of", "it", "who of", "of of", "of it"]
    assert question_terms(MaskedQuestion((), ())) == ["it"]


def test_known_terms_add_their_weight_for_each_occurrence() -> None:
    router = HopPredictor(terms_weights())
    query = [question("who of of X"), question("of the of the X"), question("nothing X"), MaskedQuestion((), ())]
    once, pairs = 0.5 * 1.0, 1.0 * 1.5
    expected = [1.5 - 0.25 * 2.0 + 2 * once, 1.5 + 2 * once + 2 * pairs, 1.5, 1.5]
    assert router.expected_hops(query).tolist() == pytest.approx(expected)
    assert router.hop_probabilities(query)[2].tolist() == pytest.approx(bell(1.5, 0.6), abs=1e-6)


@pytest.mark.parametrize("weights", [random_weights(3), terms_weights()])
def test_saved_weights_are_read_back(weights: HopPredictorWeights, tmp_path: Path) -> None:
    for name in ("one", "other"):
        save_hop_predictor(tmp_path / "new" / name, weights)
    read = load_hop_predictor(tmp_path / "new" / "one")
    assert replace(read, arrays={}) == replace(weights, arrays={})
    assert set(read.arrays) == set(weights.arrays)
    for name, array in weights.arrays.items():
        np.testing.assert_array_equal(read.arrays[name], array)
    assert HopPredictor(read).fingerprint == HopPredictor(weights).fingerprint
    for file in ("config.json", "model.safetensors"):
        assert (tmp_path / "new" / "one" / file).read_bytes() == (tmp_path / "new" / "other" / file).read_bytes()


def test_the_fingerprint_changes_with_the_weights() -> None:
    plain = terms_weights()
    other = replace(plain, arrays={**plain.arrays, "idf": np.array([1.0, 2.0, 1.25], dtype=np.float32)})
    swapped = replace(plain, terms=("who", "of", "of the"))
    reports = [
        HopPredictor(weights).fingerprint for weights in (plain, other, swapped, random_weights(0), random_weights(1))
    ]
    assert len(set(reports)) == 5
    assert HopPredictor(replace(plain, about={})).fingerprint == reports[0]


DAMAGE = [
    (random_weights(), lambda folder: (folder / "model.safetensors").unlink()),
    (random_weights(), write_bytes("config.json", b"[]")),
    (random_weights(), change_config(kind="letters")),
    (random_weights(), change_config(kind=TERMS)),
    (random_weights(), change_config(terms=7)),
    (random_weights(), change_config(encoder="hashing")),
    (random_weights(), change_config(encoder={})),
    (random_weights(), change_config(about=3)),
    (random_weights(), change_arrays(spread=None)),
    (random_weights(), change_arrays(more=zeros(1))),
    (random_weights(), change_arrays(spread=zeros(0))),
    (random_weights(), change_arrays(spread=zeros(2))),  # a bell without a width
    (random_weights(), change_arrays(direct=zeros(WIDTH))),
    (random_weights(), change_arrays(hidden=zeros(HIDDEN, WIDTH + 1))),
    (random_weights(), change_arrays(hidden_bias=zeros(HIDDEN + 1))),
    (random_weights(), change_arrays(out=zeros(HIDDEN, 2))),
    (terms_weights(), change_config(kind=WORDS)),
    (terms_weights(), change_config(terms=["of", "who"])),
    (terms_weights(), change_arrays(idf=zeros(2))),
    (terms_weights(), change_arrays(weights=zeros(4))),
    (terms_weights(), change_arrays(weights=zeros(3, 2))),
]


@pytest.mark.parametrize(("weights", "damage"), DAMAGE)
def test_damage_is_reported_in_one_line(
    weights: HopPredictorWeights, damage: Callable[[Path], object], tmp_path: Path
) -> None:
    save_hop_predictor(tmp_path / "router", weights)
    damage(tmp_path / "router")
    message = r"the router in .*router cannot be read .*train or install it again"
    with pytest.raises(ProviderError, match=message) as raised:
        load_hop_predictor(tmp_path / "router")
    assert "\n" not in str(raised.value)


def test_the_shipped_network_separates_simple_and_complex_questions() -> None:
    encoder = open_encoder(DEFAULT_ENCODER)
    weights = load_hop_predictor(SHIPPED / "router")
    assert weights.kind == WORDS
    assert weights.encoder == encoder.fingerprint
    router = HopPredictor(weights, encoder.encode)
    check_shipped(router)


def test_the_shipped_terms_separate_simple_and_complex_questions() -> None:
    weights = load_hop_predictor(SHIPPED / "router-terms")
    assert (weights.kind, weights.encoder) == (TERMS, "")
    check_shipped(HopPredictor(weights))


def check_shipped(router: HopPredictor) -> None:
    reports = router.multi_hop_probability([question(text) for text in (*ONE_HOP, THREE_HOPS[0])])
    assert (reports[:3] < 0.5).all()
    assert reports[3] > 0.5
    likeliest = (
        router.hop_probabilities([question(text) for text in ("who directed X", THREE_HOPS[0])]).argmax(axis=1) + 1
    )
    assert likeliest.tolist() == [1, 3]
