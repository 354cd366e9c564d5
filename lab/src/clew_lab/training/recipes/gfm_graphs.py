"""The graphs of an index as a network of `gfm` reads them, to train it, with the vectors of their relations."""

from functools import partial
from pathlib import Path

from clew.errors import InputError
from clew.graph.snapshot.relation_vectors import passage_relation_vectors
from clew.graph.snapshot.relational_edges import passage_graph
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.query.entity_linker import LinkerSettings
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.retrievers.gfm.passage_graphs import PassageGraphBuilder
from clew.retrievers.gfm.passage_ranking import PassageRanker
from clew.retrievers.gfm.settings import EntityForm
from clew.retrievers.gfm.weights import TrainedGNN, load_weights
from clew.training.data.gfm_examples import GraphView
from clew_lab.gfm.entity_graphs import EntityGraphBuilder, EntityRanker
from clew_lab.gfm.published_retriever import choose_encoder, load_node_texts, make_graphs_and_ranker, relation_texts_for
from clew_lab.graph.synonyms import load_synonyms
from clew_lab.training.recipes.gfm_recipe import GFMRecipe


def graph_view(context: IndexContext, recipe: GFMRecipe, trained: TrainedGNN | None = None) -> GraphView:
    """Return the graphs of an index for the network of a recipe, or for a trained one of the same encoder."""
    encoder = context.encoder
    read = load_weights(recipe.start) if trained is None and recipe.start is not None else trained
    if read is not None and not read.encoder.fingerprint:
        encoder = choose_encoder(context, read, recipe.start or Path("weights"))  # of a published checkpoint
    elif trained is not None:
        check_encoder(trained, encoder)
    snapshot, walk = context.scope.snapshot, GraphWalk(context.scope, context.lexical, GraphWalkConfig())
    source = recipe if trained is None else trained
    form = EntityForm(recipe.seeds, recipe.ranker) if trained is None else trained.form
    nodes = None if trained is None and recipe.whole_graph else source.nodes
    entities, documents = source.targets == "entities", source.targets == "documents"
    builder: EntityGraphBuilder | PassageGraphBuilder
    ranker: EntityRanker | PassageRanker
    if entities or documents:
        same = encoder is context.encoder
        builder, ranker = make_graphs_and_ranker(
            context, source.targets, form, nodes, load_synonyms(context, recipe.synonyms), same_encoder=same
        )
    else:
        chains = context.chain_search() if source.chains else None
        builder = PassageGraphBuilder(passage_graph(snapshot), walk, nodes, chains=chains)
        ranker = PassageRanker()
    encode = partial(context.encode_texts_with, encoder=encoder)
    texts = relation_texts_for(source.targets, snapshot)
    of_passages = not (entities or documents)
    relations = passage_relation_vectors(builder.edges, texts, encode) if of_passages else encode(texts)
    linker = LinkerSettings(recipe.linker, recipe.linker_floor)
    if trained is not None:
        linker = LinkerSettings(trained.form.linker)
    link = None if linker.method == "exact" else context.make_linker(linker).link
    node_texts = load_node_texts(context, encoder) if documents else None
    return GraphView(snapshot, builder, ranker, encoder, relations, encode, entities, link, node_texts)


def check_encoder(trained: TrainedGNN, encoder: Encoder) -> None:
    """Raise InputError for weights that read the vectors of another encoder."""
    if trained.encoder.fingerprint != encoder.fingerprint:
        raise InputError(
            f"the weights read vectors of {trained.encoder.name}, and the index was made with {encoder.name}: give "
            "weights of the index's encoder"
        )
