"""Vectors of whole textual graphs, and of questions on them in which the names of their topics are masked."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import final

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph
from clew.models.encoders.memory import VectorMemory
from clew.query.linking import find_relation_words, mask_names
from clew.retrievers.subgraph.encoding import MaskedText
from clew.text.normalization import is_unspaced_letter, is_word_character

MAX_TEXTS = 200_000
"""Capacity of each of the two caches: 300 MB of 384 numbers each."""


_ENCODING_BATCH = 2048  # texts that are encoded between two reports of progress


@final
class GraphEncoder:
    """Encodes graphs and questions to unit rows (n, d); equal texts are encoded once, in two caches of `max_texts`."""

    def __init__(
        self,
        encode: Callable[[Sequence[str]], FloatArray],
        encode_questions: Callable[[Sequence[str]], FloatArray],
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
        """Encode the texts of many graphs and questions at once, up to half the capacity of the caches.

        This is much cheaper than one graph at a time: an encoder whose batches have fixed shapes takes as long for one
        text as for a hundred. A question is the position of its graph, its text and its topics; progress is `(done,
        total)`, in texts.
        """
        graph_texts = (text for graph in graphs for text in (*graph.nodes, *graph.relations))
        texts = _first_distinct(graph_texts, self._max_texts // 2)
        question_texts = (
            text
            for graph, question, topics in questions
            for text in mask_text(question, _topic_names(graphs[graph], topics)).texts()
        )
        phrases = _first_distinct(question_texts, self._max_texts // 2)
        total, done = len(texts) + len(phrases), 0
        progress(done, total)
        for memory, wanted in ((self._texts, texts), (self._questions, phrases)):
            for start in range(0, len(wanted), _ENCODING_BATCH):
                batch = wanted[start : start + _ENCODING_BATCH]
                memory(batch)
                done += len(batch)
                progress(done, total)

    def encode_graph(self, graph: TextualGraph) -> EncodedGraph:
        """Return a graph with vectors; its distinct relations are in the order of their first edges."""
        row_of = {relation: row for row, relation in enumerate(dict.fromkeys(graph.relations))}
        relation_of = np.array([row_of[relation] for relation in graph.relations], dtype=np.int32)
        texts = [*graph.nodes, *row_of]  # at once, since encoding many texts is faster
        rows = self._texts(texts) if texts else self._encode(())  # the cache does not know the width of the vectors
        return EncodedGraph(graph, rows[: len(graph.nodes)], rows[len(graph.nodes) :], relation_of)

    def encode_query(self, graph: EncodedGraph, text: str, topics: Sequence[int] | IntArray = ()) -> GraphQuery:
        """Return a question on a graph of the same encoder; the texts of the topics are masked in it, in any case.

        Topics (t,) are positions of the nodes that it names. Raises InputError where one is no position of the graph.
        """
        positions = np.asarray(topics, dtype=np.int32)
        masked = mask_text(text, _topic_names(graph.graph, positions.tolist()))
        return masked.query(graph, positions, self._questions)


def mask_text(text: str, names: Iterable[str]) -> MaskedText:
    """Mask names wherever they stand in a text as words."""
    spans = [span for name in names for span in _find_name(name, text)]
    masked = mask_names(text, spans)
    phrases = find_relation_words(masked).phrases
    return MaskedText(masked.text, phrases, text) if spans else MaskedText(text, phrases)


def _topic_names(graph: TextualGraph, topics: Sequence[int]) -> list[str]:
    count = len(graph.nodes)
    for topic in topics:
        if not 0 <= topic < count:
            raise InputError(
                f"a question about node {topic}: wanted 0 to {count - 1}; give positions in the question's own graph"
            )
    return [graph.nodes[topic] for topic in topics]


def _find_name(name: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a name in a text, as whole words, in any case and over any white space.

    In a script without spaces every letter counts as a word.
    """
    words = name.split()
    if not words:
        return
    pattern, position = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE), 0
    while found := pattern.search(text, position):
        start, end = found.span()
        is_inside_word = _continues_word(text[start], text[start - 1 : start]) or _continues_word(
            text[end - 1], text[end : end + 1]
        )
        if not is_inside_word:
            yield start, end
        position = start + 1 if is_inside_word else end


def _continues_word(edge: str, neighbour: str) -> bool:
    """Return whether a word goes on from its edge letter to the neighbouring one, "" at the end of the text."""
    return neighbour != "" and not is_unspaced_letter(edge) and is_word_character(neighbour)


def _first_distinct(texts: Iterable[str], limit: int) -> list[str]:
    distinct: dict[str, None] = {}
    for text in texts:
        if len(distinct) == limit:
            break
        distinct[text] = None
    return list(distinct)
