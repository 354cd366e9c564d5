"""G-Retriever's selection on an index: a tree of the entities and relations most similar to the question.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), section 5.3. Differs from the source: the tree is searched in the neighbourhood of the named entities; it has a
budget of nodes.
"""

from functools import lru_cache
from typing import ClassVar, Literal

from clew.plugins.records import Amount, WholeNumber, setting
from clew.query.context import IndexContext
from clew.retrievers.subgraph.retriever import SubgraphRetriever
from clew.retrievers.subgraph.settings import Neighbourhood
from clew_lab.retrievers.selectors import SteinerSelector

_TREE = SteinerSelector()


class Steiner(Neighbourhood):
    """Settings of `steiner`."""

    label: ClassVar[str] = "steiner"

    topk: WholeNumber = setting(_TREE.topk, "nodes that have a prize", "G-Retriever")
    topk_e: WholeNumber = setting(_TREE.topk_e, "similarity values of edges that have a prize", "G-Retriever")
    cost: Amount = setting(_TREE.cost, "cost of an edge", "G-Retriever")
    fill: bool = setting(
        default=False, description="whether a tree below the budget is filled with its most similar neighbours"
    )
    question: Literal["whole", "masked"] = setting(
        "whole", "the question that names are compared with: masked is without the names it asks about", "G-Retriever"
    )


def build_steiner(context: IndexContext, settings: Steiner) -> SubgraphRetriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    masked = settings.question == "masked"
    selector = SteinerSelector(settings.topk, settings.topk_e, settings.cost, settings.fill, masked)
    method = f"a tree that collects the {selector.topk} most similar names and {selector.topk_e} most similar relations"
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    bounds = settings.subgraph_settings()
    return SubgraphRetriever(context.scope, context.lexical, graph, context.text_vectors, selector, method, bounds)
