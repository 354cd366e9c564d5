"""The passages found for a question as a graph, by their graphs of meaning (AMR), as published.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), sections 3.1 and 3.2.
Differs from the source: a pair whose graph could not be had keeps its passage, without edges and path words. Concepts
that all graphs of a question hold, as those of the question are, join nothing: counted as the source counts them, they
join every passage with every other.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, final

import numpy as np

from clew.protocols import fingerprint_of
from clew.rerankers.amr.graph import AMRGraph, count_common_parts, path_words
from clew.rerankers.amr.parsers import AMRParser
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.types import Failure, Passage, Scored

if TYPE_CHECKING:
    from clew.types import FloatArray

EDGE_FEATURES = ("common nodes", "common edges")
"""The features of an edge, in order."""


@final
class AMRDocumentGraphs:
    """Makes the graphs of questions from the AMR graphs of question-passage pairs.

    Args:
        parser: Gives those.
        encode: Gives unit rows (n, d) of texts, questions and passages alike.
    """

    def __init__(self, parser: AMRParser, encode: "Callable[[Sequence[str]], FloatArray]") -> None:
        self._parser = parser
        self._encode = encode

    @property
    def fingerprint(self) -> str:
        """That of the parser."""
        return fingerprint_of(self._parser)

    @property
    def node_features(self) -> tuple[str, ...]:
        """None: passages bring their vectors alone."""
        return ()

    @property
    def edge_features(self) -> tuple[str, ...]:
        """See `EDGES`."""
        return EDGE_FEATURES

    def build(
        self, questions: Sequence[str], ranked_passages: Sequence[Sequence[Scored[Passage]]]
    ) -> list[DocumentGraph]:
        """Return one graph a question (see `clew.rerankers.g_rag.document_graph.DocumentGraphs`)."""
        pairs = [
            (question, scored.item)
            for question, pool in zip(questions, ranked_passages, strict=True)
            for scored in pool
        ]
        parsed = self._parser.parse([question for question, _ in pairs], [passage for _, passage in pairs])
        read = [AMRGraph(()) if isinstance(graph, Failure) else graph for graph in parsed]
        texts = [self._node_text(passage, graph) for (_, passage), graph in zip(pairs, read, strict=True)]
        # Together: a call costs the same for one text as for many. What UTF-8 cannot write no encoder takes.
        rows = self._encode([text.encode(errors="replace").decode() for text in (*questions, *texts)])
        made = []
        start = 0
        for number, pool in enumerate(ranked_passages):
            part = slice(start, start + len(pool))
            start += len(pool)
            edges = count_common_parts(read[part], _shared_concepts(read[part])).astype(np.float32)
            vectors = rows[len(questions) :][part]
            none = np.zeros((len(pool), 0), dtype=np.float32)
            made.append(DocumentGraph(vectors, none, edges, rows[number], _failure_notes(parsed[part])))
        return made

    def _node_text(self, passage: Passage, graph: AMRGraph) -> str:
        return " ".join(filter(None, (passage.title, passage.text, " ".join(path_words(graph)))))


def _shared_concepts(graphs: Sequence[AMRGraph]) -> set[str]:
    """Return the concepts that all graphs hold which could be had, of two or more."""
    held = [set(graph.concepts) for graph in graphs if graph.concepts]
    return set.intersection(*held) if len(held) > 1 else set()


def _failure_notes(parsed: Sequence[AMRGraph | Failure]) -> tuple[str, ...]:
    failures = [graph for graph in parsed if isinstance(graph, Failure)]
    if not failures:
        return ()
    return (f"{len(failures)} of {len(parsed)} passages have no AMR graph: {failures[0].reason}",)
