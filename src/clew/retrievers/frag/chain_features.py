"""What a chain of relations has to do with a question, in a few numbers that mean the same on any graph.

Each relation has a vector of its name, and one for each direction that also knows what stands at its end (the commonest
names there). A question's asking words are compared with them one by one: how well each relation of a chain is asked
for, in the order in which the words are read, and how much of what is asked the chain explains. Nothing here knows a
relation by its name, so what is learned of these numbers on one graph can be used on another.

Source: none. Differs from the source: nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np
from numba import njit

from clew.query.masking import MaskedQuestion, find_relation_words

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray

FEATURES = ("explained", "in_order", "explained_by_ends", "mean_likeness", "back_and_forth", "against", "kind_of_end")
"""The columns: words explained by names of relations; relations asked for in the order of reading; words explained by
relations and what stands at their ends; likeness of the masked question to the mean of the relations' vectors; steps
that undo the one before; steps from tail to head; likeness of the question to what stands at the end."""

RelationPath = tuple[int, ...]
"""Relation codes: twice the relation, one more when it is walked from tail to head."""


@final
class RelationTexts:
    """Relations in words: their names, and the names at either end.

    Args:
        name: Gives the text of a relation.
        end_vectors: Gives for a relation code the commonest names where such a step ends, in one text.
        encode: Gives unit rows (n, d) of texts that come back with every question.
        encode_words: The same for words of questions.

    Attributes:
        text_memory: Vectors of the former texts.
        word_memory: Vectors of words of questions.
    """

    def __init__(
        self,
        name: Callable[[int], str],
        ends: Callable[[int], str],
        encode: "Callable[[Sequence[str]], FloatArray]",
        encode_words: "Callable[[Sequence[str]], FloatArray]",
    ) -> None:
        self._name = lru_cache(maxsize=None)(name)  # reading a string from the index costs more than comparing it
        self._ends = ends
        self.text_memory = VectorMemory(encode)
        self.word_memory = VectorMemory(encode_words)

    def path_text(self, chain: RelationPath) -> str:
        """Return a chain in words: the names of its relations."""
        return ", ".join(self._name(code >> 1) for code in chain)

    def name_vectors(self, codes: "IntArray") -> "FloatArray":
        """Return unit rows (n, d) of the names of relation codes."""
        return self.text_memory([self._name(int(code) >> 1) for code in codes])

    def end_vectors(self, codes: "IntArray") -> "FloatArray":
        """Return unit rows (n, d) of what stands where such a step ends."""
        return self.text_memory([self._ends(int(code)) for code in codes])

    def step_vectors(self, codes: "IntArray") -> "FloatArray":
        """Return unit rows (n, d) of steps: the sum of the name's vector and that of what stands at the end."""
        both = self.name_vectors(codes) + self.end_vectors(codes)
        return np.asarray(both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9), dtype=np.float32)


