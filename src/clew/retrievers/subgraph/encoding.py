"""Textual graphs with vectors, and questions on them with how strongly each relation is asked for.

Source: He et al., "G-Retriever" (2024), for vectors of the texts of nodes and relations and of the question, compared
by cosine. Differs from the source: the names of the nodes that a question is about are taken out of it, and relations
are also compared with its words one by one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

import numpy as np

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph
from clew.models.encoders.memory import VectorMemory
from clew.query.masking import find_relation_words, mask_names
from clew.query.relation_matching import match_words
from clew.text.normalization import is_unspaced_letter, is_word_character

if TYPE_CHECKING:
    from clew.types import FloatArray, IntArray

MAX_TEXTS = 200_000
"""Remembered of either kind: 300 MB of 384 numbers each."""
_ENCODING_BATCH = 2048  # texts that are encoded between two words of progress


@final
class GraphEncoder:
    """Gives graphs and questions their vectors; equal texts are encoded once.

    Args:
        encode: Gives unit rows (n, d) of texts of nodes and relations.
        encode_questions: Gives unit rows (n, d) of questions and their words.
        max_texts: Texts that are remembered of either kind; then it begins anew.
    """

    def __init__(
        self,
        encode: "Callable[[Sequence[str]], FloatArray]",
        encode_questions: "Callable[[Sequence[str]], FloatArray]",
        max_texts: int = MAX_TEXTS,
    ) -> None:
        self._encode = encode
        self._max_texts = max_texts
        self._texts = VectorMemory(encode, max_texts)
        self._questions = VectorMemory(encode_questions, max_texts)

    def preload(
        self,
        graphs: Sequence[TextualGraph],
        questions: Iterable[tuple[int, str, Sequence[int]]] = (),
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        """Encode the texts of many graphs and questions in one go, up to half of what can be remembered.

        Many texts at once cost a small part of what they cost a graph at a time: an encoder whose batches have fixed
        shapes takes as long for one text as for a hundred.

        Args:
            graphs: Their nodes and relations.
            questions: The position of its graph, its text and its topics for each.
            progress: Told how many texts of how many are encoded.
        """
        own = (text for graph in graphs for text in (*graph.nodes, *graph.relations))
        texts = _first_distinct(own, self._max_texts // 2)
        asked = (
            text
            for place, question, topics in questions
            for text in _MaskedText.mask(question, _topic_names(graphs[place], topics)).texts()
        )
        phrases = _first_distinct(asked, self._max_texts // 2)
        total, done = len(texts) + len(phrases), 0
        progress(done, total)
        for memory, wanted in ((self._texts, texts), (self._questions, phrases)):
            for start in range(0, len(wanted), _ENCODING_BATCH):
                memory(wanted[start : start + _ENCODING_BATCH])
                done += len(wanted[start : start + _ENCODING_BATCH])
                progress(done, total)

    def encode_graph(self, graph: TextualGraph) -> EncodedGraph:
        """Return a graph with vectors; its distinct relations are in the order in which edges have them."""
        row_of = {relation: row for row, relation in enumerate(dict.fromkeys(graph.relations))}
        relation_of = np.array([row_of[relation] for relation in graph.relations], dtype=np.int32)
        texts = [*graph.nodes, *row_of]  # together, since an encoder is quicker on more texts
        rows = self._texts(texts) if texts else self._encode(())  # the memory does not know the width of no rows
        return EncodedGraph(graph, rows[: len(graph.nodes)], rows[len(graph.nodes) :], relation_of)

    def encode_query(self, graph: EncodedGraph, text: str, topics: "Sequence[int] | IntArray" = ()) -> GraphQuery:
        """Return a question on a graph.

        Args:
            graph: With vectors of the same encoder.
            text: The question; where the text of a topic stands in it, in any case, it is taken out.
            topics: (t,) positions of the nodes that it names.

        Raises:
            InputError: A topic is no position of the graph.
        """
        places = np.asarray(topics, dtype=np.int32)
        question = _MaskedText.mask(text, _topic_names(graph.graph, places.tolist()))
        vector = self._questions(question.texts())[0]  # the phrases with it, for what follows
        relevance = None
        if question.phrases:
            relevance = match_words(question.phrases, graph.relation_vectors, self._questions)[0].max(axis=0)
        return GraphQuery(graph, vector, places, relevance)


@dataclass(frozen=True, slots=True)
class _MaskedText:
    """A question as it is compared.

    Attributes:
        text: Without the names that it holds.
        phrases: For each asking word those that hold it.
    """

    text: str
    phrases: Sequence[Sequence[str]]

    @classmethod
    def mask(cls, text: str, names: Iterable[str]) -> Self:
        found = [place for name in names for place in _find_name(name, text)]
        without = mask_names(text, found)
        return cls(without.text if found else text, find_relation_words(without).phrases)

    def texts(self) -> list[str]:
        """Return all that is encoded of it, the question first."""
        return list(dict.fromkeys([self.text, *(phrase for around in self.phrases for phrase in around)]))


def _topic_names(graph: TextualGraph, topics: Sequence[int]) -> list[str]:
    count = len(graph.nodes)
    for topic in topics:
        if not 0 <= topic < count:
            raise InputError(
                f"a question about node {topic}: wanted 0 to {count - 1}; give positions in the question's own graph"
            )
    return [graph.nodes[topic] for topic in topics]


def _find_name(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield where a name stands in a text as words of its own, in any case and over any white space.

    Where a script has no spaces, every letter is taken for a word.
    """
    words = name.split()
    if not words:
        return
    pattern, place = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE), 0
    while found := pattern.search(text, place):
        start, end = found.span()
        cut = _continues_word(text[start], text[start - 1 : start]) or _continues_word(
            text[end - 1], text[end : end + 1]
        )
        if not cut:
            yield start, end
        place = start + 1 if cut else end


def _continues_word(edge: str, beside: str) -> bool:
    """Tell whether a word that ends with a letter goes on with the one beside it; "" at the end of a text."""
    return beside != "" and not is_unspaced_letter(edge) and is_word_character(beside)


def _first_distinct(texts: Iterable[str], most: int) -> list[str]:
    """Return the first distinct texts, at most so many."""
    found: dict[str, None] = {}
    for text in texts:
        if len(found) == most:
            break
        found[text] = None
    return list(found)
