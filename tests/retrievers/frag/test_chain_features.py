"""Features of relation paths, against a search over all assignments of words."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.memory import VectorMemory
from clew.query.linking import MaskedQuestion, find_relation_words, mask_names
from clew.query.relation_matching import RelationMatch, RelationTexts, match_relations
from clew.retrievers.frag.path_ranking import FEATURES, relation_path_features

if TYPE_CHECKING:
    from clew.types import FloatArray

NAMES = ("directed by", "starred actors", "release year", "place of birth", "written by")
ENDS = tuple(f"{side} of {name}" for name in NAMES for side in ("tails", "heads"))
ENCODER = HashingEncoder(64)
COLUMN = {name: place for place, name in enumerate(FEATURES)}


def texts() -> RelationTexts:
    return RelationTexts(NAMES.__getitem__, ENDS.__getitem__, ENCODER.encode, ENCODER.encode_queries)


def features_of(
    question: MaskedQuestion, chains: Sequence[tuple[int, ...]], codes: Sequence[int] = range(10)
) -> "FloatArray":
    relations = texts()
    return relation_path_features(match_relations(question, np.array(codes), relations), chains)


def without_returns(chain: tuple[int, ...]) -> list[int]:
    """Return the relations of a path without the steps that undo the one before."""
    return [code for position, code in enumerate(chain) if not position or code != chain[position - 1] ^ 1]


def best_alignment(alike: Sequence[Sequence[float]], columns: Sequence[int]) -> float:
    """Return the best mean similarity of relations to words in ascending order."""
    if not alike:
        return 0.0
    if len(alike) < len(columns):
        return sum(max(row[column] for row in alike) for column in columns) / len(columns) - 0.2
    choices = combinations(range(len(alike)), len(columns))
    return max(
        sum(alike[word][column] for word, column in zip(words, columns, strict=True)) / len(columns)
        for words in choices
    )


def explained_share(alike: Sequence[Sequence[float]], weights: Sequence[float], columns: Sequence[int]) -> float:
    """Return the weighted mean similarity of each word to the most similar relation."""
    reports = sum(weight * max(row[column] for column in columns) for row, weight in zip(alike, weights, strict=True))
    return reports / sum(weights) if sum(weights) > 0 else 0.0


CHAINS = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5).map(tuple), min_size=1, max_size=6)
SIMILARITIES = st.floats(-1, 1, width=32)


@settings(deadline=None, max_examples=200)
@given(st.data(), CHAINS, st.integers(0, 6))
def test_features_equal_a_search_over_all_assignments_of_words(
    data: st.DataObject, chains: list[tuple[int, ...]], words: int
) -> None:
    def drawn(*shape: int) -> "FloatArray":
        size = int(np.prod(shape))
        values = data.draw(st.lists(SIMILARITIES, min_size=size, max_size=size))
        return np.array(values, dtype=np.float32).reshape(shape)

    vector = ENCODER.encode(["who asks"])[0]
    rows = ENCODER.encode([NAMES[code // 2] for code in range(10)])
    order = np.array(data.draw(st.permutations(range(words))), dtype=np.int32)
    weights, end_weights = np.abs(drawn(words)), np.abs(drawn(words))
    question = RelationMatch(
        np.arange(10, dtype=np.int32),
        drawn(words, 10),
        drawn(words, 10),
        weights,
        end_weights,
        order,
        drawn(10),
        rows @ vector,
        rows @ rows.T,
        vector,
    )
    actual = relation_path_features(question, chains)
    assert actual.shape == (len(chains), len(FEATURES))
    assert actual.dtype == np.float32
    names, ends = question.name_similarity.tolist(), question.step_similarity.tolist()
    for row, chain in zip(actual.tolist(), chains, strict=True):
        columns = without_returns(chain)
        mean = np.mean([rows[code] for code in chain], axis=0)
        expected = [
            explained_share(names, weights.tolist(), columns),
            max(best_alignment(ends, columns), best_alignment([ends[word] for word in order], columns)),
            explained_share(ends, end_weights.tolist(), columns),
            float(mean @ vector / np.linalg.norm(mean)),
            len(chain) - len(columns),
            sum(code % 2 for code in chain) / len(chain),
            float(question.end_similarity[chain[-1]]),
        ]
        assert row == pytest.approx(expected, abs=1e-5)


def test_codes_may_be_a_subset() -> None:
    question = mask_names("who directed the film that X starred in", [(29, 30)])
    chains = [(0,), (3, 0), (4,)]
    some = [0, 3, 4]
    relations = texts()
    match = match_relations(question, np.array(some), relations)
    assert match.name_similarity.shape[1] == match.step_similarity.shape[1] == len(match.end_similarity) == 3
    (first, _, last) = relation_path_features(match, chains)
    assert first[COLUMN["kind_of_end"]] == match.end_similarity[0]
    assert last[COLUMN["kind_of_end"]] == match.end_similarity[2]
    assert first[COLUMN["explained"]] > last[COLUMN["explained"]]


def test_similarities_of_words_and_relations() -> None:
    question = mask_names("what is the place of birth of the actors X starred", [(41, 42)])
    relations, codes = texts(), np.array([1, 2, 6])
    match = match_relations(question, codes, relations)
    asking = find_relation_words(question)
    np.testing.assert_array_equal(match.question_vector, ENCODER.encode([question.text])[0])
    names = ENCODER.encode([NAMES[code // 2] for code in codes])
    ends = ENCODER.encode([ENDS[code] for code in codes])
    np.testing.assert_allclose(match.end_similarity, [end @ match.question_vector for end in ends], atol=1e-6)
    both = np.stack([(n + e) / np.linalg.norm(n + e) for n, e in zip(names, ends, strict=True)])
    reports = ((names, match.name_similarity, match.name_weights), (both, match.step_similarity, match.step_weights))
    for table, similarity, weights in reports:
        assert similarity.shape == (len(asking.phrases), 3)
        for phrases, row, weight in zip(asking.phrases, similarity, weights, strict=True):
            each = [[float(ENCODER.encode([phrase])[0] @ name) for name in table] for phrase in phrases]
            less = [[value - sum(values) / 3 for value in values] for values in each]
            expected = [max(values[column] for values in less) for column in range(3)]
            assert row.tolist() == pytest.approx(expected, abs=1e-6)
            assert weight == pytest.approx(max(0.0, *expected), abs=1e-6)
    assert match.reverse_order.tolist() == list(asking.reverse_order)


def test_a_question_without_relation_words() -> None:
    actual = features_of(mask_names("who is it", []), [(0,), (2, 5)])
    assert np.isfinite(actual).all()
    for name in ("explained", "in_order", "explained_by_ends"):
        assert actual[:, COLUMN[name]].tolist() == [0, 0]


def test_no_path_and_no_relation() -> None:
    question = mask_names("who directed X", [(13, 14)])
    assert features_of(question, []).shape == (0, len(FEATURES))
    assert features_of(question, [], []).shape == (0, len(FEATURES)), "the question is about an entity without facts"


def test_each_text_is_encoded_once() -> None:
    question: list[list[str]] = []

    def encode(some: Sequence[str]) -> "FloatArray":
        question.append(list(some))
        return ENCODER.encode(some)

    memory = VectorMemory(encode, max_texts=4)
    rows = memory(["a", "b", "a"])
    np.testing.assert_array_equal(rows, ENCODER.encode(["a", "b", "a"]))
    np.testing.assert_array_equal(memory(["c", "b"]), ENCODER.encode(["c", "b"]))
    assert question == [["a", "b"], ["c"]]
    expected = ["b", "d", "e", "d"]
    np.testing.assert_array_equal(memory(expected), ENCODER.encode(expected))
    assert question[2:] == [["b", "d", "e"]], "there is no room: it begins anew"
    many = [f"text {number}" for number in range(9)]
    np.testing.assert_array_equal(memory(many), ENCODER.encode(many))
    assert memory([]).shape == (0, 0)
