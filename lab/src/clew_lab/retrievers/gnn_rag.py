"""GNN-RAG's form of retrieval: a network picks candidate answers, and the shortest paths to them are evidence.

Source: Mavromatis and Karypis, "GNN-RAG: Graph Neural Retrieval for Large Language Model Reasoning" (2024), section 4,
a baseline of Gao et al., "FRAG" (2025), table 1.
Differs from the source: the network is that of `gcn-subgraph`, trained by a reader's loss, in place of one trained to
mark answers; it reads the neighbourhood that personalised PageRank keeps; one shortest path leads to each candidate.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, final

import numpy as np

from clew.arrays import BoolArray, DoubleArray, LongArray
from clew.graph.paths.simple_paths import shortest_paths
from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.query.context import IndexContext
from clew.query.relation_matching import Mediators, mediators_fingerprint, mediators_setting, open_mediators
from clew.query.scope import Scope
from clew.retrievers.evidence import empty_question_evidence
from clew.retrievers.subgraph.gcn import GCNSelector, build_gcn_subgraph
from clew.retrievers.subgraph.retriever import SubgraphRetriever, SubgraphSelection
from clew.retrievers.subgraph.settings import GCNSubgraph
from clew.retrievers.supporting_passages import PathRetriever, path_evidence
from clew.types import Evidence


class GNNRAG(SettingsRecord):
    """Settings of `gnn-rag`."""

    label: ClassVar[str] = "gnn-rag"

    candidates: WholeNumber = setting(32, "entities that may be the answer, each with a shortest path", "FRAG: u = 32")
    nodes: WholeNumber = setting(500, "entities that the network reads", "docs/subgraphs.md")
    hops: WholeNumber = setting(3, "radius of the neighbourhood")
    weights: Path | None = setting(
        None, "weights that `clew train subgraph` made", unset="the index's, else the package's"
    )
    mediators: str | None = mediators_setting()


@final
@dataclass(frozen=True, slots=True, eq=False)
class GNNRAGRetriever(PathRetriever[SubgraphSelection | None]):
    """Finds the shortest paths to the entities that a network thinks likeliest."""

    scope: Scope
    neighbourhoods: SubgraphRetriever  # makes the graph of a question
    network: GCNSelector
    settings: GNNRAG
    mediators: Mediators | None = None  # entities that no path ends at

    @property
    def fingerprint(self) -> str:
        """The settings, and the weights of the network."""
        return f"{self.settings!r}\0{self.network.fingerprint}{mediators_fingerprint(self.mediators)}"

    @property
    def path_limit(self) -> int:
        """Maximum number of paths of a question."""
        return self.settings.candidates

    def candidates(self, selection: SubgraphSelection) -> tuple[LongArray, DoubleArray]:
        """Return the likeliest nodes (c,) and their shares (c,) of all nodes, ties by position.

        No topic or mediator is among them.
        """
        if not len(selection.query.graph.node_vectors):
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        logits = self.network.node_scores(selection.query).astype(np.float64)
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        order = np.argsort(-logits, kind="stable")
        order = order[~np.isin(order, selection.query.topics)]
        if self.mediators is not None:
            order = order[~self.mediators.mask(selection.local.nodes[order])]
        best = order[: self.settings.candidates]
        return best, shares[best]

    def retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: BoolArray, blocked_triples: BoolArray | None
    ) -> tuple[Evidence, SubgraphSelection | None]:
        """Return a shortest path to each candidate, the likeliest first, and the graph that the network read.

        Only allowed passages (P,) count, and no blocked triples (T,); the graph is None for an empty question.
        """
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started), None
        selection = self.neighbourhoods.select(question, names, blocked_triples, allowed)
        local = selection.local
        best, shares = self.candidates(selection)
        walks = []
        if len(best):
            paths, _ = shortest_paths(local, selection.query.topics, self.settings.hops)
            lengths = paths.lengths()
            ends = local.positions(paths.nodes[np.arange(len(paths)), lengths])
            row_of = dict(zip(ends.tolist(), range(len(paths)), strict=True))
            reached = [
                (row_of[node], share) for node, share in zip(best.tolist(), shares, strict=True) if node in row_of
            ]
            walks = [(paths.edges[row, : lengths[row]], float(share)) for row, share in reached]
        notes = [note for note in selection.notes if not note.startswith("selected ")]
        lexical, topics = self.neighbourhoods.lexical, selection.topics
        evidence = path_evidence(self.scope, lexical, question, walks, topics, notes, k, allowed, started)
        return evidence, selection


def build_gnn_rag(context: IndexContext, settings: GNNRAG) -> GNNRAGRetriever:
    """Return the retriever over one index; raises InputError where it has no vectors or the weights read others."""
    chosen = GCNSubgraph(nodes=settings.nodes, hops=settings.hops, weights=settings.weights)
    neighbourhoods = build_gcn_subgraph(context, chosen, settings.label)
    assert isinstance(neighbourhoods.selector, GCNSelector)
    mediators = open_mediators(context.scope.snapshot, settings.mediators)
    return GNNRAGRetriever(context.scope, neighbourhoods, neighbourhoods.selector, settings, mediators)
