"""Weights of `gfm` tuned on questions that are made from an index."""

from dataclasses import asdict, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path

from clew.datasets.questions import load_questions
from clew.graph.snapshot.relation_vectors import passage_relation_vectors
from clew.graph.snapshot.relational_edges import passage_graph, relation_texts
from clew.index import Index
from clew.nn.query_gnn import QueryGNN
from clew.query.context import IndexContext
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.retrievers.gfm.factory import check_encoder
from clew.retrievers.gfm.passage_graphs import PassageGraphBuilder
from clew.retrievers.gfm.passage_ranking import PassageRanker
from clew.retrievers.gfm.weights import TrainedGNN, load_weights, save_weights
from clew.store.atomic import discard
from clew.training.checkpoint import ProcessGroup
from clew.training.data import corpora
from clew.training.data.chain_questions import ChainQuestionMaker
from clew.training.data.gfm_examples import GraphView, make_examples
from clew.training.data.synthetic_questions import PathQuestionMaker, split_holdout
from clew.training.hyperparameters import AdaptRecipe, TrainingResult
from clew.training.loop import SINGLE_PROCESS, train
from clew.training.objectives.document_retrieval import DocumentRetrieval
from clew.types import Progress

LABELLED_SHARE = 0.25
"""Share of the questions that adapting sees that are labelled ones, where such are given."""


def adapt_gfm(
    index: Index,
    start: Path,
    out: Path,
    recipe: AdaptRecipe,
    progress: Progress,
    group: ProcessGroup = SINGLE_PROCESS,
    labelled: Path | None = None,
) -> TrainingResult:
    """Tune weights on questions made from an index, and write them if they win on the held-out ones.

    The shape is that of the weights to start with. No question or label is needed; a file of `labelled` questions,
    with their evidence, counts for a quarter of the steps, and a fifth of it is held out beside the generated ones. New
    weights are written to `out` if `best_epoch` of the result is not -1. `group` is a single process and its device.
    Raises InputError if too few questions can be made or are given, or for another encoder.
    """
    corpora.check_out_folder(out)
    seed = recipe.loop.seed
    answered_questions = [] if labelled is None else load_questions(labelled)
    trained = load_weights(start)
    view = graph_view(index.context, trained)
    progress("making questions", 0, 0)
    maker = ChainQuestionMaker if trained.chains else PathQuestionMaker
    training, held_out = split_holdout(maker(view.snapshot, seed).make(recipe.questions), seed)
    progress("building question graphs", 0, 0)
    # Each graph of the whole index is as large as the index: they are built when they are needed.
    lazy = trained.nodes is None
    examples = [make_examples(view, training, seed, lazy=lazy)]
    validation = {"held out": make_examples(view, held_out, seed, lazy=lazy)}
    given = 0
    if labelled is not None:
        own, others = split_holdout(answered_questions, seed)
        given = len(own) + len(others)
        times = max(1, round(len(training) * LABELLED_SHARE / (1 - LABELLED_SHARE) / len(own)))
        if lazy:
            examples.append(make_examples(view, own * times, seed, lazy=True))
        else:
            answered = make_examples(view, own, seed)
            examples.append(replace(answered, items=tuple(answered.items) * times))
        validation["labelled"] = make_examples(view, others, seed, lazy=lazy)
    objective = DocumentRetrieval(examples, validation, recipe.loss)
    contents = [] if labelled is None else [corpora.hash_file(labelled)]
    version = f"{index.table.version}-{trained.key}-{_hash_run(recipe, contents)}"
    state = index.table.location.derived / "adapting" / version
    model = QueryGNN.from_network(trained.model)
    result = train(model, objective, recipe.loop, state, progress, group)
    discard(state)
    if result.best_epoch >= 0:
        about = {"adapted from": trained.key, "questions": len(training), "labelled": given, **asdict(recipe)}
        encoder = trained.encoder
        if encoder.fingerprint:
            encoder = replace(encoder, name=view.encoder.name, fingerprint=view.encoder.fingerprint)
        adapted = replace(trained, model=model.network(), encoder=encoder)
        save_weights(out, adapted, {**about, "figures": result.figures})
    return replace(result, questions=len(training), held_out=len(held_out))


def graph_view(context: IndexContext, trained: TrainedGNN) -> GraphView:
    """Return the graphs of an index for a trained network of the same encoder that scores passages."""
    encoder = check_encoder(trained, context.index_encoder)
    snapshot, walk = context.scope.snapshot, GraphWalk(context.scope, context.lexical, GraphWalkConfig())
    chains = context.chain_search() if trained.chains else None
    edges, encode = passage_graph(snapshot), partial(context.encode_texts_with, encoder=encoder)
    builder = PassageGraphBuilder(edges, walk, trained.nodes, chains=chains)
    relations = passage_relation_vectors(edges, relation_texts(snapshot), encode)
    return GraphView(snapshot, builder, PassageRanker(), encoder, relations, encode, targets_entities=False)


def _hash_run(recipe: AdaptRecipe, contents: list[str]) -> str:
    """Return a hash of recipe and data, which names a run in a folder."""
    return blake2b(repr((asdict(recipe), contents)).encode(), digest_size=6).hexdigest()
