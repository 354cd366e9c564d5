"""G-Retriever's selection on an index: a tree that collects the entities and relations likest to the question.

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), section 5.3. Differs from the source: the tree is looked for in the neighbourhood of what the question names,
whose names are taken out of the question; it has a budget of nodes.
"""

from functools import lru_cache

from clew.retrievers.frag.factory import GraphSearchContext
from clew.retrievers.spec import Options
from clew.retrievers.subgraph.retriever import SubgraphRetriever, TextVectors, parse_subgraph_settings
from clew.retrievers.subgraph.selectors import SteinerSelector


def make_steiner_retriever(context: GraphSearchContext, vectors: TextVectors, options: Options) -> SubgraphRetriever:
    """Return the retriever as the options say.

    Args:
        context: Of the index.
        vectors: Of its texts.
        options: `topk`, `topk_e`, `cost` and `fill` of the tree, and those of `subgraph_settings`.

    Raises:
        InputError: An option's value is none.
    """
    plain = SteinerSelector()
    selector = SteinerSelector(
        options.integer("topk", plain.topk),
        options.integer("topk_e", plain.topk_e),
        options.float_("cost", plain.cost),
        options.text("fill", "no", ("yes", "no")) == "yes",
    )
    why = f"a tree that collects the {selector.topk} likest names and {selector.topk_e} likest relations"
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    settings = parse_subgraph_settings(options)
    return SubgraphRetriever(context.scope, context.lexical, graph, vectors, selector, why, settings)
