"""What chains of relations have to do with a question, against trying every choice of words."""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.models.encoders.hashing import HashingEncoder
from clew.models.encoders.memory import VectorMemory
from clew.query.masking import MaskedQuestion, find_relation_words, mask_names
from clew.query.relation_matching import RelationMatch, RelationTexts, match_relations
from clew.retrievers.frag.chain_features import FEATURES, relation_path_features

if TYPE_CHECKING:
    from clew.types import FloatArray

NAMES = ("directed by", "starred actors", "release year", "place of birth", "written by")
ENDS = tuple(f"{side} of {name}" for name in NAMES for side in ("tails", "heads"))
ENCODER = HashingEncoder(64)
COLUMN = {name: place for place, name in enumerate(FEATURES)}


def texts() -> RelationTexts:
    return RelationTexts(NAMES.__getitem__, ENDS.__getitem__, ENCODER.encode, ENCODER.encode_queries)


def of(question: MaskedQuestion, chains: Sequence[tuple[int, ...]], codes: Sequence[int] = range(10)) -> "FloatArray":
    relations = texts()
    return relation_path_features(match_relations(question, np.array(codes), relations), chains)


def asked_for(chain: tuple[int, ...]) -> list[int]:
    """The relations of a chain without the steps that undo the one before."""
    return [code for place, code in enumerate(chain) if not place or code != chain[place - 1] ^ 1]


def aligned(alike: Sequence[Sequence[float]], columns: Sequence[int]) -> float:
    """The best mean likeness of relations to words that are chosen in ascending order."""
    if not alike:
        return 0.0
    if len(alike) < len(columns):
        return sum(max(row[column] for row in alike) for column in columns) / len(columns) - 0.2
    choices = combinations(range(len(alike)), len(columns))
    return max(
        sum(alike[word][column] for word, column in zip(words, columns, strict=True)) / len(columns)
        for words in choices
    )


def explained(alike: Sequence[Sequence[float]], weights: Sequence[float], columns: Sequence[int]) -> float:
    """How like each word is to the likest relation, weighted."""
    told = sum(weight * max(row[column] for column in columns) for row, weight in zip(alike, weights, strict=True))
    return told / sum(weights) if sum(weights) > 0 else 0.0


CHAINS = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5).map(tuple), min_size=1, max_size=6)
LIKENESS = st.floats(-1, 1, width=32)


@settings(deadline=None, max_examples=200)
@given(st.data(), CHAINS, st.integers(0, 6))
def test_every_number_as_by_trying_every_choice_of_words(
    data: st.DataObject, chains: list[tuple[int, ...]], words: int
) -> None:
    def drawn(*shape: int) -> "FloatArray":
        size = int(np.prod(shape))
        values = data.draw(st.lists(LIKENESS, min_size=size, max_size=size))
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
    found = relation_path_features(question, chains)
    assert found.shape == (len(chains), len(FEATURES))
    assert found.dtype == np.float32
    names, ends = question.name_similarity.tolist(), question.step_similarity.tolist()
    for row, chain in zip(found.tolist(), chains, strict=True):
        columns = asked_for(chain)
        mean = np.mean([rows[code] for code in chain], axis=0)
        wanted = [
            explained(names, weights.tolist(), columns),
            max(aligned(ends, columns), aligned([ends[word] for word in order], columns)),
            explained(ends, end_weights.tolist(), columns),
            float(mean @ vector / np.linalg.norm(mean)),
            len(chain) - len(columns),
            sum(code % 2 for code in chain) / len(chain),
            float(question.end_similarity[chain[-1]]),
        ]
        assert row == pytest.approx(wanted, abs=1e-5)


def test_codes_need_not_be_all() -> None:
    question = mask_names("who directed the film that X starred in", [(29, 30)])
    chains = [(0,), (3, 0), (4,)]
    some = [0, 3, 4]
    relations = texts()
    beside = match_relations(question, np.array(some), relations)
    assert beside.name_similarity.shape[1] == beside.step_similarity.shape[1] == len(beside.end_similarity) == 3
    (first, _, last) = relation_path_features(beside, chains)
    assert first[COLUMN["kind_of_end"]] == beside.end_similarity[0]
    assert last[COLUMN["kind_of_end"]] == beside.end_similarity[2]
    assert first[COLUMN["explained"]] > last[COLUMN["explained"]]


