"""GCN-Retriever: the likeliest nodes of a question graph by a trained graph convolutional network.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3.3.
Differs from the source: on an index it runs near the named entities, pruned by personalised PageRank; see
`nn/subgraph_policy.py` and `gcn_features.py`; with `inputs=text` and `combination=product`, nothing more.
"""

from functools import lru_cache
from typing import final

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph, induced_subgraph
from clew.inference.subgraph_network import likeliest_nodes
from clew.models.encoders.registry import reads_vectors_of
from clew.plugins.tracing import trace_calls
from clew.query.context import IndexContext
from clew.retrievers.subgraph.gcn_weights import TrainedScorer, load_scorer, make_node_batch
from clew.retrievers.subgraph.retriever import SubgraphRetriever
from clew.retrievers.subgraph.selectors import PerGraphSelector
from clew.retrievers.subgraph.settings import GCNSubgraph

WEIGHTS_NAME = "subgraph"


@final
class GCNSelector(PerGraphSelector):
    """Selects the likeliest nodes, ties by position, and all edges among them."""

    name = "gcn"

    def __init__(self, trained: TrainedScorer) -> None:
        self._trained = trained

    @property
    def fingerprint(self) -> str:
        """Identifier of the weights."""
        return self._trained.fingerprint

    @trace_calls("clew.network")
    def node_scores(self, query: GraphQuery) -> FloatArray:
        """Return the logits of the nodes (n,) of a graph, of at least one."""
        return self._trained.model.scores(make_node_batch([query], self._trained.settings))[0]

    def select_one(self, query: GraphQuery, budget: int) -> Subgraph:
        """Return the likeliest nodes, ties by position."""
        if not len(query.graph.node_vectors):
            return induced_subgraph(query.graph.graph, [])
        scores, end = self._trained.model.scores(make_node_batch([query], self._trained.settings))
        return induced_subgraph(query.graph.graph, likeliest_nodes(scores, end, budget).tolist())


def build_gcn_subgraph(
    context: IndexContext, settings: GCNSubgraph, label: str = GCNSubgraph.label
) -> SubgraphRetriever:
    """Return the retriever over one index, for errors under the name `label`.

    Raises InputError where the index has no vectors, or given weights read another encoder; ProviderError where the
    weights are missing or damaged.
    """
    trained = load_scorer(context.weights_folder(WEIGHTS_NAME, settings.weights, label))
    method, encoder = "the likeliest by a network that feedback trained", context.index_encoder
    # Without an encoder the search raises an error.
    if encoder is not None and not reads_vectors_of(trained.encoder, encoder.fingerprint):
        if settings.weights is not None:
            raise InputError(
                f"{label}: this index has the encoder {encoder.name}, and the network was trained on another's "
                "vectors; leave weights out, or train one for it (clew train subgraph)"
            )
        model = trained.settings.walk_network(encoder.dimension)
        trained = TrainedScorer(model, trained.settings, encoder.fingerprint, encoder.dimension)
        method = "the likeliest by a walk alone: the trained network reads another encoder than the index's"
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    return SubgraphRetriever(
        context.scope,
        context.lexical,
        graph,
        context.text_vectors,
        GCNSelector(trained),
        method,
        settings.subgraph_settings(),
        by_words=True,
    )
