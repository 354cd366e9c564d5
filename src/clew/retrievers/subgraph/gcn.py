"""GCN-Retriever: the likeliest nodes of a question graph by a trained graph convolutional network.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024),
section 3.3.
Differs from the source: on an index it runs near the named entities, pruned by personalised PageRank; see
`nn/subgraph_policy.py` and `gcn_features.py`; with `inputs=text` and `combination=product`, nothing more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, final, get_args

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphQuery, Subgraph, induced_subgraph
from clew.inference.subgraph_network import NodeInput, SubgraphNetwork, likeliest_nodes
from clew.plugins.tracing import trace_calls
from clew.query.context import IndexContext
from clew.retrievers.subgraph.encoding import PerGraphSelector, node_similarity
from clew.retrievers.subgraph.gcn_features import node_features, node_offsets, walk_prior, walk_shares
from clew.retrievers.subgraph.retriever import SubgraphRetriever
from clew.retrievers.subgraph.settings import Combination, GCNSubgraph, Inputs, ScorerSettings
from clew.store.weights_io import check_layers, read_weights


@dataclass(frozen=True, slots=True, eq=False)
class TrainedScorer:
    """A trained network."""

    model: SubgraphNetwork
    settings: ScorerSettings  # its architecture
    encoder: str  # fingerprint of the encoder whose vectors it reads
    dimension: int  # dimension of those vectors
    about: Mapping[str, Any] = field(default_factory=dict)  # training recipe and results

    @property
    def fingerprint(self) -> str:
        """Identifier that changes whenever some score would."""
        digest = blake2b(repr((self.settings, self.encoder)).encode(), digest_size=8)
        for name, array in sorted(self.model.arrays.items()):
            digest.update(name.encode() + array.tobytes())
        return f"subgraph-{digest.hexdigest()}"


def make_node_batch(queries: Sequence[GraphQuery], settings: ScorerSettings) -> NodeInput:
    """Collate at least one question graph to a batch."""
    offsets = node_offsets([len(query.graph.node_vectors) for query in queries])
    walks = [walk_shares(query) for query in queries]
    inputs = [node_features(query, settings.inputs, shares) for query, shares in zip(queries, walks, strict=True)]
    edges = [query.graph.graph.edges.reshape(-1, 2) + shift for query, shift in zip(queries, offsets[:-1], strict=True)]
    return NodeInput(
        np.concatenate(inputs),
        np.concatenate(edges).astype(np.int64),
        np.concatenate([node_similarity(query) for query in queries]),
        np.concatenate([walk_prior(shares) for shares in walks]),
        np.repeat(np.arange(len(queries)), np.diff(offsets)),
        len(queries),
    )


def load_scorer(folder: Path) -> TrainedScorer:
    """Read a folder of weights; raises ProviderError where a file is missing, damaged or another network's."""

    def build(config: dict[str, Any], arrays: dict[str, FloatArray]) -> TrainedScorer:
        dimension, settings = int(config["dimension"]), ScorerSettings(**config["settings"])
        check_layers(settings.layers, arrays)
        if settings.inputs not in get_args(Inputs) or settings.combination not in get_args(Combination):
            raise ValueError(f"inputs {settings.inputs!r} and combination {settings.combination!r}")
        shapes = settings.shapes(dimension)
        if (seen := {name: array.shape for name, array in arrays.items()}) != shapes:
            raise ValueError(f"arrays {seen}, wanted {shapes}")
        model = settings.network(arrays)
        return TrainedScorer(model, settings, str(config["encoder"]["fingerprint"]), dimension, dict(config["about"]))

    return read_weights(folder, "the network that selects subgraphs", build)


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
    if encoder is not None and trained.encoder != encoder.fingerprint:
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
        settings,
        by_words=True,
    )
