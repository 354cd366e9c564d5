"""Ranking of relation paths: as texts, and by a head against sums in plain Python."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import clew
from clew.errors import ProviderError
from clew.models.encoders.hashing import HashingEncoder
from clew.models.text_scorers import BiEncoderScorer
from clew.query.linking import mask_names
from clew.query.relation_matching import RelationTexts, match_relations
from clew.retrievers.frag.path_ranking import (
    ARRAY_NAMES,
    FEATURES,
    PathRankerWeights,
    RelationPathRanker,
    TextPathRanker,
    TrainedPathRanker,
    load_path_ranker,
    relation_path_features,
)
from clew.text.bm25 import BM25Scorer
from clew_lab.training.saved_weights import save_path_ranker
from tests.retrievers.frag.damage import change_arrays, change_config, write_bytes, zeros

if TYPE_CHECKING:
    from clew.types import FloatArray

NAMES = ("directed by", "starred actors", "release year", "place of birth")
ENCODER = HashingEncoder(32)
QUESTION = mask_names("who directed the films that starred X", [(36, 37)])
CODES = np.arange(8, dtype=np.int32)
CHAINS = [(3,), (2,), (3, 0), (2, 1), (4, 5, 6), (0,)]


def texts() -> RelationTexts:
    ends = ["films" if code % 2 else "people" for code in CODES]
    return RelationTexts(NAMES.__getitem__, ends.__getitem__, ENCODER.encode, ENCODER.encode_queries)


def head(rank: int = 3, seed: int = 0) -> PathRankerWeights:
    random = np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {"weights": (len(FEATURES),), "question_side": (rank, 32)}
    shapes["relation_side"] = (rank, 32)
    drawn = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return PathRankerWeights(**drawn, encoder=ENCODER.fingerprint, about={"n": 1})


class LengthScorer:
    """A scorer by the length of a text, which records its calls."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, question: str, texts: Sequence[str]) -> "FloatArray":
        self.asked.append((question, list(texts)))
        return np.array([len(text) for text in texts], dtype=np.float32)


def test_paths_with_equal_texts_are_scored_once() -> None:
    scorer = LengthScorer()
    actual = TextPathRanker(scorer, texts(), 2.0, "told").make_scorer(QUESTION, CODES)(CHAINS)
    chains = ["starred actors", "starred actors, directed by", "release year, release year, place of birth"]
    assert scorer.asked == [(QUESTION.text, [*chains, "directed by"])]
    assert actual.tolist() == [7.0, 7.0, 13.5, 13.5, 21.0, 5.5]


def test_any_text_scorer_works() -> None:
    for scorer in (BM25Scorer(), BiEncoderScorer(ENCODER.encode, ENCODER.encode_queries)):
        scores = TextPathRanker(scorer, texts(), 0.5, "any").make_scorer(QUESTION, CODES)
        actual = scores(CHAINS)
        expected = [float(scorer.score(QUESTION.text, [texts().path_text(chain)])[0]) / 0.5 for chain in CHAINS]
        if not isinstance(scorer, BM25Scorer):  # a text is weighed beside the others
            assert actual.tolist() == pytest.approx(expected, abs=1e-5)
        assert actual.dtype == np.float32
        assert scores([]).shape == (0,)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_the_head_adds_features_and_projections(rank: int) -> None:
    weights = head(rank)
    actual = TrainedPathRanker(weights, texts()).make_scorer(QUESTION, CODES)(CHAINS)
    features = relation_path_features(match_relations(QUESTION, CODES, texts()), CHAINS)
    question = ENCODER.encode([QUESTION.text])[0].tolist()
    for score, row, chain in zip(actual.tolist(), features.tolist(), CHAINS, strict=True):
        expected = sum(a * b for a, b in zip(row, weights.weights.tolist(), strict=True))
        vector = texts().step_vectors(np.array(chain, dtype=np.int32)).mean(axis=0).tolist()
        for query, message in zip(weights.question_side.tolist(), weights.relation_side.tolist(), strict=True):
            expected += sum(a * b for a, b in zip(query, question, strict=True)) * sum(
                a * b for a, b in zip(message, vector, strict=True)
            )
        assert score == pytest.approx(expected, abs=1e-4)


def test_each_question_has_its_own_scores_and_no_path_has_none() -> None:
    ranker: RelationPathRanker = TrainedPathRanker(head(), texts())
    one = ranker.make_scorer(QUESTION, CODES)
    other = ranker.make_scorer(mask_names("where was X born", [(10, 11)]), CODES)
    assert not np.allclose(one(CHAINS), other(CHAINS))
    np.testing.assert_allclose(one(CHAINS[2:4]), one(CHAINS)[2:4], rtol=1e-5)
    assert one([]).shape == (0,)
    assert ranker.make_scorer(QUESTION, CODES[:0])([]).shape == (0,), "the question is about an entity without facts"


def test_the_fingerprint_follows_the_weights() -> None:
    fingerprints = {TrainedPathRanker(weights, texts()).fingerprint for weights in (head(), head(seed=1), head(rank=2))}
    assert len(fingerprints) == 3
    assert TrainedPathRanker(replace(head(), about={}), texts()).fingerprint in fingerprints
    cold, warm = (TextPathRanker(LengthScorer(), texts(), temperature, "length") for temperature in (0.05, 1.0))
    assert cold.fingerprint != warm.fingerprint


def test_saved_weights_are_read_back(tmp_path: Path) -> None:
    for rank in (0, 3):
        for name in ("one", "other"):
            save_path_ranker(tmp_path / "new" / name, head(rank))
        read = load_path_ranker(tmp_path / "new" / "one")
        for name in ARRAY_NAMES:
            np.testing.assert_array_equal(getattr(read, name), getattr(head(rank), name))
        assert (read.encoder, dict(read.about)) == (ENCODER.fingerprint, {"n": 1})
        for file in ("config.json", "model.safetensors"):
            assert (tmp_path / "new" / "one" / file).read_bytes() == (tmp_path / "new" / "other" / file).read_bytes()


def test_the_shipped_head_can_be_read() -> None:
    weights = load_path_ranker(Path(clew.__file__).parent / "weights" / "paths")
    assert weights.weights[FEATURES.index("explained")] > 0
    assert weights.encoder


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "model.safetensors").unlink(),
        write_bytes("config.json", b"[]"),
        change_config(features=["explained"]),
        change_config(features=[*FEATURES, "more"]),
        change_config(features=sorted(FEATURES)),
        change_config(features=None),
        change_config(encoder=None),
        change_config(about="x"),
        change_arrays(weights=None),
        change_arrays(more=zeros(1)),
        change_arrays(weights=zeros(len(FEATURES) + 1)),
        change_arrays(weights=zeros(len(FEATURES), 1)),
        change_arrays(question_side=zeros(2, 32)),
        change_arrays(relation_side=zeros(3, 31)),
        change_arrays(question_side=zeros(32), relation_side=zeros(32)),
        change_arrays(question_side=zeros(3, 32, 1), relation_side=zeros(3, 32, 1)),
    ],
)
def test_damage_is_reported_in_one_line(damage: Callable[[Path], object], tmp_path: Path) -> None:
    save_path_ranker(tmp_path / "paths", head())
    damage(tmp_path / "paths")
    message = r"the path ranker in .*paths cannot be read .*train or install it again"
    with pytest.raises(ProviderError, match=message) as raised:
        load_path_ranker(tmp_path / "paths")
    assert "\n" not in str(raised.value)
