"""Composed embeddings of triples and paths against explicit sums."""

import numpy as np
import pytest

from clew.graph import triple_embeddings as module
from clew.graph.csr import build_adjacency
from clew.graph.segments.passage_columns import PassageVectors
from clew.graph.triple_embeddings import TripleEmbeddings

RANDOM = np.random.default_rng(0)


def normalize_rows(rows: np.ndarray) -> np.ndarray:
    normalized: np.ndarray = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype(np.float32)
    return normalized


NAMES, RELATIONS, PASSAGES = (normalize_rows(RANDOM.normal(size=(count, 6))) for count in (5, 3, 4))
TRIPLES = np.array([[0, 0, 1], [1, 1, 2], [2, 2, 3], [3, 0, 4], [4, 1, 0]], dtype=np.int32)
STATED = [[0], [0, 1], [2], [3, 1], [3]]
VECTORS = TripleEmbeddings(
    TRIPLES,
    NAMES,
    RELATIONS,
    build_adjacency([t for t, ps in enumerate(STATED) for _ in ps], [p for ps in STATED for p in ps], np.ones(7), 5),
    PassageVectors.from_matrix(PASSAGES),
)
QUESTION = normalize_rows(RANDOM.normal(size=6))


def triple_vector(triple: int) -> np.ndarray:
    head, relation, tail = TRIPLES[triple]
    return normalize_rows(NAMES[head] + RELATIONS[relation] + NAMES[tail])


@pytest.mark.parametrize("cells", [1, 7, 1 << 20])
def test_the_nearest_triple_of_many_texts(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_CELLS", cells)
    texts = normalize_rows(RANDOM.normal(size=(20, 6)))
    for allowed in (np.ones(5, dtype=bool), np.array([True, False, True, False, True])):
        wanted = [max(np.flatnonzero(allowed), key=lambda t: float(triple_vector(int(t)) @ text)) for text in texts]
        assert VECTORS.nearest_triples(texts, allowed).tolist() == wanted
    assert VECTORS.nearest_triples(texts, np.zeros(5, dtype=bool)).tolist() == [-1] * 20


@pytest.mark.parametrize("context", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("path", [(), (2,), (2, 0)])
@pytest.mark.parametrize("allowed", [None, [True, False, True, True]])
def test_scores_of_paths(context: float, path: tuple[int, ...], allowed: list[bool] | None) -> None:
    mask = None if allowed is None else np.array(allowed)
    extensions = np.array([1, 3, 4])
    scores = VECTORS.path_scorer(QUESTION, context, mask)(path, extensions)
    for triple, score in zip(extensions.tolist(), scores.tolist(), strict=True):
        path_cosine = float(normalize_rows(np.sum([triple_vector(t) for t in (*path, triple)], axis=0)) @ QUESTION)
        stating = [p for p in STATED[triple] if allowed is None or allowed[p]]
        passage_cosine = max((float(PASSAGES[p] @ QUESTION) for p in stating), default=-1.0)
        assert score == pytest.approx((1 + (1 - context) * path_cosine + context * passage_cosine) / 2, abs=1e-6)
    assert (scores >= 0).all()


def test_a_triple_that_no_passage_states_is_scored_without_context() -> None:
    none = build_adjacency([], [], [], len(TRIPLES))
    imported = TripleEmbeddings(TRIPLES, NAMES, RELATIONS, none, PassageVectors.from_matrix(PASSAGES))
    found = imported.path_scorer(QUESTION, 0.7)((2,), np.arange(5))
    np.testing.assert_array_equal(found, VECTORS.path_scorer(QUESTION, 0.0)((2,), np.arange(5)))
