"""GCN-Retriever on an index: the likeliest entities near those that a question names, by a trained network.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024).
Differs from the source: it runs on the neighbourhood of the named entities, pruned by personalised PageRank; see
`gcn_selector.py` for the network.
"""

from functools import lru_cache

from clew.errors import InputError
from clew.query.context import IndexContext
from clew.retrievers.subgraph.gcn_selector import GCNSelector
from clew.retrievers.subgraph.gcn_weights import TrainedScorer, load_scorer
from clew.retrievers.subgraph.retriever import SubgraphRetriever
from clew.retrievers.subgraph.settings import GCNSubgraph

WEIGHTS_NAME = "subgraph"


def build_gcn_subgraph(context: IndexContext, settings: GCNSubgraph) -> SubgraphRetriever:
    """Return the retriever over one index.

    Raises InputError where the index has no vectors, or given weights read another encoder; ProviderError where the
    weights are missing or damaged.
    """
    trained = load_scorer(context.weights_folder(WEIGHTS_NAME, settings.weights))
    method, encoder = "the likeliest by a network that feedback trained", context.index_encoder
    if encoder is not None and encoder.fingerprint != trained.encoder:  # without one the search raises an error
        if settings.weights is not None:
            raise InputError(
                f"gcn-subgraph: this index has the encoder {encoder.name}, and the network was trained on another's "
                "vectors; leave weights out, or train one for it (clew train subgraph)"
            )
        model = trained.settings.build_network(encoder.dimension, 0).eval()
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
