"""Which relations have a vector of their own, and which vector the others have."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from clew.graph.snapshot import relation_vectors
from clew.graph.snapshot.relation_vectors import (
    frequent_relations,
    passage_relation_vectors,
    shared_vectors,
    vector_rows,
)
from clew.graph.snapshot.relational_edges import RelationalEdges, passage_graph, relation_texts
from clew.index import Index
from clew.models.encoders.hashing import HashingEncoder

if TYPE_CHECKING:
    from clew.arrays import FloatArray

TEXTS = ["had also been directed by", "directed by", "Directed By", "also", "is", "saw", "been directed", "born in"]


def make_edges(counts: Sequence[int]) -> RelationalEdges:
    """Return edges of which each relation has so many, every second one as its inverse."""
    relations = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    relations[::2] += len(counts)
    none = np.zeros(len(relations), dtype=np.int32)
    return RelationalEdges(np.array([0, len(relations)]), none, relations, none, len(counts))


@pytest.mark.parametrize("most", [1, 3, 4, 5, 6, 7, 4096])
def test_the_most_frequent_relations_have_vectors_ties_by_text(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation_vectors, "MAX_VECTORS", most)
    frequent = frequent_relations(make_edges([2, 1, 5, 0, 2, 2, 3]), list("gfedcba"))
    assert frequent.tolist() == [2, 6, 5, 4, 0, 1][:most]
    assert not len(frequent_relations(make_edges([0, 0]), list("ab")))


def test_a_rare_relation_has_the_vector_of_its_longest_run_of_words_and_the_last_of_equals() -> None:
    def borrowed(text: str, *frequent: str) -> str:
        texts = [text, *frequent]
        row = vector_rows(texts, np.arange(1, len(texts)))[0]
        return texts[1 + row] if row < len(frequent) else "the mean"

    assert borrowed("had also been directed by", "by", "directed by", "had also", "been directed") == "directed by"
    assert borrowed("had also been directed by", "by", "had", "also been directed") == "also been directed"
    assert borrowed("was Directed BY", "directed by", "was") == "directed by"
    assert borrowed("was directed by", "DIRECTED by", "was") == "DIRECTED by"
    assert borrowed("directed by", "by directed", "direct") == "the mean"
    assert borrowed("", "by") == borrowed("saw") == "the mean"


def test_every_frequent_relation_has_its_own_vector_also_beside_one_in_other_capitals() -> None:
    rows = vector_rows(TEXTS, np.array([2, 1, 4]))
    assert rows[[2, 1, 4]].tolist() == [0, 1, 2]
    assert rows.tolist() == [0, 1, 0, 3, 2, 3, 3, 3]


def test_the_last_vector_is_the_mean_of_the_others() -> None:
    encode = HashingEncoder(16).encode
    vectors = shared_vectors(TEXTS, np.array([4, 1]), encode)
    one, other = encode([TEXTS[4], TEXTS[1]])
    mean = one + other
    np.testing.assert_allclose(vectors, [one, other, mean / np.linalg.norm(mean)], atol=1e-6)
    assert vectors.dtype == np.float32
    assert shared_vectors(TEXTS, np.zeros(0, dtype=np.int64), encode).tolist() == [[0.0] * 16]


@pytest.mark.parametrize("most", [5, 4096])
def test_relations_of_an_index_have_their_own_vectors_where_there_are_few(
    plain_polar: Index, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relation_vectors, "MAX_VECTORS", most)
    edges, texts = passage_graph(plain_polar.snapshot), relation_texts(plain_polar.snapshot)
    encoded: list[str] = []

    def encode(some: Sequence[str]) -> "FloatArray":
        encoded.extend(some)
        return plain_polar.context.encoder.encode(some)

    vectors, used = passage_relation_vectors(edges, texts, encode), np.unique(edges.relations % edges.relation_count)
    own = plain_polar.context.encoder.encode(texts)
    same = {r for r in used.tolist() if (vectors[r] == own[r]).all()}
    assert len(encoded) == min(most, len(used))
    assert {texts.index(text) for text in encoded} <= same
    assert (same == set(used.tolist())) == (most >= len(used))


def test_a_text_of_thousands_of_words_borrows_too() -> None:
    texts = ["directed by", "was then " * 3000 + "directed by"]
    assert vector_rows(texts, np.array([0], dtype=np.int64)).tolist() == [0, 0]
