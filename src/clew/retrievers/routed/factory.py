"""Builds the retriever `routed` over one index."""

from clew.protocols import Retriever
from clew.query.context import IndexContext
from clew.query.graph_walk import GraphWalkConfig
from clew.retrievers.pagerank import PageRankRetriever
from clew.retrievers.routed.retriever import Preference, RoutedRetriever, Router
from clew.retrievers.routed.settings import Routed
from clew.retrievers.routed.signals import SIGNALS
from clew.retrievers.routed.weights import load_choices
from clew.retrievers.spec import OpenRetriever


def build_routed(context: IndexContext, settings: Routed, open_retriever: OpenRetriever) -> Retriever:
    """Return the retriever over one index.

    Raises InputError where a choice is not one of the weights, or the folder holds no weights.
    """
    weights = load_choices(context.weights_folder("routed", settings.weights), tuple(SIGNALS))
    router = Router(weights, Preference.from_settings(settings, weights), len(context.scope))
    first = PageRankRetriever(context.scope, context.lexical, GraphWalkConfig())
    return RoutedRetriever(
        context.scope, first, router, lambda choice: open_retriever(choice.retriever, context.with_fresh_cache())
    )
