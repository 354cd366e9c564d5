"""GCN-Retriever on an index: the entities near what a question names that a trained network finds likeliest.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024).
Differs from the source: it runs on the neighbourhood of what the question names, pruned by personalised PageRank; see
`gcn_selector.py` for the network.
"""

from functools import lru_cache

from clew.errors import InputError
from clew.retrievers.frag.factory import GraphSearchContext
from clew.retrievers.spec import Options
from clew.retrievers.subgraph.gcn_selector import GCNSelector
from clew.retrievers.subgraph.gcn_weights import TrainedScorer, load_scorer
from clew.retrievers.subgraph.retriever import SubgraphRetriever, TextVectors, parse_subgraph_settings

SHIPPED_WEIGHTS = "subgraph"


def make_gcn_subgraph_retriever(
    context: GraphSearchContext, vectors: TextVectors, options: Options
) -> SubgraphRetriever:
    """Return the retriever as the options say.

    Args:
        context: Of the index.
        vectors: Of its texts.
        options: Those of `subgraph_settings`; `weights` names a folder that `clew train subgraph` made.

    Raises:
        InputError: An option's value is none, or given weights read another encoder.
        ProviderError: The weights are missing or damaged.
    """
    encoder = context.encoder
    trained, why = (
        load_scorer(context.weights_folder(SHIPPED_WEIGHTS)),
        "the likeliest by a network that feedback trained",
    )
    if encoder is not None and encoder.fingerprint != trained.encoder:  # without one the search says what to do
        if options.text("weights", ""):
            raise InputError(
                f"gcn-subgraph: this index has the encoder {encoder.name}, and the network was trained on another's "
                "vectors; leave weights out, or train one for it (clew train subgraph)"
            )
        model = trained.settings.build_network(encoder.dimension, 0).eval()
        trained = TrainedScorer(model, trained.settings, encoder.fingerprint, encoder.dimension)
        why = "the likeliest by a walk alone: the trained network reads another encoder than the index's"
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    settings = parse_subgraph_settings(options)
    return SubgraphRetriever(
        context.scope, context.lexical, graph, vectors, GCNSelector(trained), why, settings, by_words=True
    )
