"""Document graphs of a question's passages from AMR graphs, as published.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), sections 3.1 and 3.2.
Differs from the source: a passage whose AMR graph failed stays, without edges and path words. By default concepts in
all graphs of a question, such as the question's own, make no edges: counted as in the source (`whole`), they join
nearly all passages. Without `words` a passage is encoded as it is, the source's ablation of the path words.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import final

import numpy as np

from clew.arrays import FloatArray
from clew.models.encoders.memory import VectorMemory
from clew.models.validation import replace_surrogates
from clew.protocols import fingerprint_of
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.text.display import format_count
from clew.types import Failure, Passage, Scored
from clew_lab.amr.graph import AMRGraph, count_common_parts, path_words
from clew_lab.amr.parsers import AMRParser

EDGE_FEATURES = ("common nodes", "common edges")
"""Names of the edge features, in order."""


@final
class AMRDocumentGraphBuilder:
    """Builds document graphs from the AMR graphs of question-passage pairs, and the unit rows (n, d) of their texts."""

    node_features: tuple[str, ...] = ()  # a node has its text vector only
    edge_features = EDGE_FEATURES

    def __init__(
        self,
        parser: AMRParser,
        encode: Callable[[Sequence[str]], FloatArray],
        *,
        whole: bool = False,
        words: bool = True,
    ) -> None:
        self._parser = parser
        # Without words a passage is the same text in every pool; with them hardly any text occurs twice.
        self._encode = encode if words else VectorMemory(encode)
        self._whole = whole
        self._words = words

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the parser, and what differs from the defaults."""
        return fingerprint_of(self._parser) + "\0whole" * self._whole + "\0no words" * (not self._words)

    def build(self, questions: Sequence[str], rankings: Sequence[Sequence[Scored[Passage]]]) -> list[DocumentGraph]:
        """Return one graph per question (see `clew.rerankers.g_rag.document_graph.DocumentGraphBuilder`)."""
        pairs = [
            (question, scored.item)
            for question, passages in zip(questions, rankings, strict=True)
            for scored in passages
        ]
        parsed = self._parser.parse([question for question, _ in pairs], [passage for _, passage in pairs])
        amr_graphs = [AMRGraph(()) if isinstance(graph, Failure) else graph for graph in parsed]
        texts = [self._node_text(passage, graph) for (_, passage), graph in zip(pairs, amr_graphs, strict=True)]
        # One call costs the same for one text as for many. Encoders refuse lone surrogates.
        rows = self._encode([replace_surrogates(text) for text in (*questions, *texts)])
        graphs = []
        start = 0
        for number, passages in enumerate(rankings):
            part = slice(start, start + len(passages))
            start += len(passages)
            ignored = () if self._whole else _shared_concepts(amr_graphs[part])
            edges = count_common_parts(amr_graphs[part], ignored).astype(np.float32)
            vectors = rows[len(questions) :][part]
            no_features = np.zeros((len(passages), 0), dtype=np.float32)
            lacks_amr = all(isinstance(graph, Failure) for graph in parsed[part])
            notes = _failure_notes(parsed[part])
            graphs.append(DocumentGraph(vectors, no_features, edges, rows[number], notes, lacks_amr))
        return graphs

    def shared_parts(
        self, question: str, passages: Sequence[Scored[Passage]], first: int, second: int
    ) -> dict[str, tuple[str, ...]]:
        """Return the concepts and the edges that count as common to both graphs."""
        parsed = self._parser.parse([question] * len(passages), [scored.item for scored in passages])
        graphs = [AMRGraph(()) if isinstance(graph, Failure) else graph for graph in parsed]
        ignored = set() if self._whole else _shared_concepts(graphs)
        owners = Counter(concept for graph in graphs for concept in set(graph.concepts))
        concepts = (set(graphs[first].concepts) & set(graphs[second].concepts)) - ignored
        edges = _named_edges(graphs[first]) & _named_edges(graphs[second])
        kept = sorted(edge for edge in edges if not {edge[0], edge[2]} & ignored)
        return {
            "concepts": tuple(sorted(concepts, key=lambda concept: (owners[concept], concept))),
            "edges": tuple(" ".join(edge) for edge in kept),
        }

    def _node_text(self, passage: Passage, graph: AMRGraph) -> str:
        words = " ".join(path_words(graph)) if self._words else ""
        return " ".join(filter(None, (passage.title, passage.text, words)))


def _shared_concepts(graphs: Sequence[AMRGraph]) -> set[str]:
    concepts = [set(graph.concepts) for graph in graphs if graph.concepts]
    return set.intersection(*concepts) if len(concepts) > 1 else set()


def _named_edges(graph: AMRGraph) -> set[tuple[str, str, str]]:
    return {(graph.concepts[head], name, graph.concepts[tail]) for head, name, tail in graph.edges}


def _failure_notes(parsed: Sequence[AMRGraph | Failure]) -> tuple[str, ...]:
    failures = [graph for graph in parsed if isinstance(graph, Failure)]
    if not failures:
        return ()
    verb = "has" if len(failures) == 1 else "have"
    counts = f"{len(failures)} of {format_count(len(parsed), 'passage')}"
    return (f"{counts} {verb} no AMR graph: {failures[0].reason}",)