@final
class VectorMemory:
    """Vectors of texts, each encoded once while the process lives.

    Args:
        encode: Gives unit rows (n, d).
        max_texts: Texts that are remembered; then it begins anew.
    """

    def __init__(self, encode: "Callable[[Sequence[str]], FloatArray]", max_texts: int = 200_000) -> None:
        self._encode = encode
        self._max_texts = max_texts
        self._rows: dict[str, FloatArray] = {}

    def __call__(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if len(self._rows) + len(fresh) > self._max_texts:
            self._rows.clear()
            fresh = list(dict.fromkeys(texts))
        if fresh:
            self._rows.update(zip(fresh, self._encode(fresh), strict=True))
        return np.stack([self._rows[text] for text in texts]) if texts else np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class RelationMatch:
    """A question beside the relations that are near it: w asking words, c relation codes.

    Attributes:
        codes: (c,) ascending.
        name_similarity: (w, c) likeness of each word to each relation's name, less its mean.
        step_similarity: (w, c) the same to name and ends together.
        name_weights: (w,) how much each word tells the names apart.
        step_weights: (w,) the same for `step_similarity`.
        reverse_order: (w,) the other order of reading.
        end_similarity: (c,) likeness of the question to what stands at the ends.
        question_similarity: (c,) likeness of the question to the names.
        relation_similarity: (c, c) likeness of the names to each other.
        question_vector: (d,) of the masked question.
    """

    codes: "IntArray"
    name_similarity: "FloatArray"
    step_similarity: "FloatArray"
    name_weights: "FloatArray"
    step_weights: "FloatArray"
    reverse_order: "IntArray"
    end_similarity: "FloatArray"
    question_similarity: "FloatArray"
    relation_similarity: "FloatArray"
    question_vector: "FloatArray"


def match_relations(question: MaskedQuestion, codes: "IntArray", texts: RelationTexts) -> RelationMatch:
    """Compare a question with relations.

    Args:
        question: Masked.
        codes: (c,) relation codes, ascending.
        texts: The relations in words.
    """
    asking = find_relation_words(question)
    vector = texts.word_memory([question.text])[0]
    names, ends, both = texts.name_vectors(codes), texts.end_vectors(codes), texts.step_vectors(codes)
    words = [match_words(asking.phrases, table, texts.word_memory) for table in (names, both)]
    (by_name, name_weights), (by_both, both_weights) = words
    other_way = np.array(asking.reverse_order, dtype=np.int32)
    kinds, asked = (table @ vector if len(codes) else np.zeros(0, dtype=np.float32) for table in (ends, names))
    return RelationMatch(
        codes, by_name, by_both, name_weights, both_weights, other_way, kinds, asked, names @ names.T, vector
    )


def match_words(
    phrases: Sequence[Sequence[str]], table: "FloatArray", encode: "Callable[[Sequence[str]], FloatArray]"
) -> "tuple[FloatArray, FloatArray]":
    """Return how like the asking words of a question are to relations, and what each word has to say.

    What a phrase has in common with all relations says nothing: the mean is taken off.

    Args:
        phrases: For each of w words those that hold it, at least one.
        table: (c, d) unit rows of relations.
        encode: Gives unit rows (n, d) of phrases.

    Returns:
        Likeness (w, c) by the likest phrase that holds the word, and weights (w,), at least 0.
    """
    if not phrases or not len(table):
        return np.zeros((len(phrases), len(table)), dtype=np.float32), np.zeros(len(phrases), dtype=np.float32)
    flat = [phrase for around in phrases for phrase in around]
    alike = encode(flat) @ table.T
    alike -= alike.mean(axis=1, keepdims=True)
    starts = np.cumsum([0, *(len(around) for around in phrases)])[:-1]
    best = np.maximum.reduceat(alike, starts, axis=0)
    return np.asarray(best, dtype=np.float32), np.asarray(np.maximum(best.max(axis=1), 0.0), dtype=np.float32)


def relation_path_features(question: RelationMatch, chains: Sequence[RelationPath]) -> "FloatArray":
    """Return the numbers (n, len(`FEATURES`)) of some chains whose codes are among the compared ones."""
    if not chains:
        return np.zeros((0, len(FEATURES)), dtype=np.float32)
    longest = max(map(len, chains))
    padded = np.full((len(chains), longest), -1, dtype=np.int32)
    for row, chain in enumerate(chains):
        padded[row, : len(chain)] = np.searchsorted(question.codes, chain)
    found = _path_features(
        question.codes,
        question.name_similarity,
        question.step_similarity,
        question.name_weights,
        question.step_weights,
        question.reverse_order,
        question.end_similarity,
        question.question_similarity,
        question.relation_similarity,
        padded,
    )
    return np.asarray(found, dtype=np.float32)


@njit(cache=True, nogil=True)
def _path_features(codes, names, ends, weights, end_weights, other_way, kinds, asked_for, alike, chains):  # type: ignore[no-untyped-def]
    out = np.zeros((len(chains), 7), dtype=np.float32)
    columns = np.empty(chains.shape[1], dtype=np.int64)
    straight = np.arange(ends.shape[0], dtype=np.int32)
    for row in range(len(chains)):
        length, asked, against, back = 0, 0, 0, 0
        for step in range(chains.shape[1]):
            column = chains[row, step]
            if column < 0:
                break
            length += 1
            against += codes[column] & 1
            # `A, and A back` is asked for once: the films of the same director.
            if step and codes[column] ^ 1 == codes[chains[row, step - 1]]:
                back += 1
            else:
                columns[asked] = column
                asked += 1
        if length == 0:
            continue
        used = columns[:asked]
        out[row, 0] = _explained_share(names, weights, used)
        out[row, 1] = max(_ordered_match(ends, straight, used), _ordered_match(ends, other_way, used))
        out[row, 2] = _explained_share(ends, end_weights, used)
        out[row, 3] = _mean_similarity(asked_for, alike, chains[row, :length])
        out[row, 4] = back
        out[row, 5] = against / length
        out[row, 6] = kinds[chains[row, length - 1]]
    return out


# The cosine to a sum of unit vectors: no text of a chain is read, of which a graph of 300 relations has millions.
@njit(cache=True, nogil=True)
def _mean_similarity(asked_for, alike, columns):  # type: ignore[no-untyped-def]
    total, square = 0.0, 0.0
    for one in columns:
        total += asked_for[one]
        for other in columns:
            square += alike[one, other]
    return total / np.sqrt(square) if square > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _explained_share(alike, weights, columns):  # type: ignore[no-untyped-def]
    total, found = 0.0, 0.0
    for word in range(len(weights)):
        best = -1.0
        for column in columns:
            best = max(best, alike[word, column])
        total += weights[word]
        found += weights[word] * best
    return found / total if total > 0.0 else 0.0


# The best sum over words in ascending order of reading, one for each relation; too few words cost a little.
@njit(cache=True, nogil=True)
def _ordered_match(alike, order, columns):  # type: ignore[no-untyped-def]
    words, asked = alike.shape[0], len(columns)
    if words == 0:
        return 0.0
    if words < asked:
        total = 0.0
        for column in columns:
            total += alike[:, column].max()
        return total / asked - 0.2
    best = np.full(asked + 1, -9.0)
    best[0] = 0.0
    for place in range(words):
        word = order[place]
        for step in range(asked, 0, -1):
            best[step] = max(best[step], best[step - 1] + alike[word, columns[step - 1]])
    return best[asked] / asked