def test_what_words_and_relations_are_compared_by() -> None:
    question = mask_names("what is the place of birth of the actors X starred", [(41, 42)])
    relations, codes = texts(), np.array([1, 2, 6])
    beside = match_relations(question, codes, relations)
    asking = find_relation_words(question)
    np.testing.assert_array_equal(beside.question_vector, ENCODER.encode([question.text])[0])
    names = ENCODER.encode([NAMES[code // 2] for code in codes])
    ends = ENCODER.encode([ENDS[code] for code in codes])
    np.testing.assert_allclose(beside.end_similarity, [end @ beside.question_vector for end in ends], atol=1e-6)
    both = np.stack([(n + e) / np.linalg.norm(n + e) for n, e in zip(names, ends, strict=True)])
    told = ((names, beside.name_similarity, beside.name_weights), (both, beside.step_similarity, beside.step_weights))
    for table, alike, weights in told:
        assert alike.shape == (len(asking.phrases), 3)
        for around, row, weight in zip(asking.phrases, alike, weights, strict=True):
            each = [[float(ENCODER.encode([phrase])[0] @ name) for name in table] for phrase in around]
            less = [[value - sum(values) / 3 for value in values] for values in each]
            wanted = [max(values[column] for values in less) for column in range(3)]
            assert row.tolist() == pytest.approx(wanted, abs=1e-6)
            assert weight == pytest.approx(max(0.0, *wanted), abs=1e-6)
    assert beside.reverse_order.tolist() == list(asking.reverse_order)


def test_a_chain_that_the_question_asks_for_is_explained_best() -> None:
    question = mask_names("who directed the films starred by X", [(34, 35)])
    chains = [(3, 0), (0, 3), (4,), (8, 7)]
    found = of(question, chains)
    assert int(np.argmax(found[:, COLUMN["explained"]])) in (0, 1)
    assert int(np.argmax(found[:, COLUMN["in_order"]])) == 0, "the words nearest to the name first"


def test_there_and_back_is_asked_for_once() -> None:
    question = mask_names("films directed by who directed X", [(31, 32)])
    once, twice, both, thrice = of(question, [(0,), (0, 1), (0, 1, 0), (0, 1, 0, 1)])
    back, explained_ = COLUMN["back_and_forth"], COLUMN["explained"]
    assert [row[back] for row in (once, twice, both, thrice)] == [0, 1, 2, 3]
    assert once[explained_] == twice[explained_] == both[explained_] == thrice[explained_]
    assert of(question, [(0, 0), (1, 1), (1, 3), (0, 2)])[:, back].tolist() == [0, 0, 0, 0]


def test_against() -> None:
    found = of(mask_names("x", []), [(0,), (1,), (1, 0), (1, 2, 3)])
    assert found[:, COLUMN["against"]].tolist() == pytest.approx([0, 1, 1 / 2, 2 / 3])


def test_a_question_that_asks_nothing_in_words() -> None:
    found = of(mask_names("who is it", []), [(0,), (2, 5)])
    assert np.isfinite(found).all()
    for name in ("explained", "in_order", "explained_by_ends"):
        assert found[:, COLUMN[name]].tolist() == [0, 0]


def test_no_chain_and_no_relation() -> None:
    question = mask_names("who directed X", [(13, 14)])
    assert of(question, []).shape == (0, len(FEATURES))
    assert of(question, [], []).shape == (0, len(FEATURES)), "the question is about an entity without facts"


def test_a_relation_alone_says_nothing_of_words() -> None:
    found = of(mask_names("who directed X", [(13, 14)]), [(0,)], [0])
    assert found[0, COLUMN["explained"]] == found[0, COLUMN["in_order"]] == 0, "the mean is taken off"


def test_a_step_knows_its_name_and_what_stands_at_its_end() -> None:
    found = texts().step_vectors(np.array([0, 1, 7], dtype=np.int32))
    for row, code in zip(found, (0, 1, 7), strict=True):
        both = np.sum(ENCODER.encode([NAMES[code // 2], ENDS[code]]), axis=0)
        np.testing.assert_allclose(row, both / np.linalg.norm(both), atol=1e-6)


def test_chains_in_words() -> None:
    assert texts().path_text((0, 3, 6)) == "directed by, starred actors, place of birth"
    assert texts().path_text(()) == ""


def test_each_text_is_encoded_once() -> None:
    asked: list[list[str]] = []

    def encode(some: Sequence[str]) -> "FloatArray":
        asked.append(list(some))
        return ENCODER.encode(some)

    memory = VectorMemory(encode, max_texts=4)
    rows = memory(["a", "b", "a"])
    np.testing.assert_array_equal(rows, ENCODER.encode(["a", "b", "a"]))
    np.testing.assert_array_equal(memory(["c", "b"]), ENCODER.encode(["c", "b"]))
    assert asked == [["a", "b"], ["c"]]
    wanted = ["b", "d", "e", "d"]
    np.testing.assert_array_equal(memory(wanted), ENCODER.encode(wanted))
    assert asked[2:] == [["b", "d", "e"]], "there is no room: it begins anew"
    many = [f"text {number}" for number in range(9)]
    np.testing.assert_array_equal(memory(many), ENCODER.encode(many))
    assert memory([]).shape == (0, 0)
