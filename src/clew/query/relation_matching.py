"""Similarity of a question to relations: to their names, and to example names at their ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, final

import numpy as np

from clew.models.encoders.memory import VectorMemory
from clew.query.masking import MaskedQuestion, find_relation_words

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray


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
