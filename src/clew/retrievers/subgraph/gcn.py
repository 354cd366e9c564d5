"""GCN-Retriever on an index: the entities near what a question names that a trained network finds likeliest.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024).
Differs from the source: it runs on the neighbourhood of what the question names, pruned by personalised PageRank; see
`gcn_selector.py` for the network.
"""

from functools import lru_cache

from clew.errors import InputError
from clew.retrievers.frag.factory import GraphParts
from clew.retrievers.spec import Options
from clew.retrievers.subgraph.gcn_selector import GCNSelector
from clew.retrievers.subgraph.gcn_weights import TrainedScorer, load_scorer
from clew.retrievers.subgraph.retriever import SubgraphRetriever, TextVectors, subgraph_settings

SHIPPED_WEIGHTS = "subgraph"


def gcn_subgraph_retriever(parts: GraphParts, vectors: TextVectors, options: Options) -> SubgraphRetriever:
    """Return the retriever as the options say.

    Args:
        parts: Of the index.
        vectors: Of its texts.
        options: Those of `subgraph_settings`; `weights` names a folder that `clew train subgraph` made.

    Raises:
        InputError: An option's value is none, or given weights read another encoder.
        ProviderError: The weights are missing or damaged.
    """
    encoder = parts.encoder
    trained, why = load_scorer(parts.weights(SHIPPED_WEIGHTS)), "the likeliest by a network that feedback trained"
    if encoder is not None and encoder.fingerprint != trained.encoder:  # without one the search says what to do
        if options.text("weights", ""):
            raise InputError(
                f"gcn-subgraph: this index has the encoder {encoder.name}, and the network was trained on another's "
                "vectors; leave weights out, or train one for it (clew train subgraph)"
            )
        model = trained.settings.made(encoder.dimension, 0).eval()
        trained = TrainedScorer(model, trained.settings, encoder.fingerprint, encoder.dimension)
        why = "the likeliest by a walk alone: the trained network reads another encoder than the index's"
    graph = lru_cache(maxsize=1)(parts.graph)
    settings = subgraph_settings(options)
    return SubgraphRetriever(
        parts.scope, parts.lexical, graph, vectors, GCNSelector(trained), why, settings, by_words=True
    )
