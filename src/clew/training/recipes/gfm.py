"""Training of the network of `gfm`: on folders of data (see `data.corpora`), or on questions made from an index."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.graph.snapshot.relational_edges import (
    entity_graph,
    inverse_text,
    mention_graph,
    passage_graph,
    relation_texts,
)
from clew.index import Index
from clew.index import open as open_index
from clew.models.encoders.compatibility import reads_vectors_of
from clew.nn.query_gnn import QueryGNN
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.query.entity_linker import LinkerSettings
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.retrievers.gfm.entity_graphs import EntityGraphBuilder
from clew.retrievers.gfm.factory import choose_encoder, find_nearest_passages, load_node_texts, relation_texts_for
from clew.retrievers.gfm.passage_graphs import PassageGraphBuilder
from clew.retrievers.gfm.passage_ranking import EntityRanker, PassageRanker
from clew.retrievers.gfm.settings import EntityForm
from clew.retrievers.gfm.weights import TextEncoder, TrainedGNN, load_weights, save_weights
from clew.store.atomic import discard
from clew.training.data import corpora
from clew.training.data.chain_questions import ChainQuestionMaker
from clew.training.data.corpora import (
    CORPUS_FILE,
    DEVELOPMENT_FILE,
    TRAIN_FILE,
    IndexedQuestions,
    hash_folders,
)
from clew.training.data.gfm_examples import GFMExamples, GraphView, count_gold_nodes, make_examples
from clew.training.data.synthetic_questions import PathQuestionMaker
from clew.training.distributed import ProcessGroup
from clew.training.loop import SINGLE_PROCESS, train
from clew.training.objectives.document_retrieval import DocumentRetrieval
from clew.training.objectives.kg_completion import CompletionFacts, KGCompletion
from clew.training.recipes.networks import query_network_settings
from clew.training.recipes.records import GFMRecipe
from clew.training.result import TrainingResult
from clew.types import Progress, Question

HELD_OUT_SHARE = 0.2
"""Share of the questions made from an index that chooses the epoch."""
LABELLED_SHARE = 0.25
"""Share of the questions that adapting sees that are labelled ones, where such are given."""


def train_gfm(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    recipe: GFMRecipe,
    progress: Progress,
    group: ProcessGroup = SINGLE_PROCESS,
    indexes: Sequence[IndexedQuestions] = (),
    validation_indexes: Sequence[IndexedQuestions] = (),
) -> TrainingResult:
    """Train the graph neural network on some folders of data, and write its weights.

    Folders have a corpus, those to fine-tune on `train.jsonl` and those of validation, which choose the epoch,
    `dev.jsonl` except to pretrain. Without validation, a part of the facts or questions of the corpora is held out, or,
    to fine-tune, the last epoch is stored. `indexes` exist already, by whatever extractor; the graphs of their
    questions are built when they are needed, so that memory does not grow with them. `out`/run holds the indexes of
    folders and the state of the run, which resumes after a kill.
    """
    run, folders = out / "run", (*data, *validation)
    corpora.check_out_folder(out)
    for folder in folders:
        if not (folder / CORPUS_FILE).is_file():
            raise InputError(
                f"{folder} has no {CORPUS_FILE}: give folders with {CORPUS_FILE} and {TRAIN_FILE} or {DEVELOPMENT_FILE}"
            )
    if not data and not indexes:
        raise InputError("there is nothing to learn from: give --data FOLDER, or --index INDEX")
    own_indexes, device = (*indexes, *validation_indexes), group.device.type
    names = corpora.distinct_names([*folders, *(each.index for each in own_indexes)])
    with group.rank_zero_first():
        views = {folder: open_graph_view(folder, run, recipe, progress, device) for folder in folders}
        opened = {each.index: open_index(each.index, progress, device=device) for each in own_indexes}
    views |= {place: graph_view(index.context, recipe) for place, index in opened.items()}
    model, encoder = _initial_network(recipe, views[data[0] if data else indexes[0].index])
    contents = [hash_folders(data, TRAIN_FILE), hash_folders(validation, DEVELOPMENT_FILE)]
    if own_indexes:
        contents += [_hash_indexes(some, opened) for some in (indexes, validation_indexes)]
    key = _run_key(recipe, *contents)
    state, size, gold, outside = run / f"state-{key}", 0, 0, 0
    if recipe.stage == "pretrain":
        places = [[*data, *(i.index for i in indexes)], [*validation, *(i.index for i in validation_indexes)]]
        facts, held_out = ([_build_facts(views[place], recipe) for place in some] for some in places)
        completion = KGCompletion(facts, recipe.loss, recipe.completion, recipe.loop.seed, held_out)
        result = train(model, completion, recipe.loop, state, progress, group, recipe.dtype)
    else:
        own = {names[f]: build_examples(views[f], f, DEVELOPMENT_FILE, recipe, progress) for f in validation}
        build = partial(build_index_examples, recipe=recipe, progress=progress)
        own |= {names[i.index]: build(views[i.index], i, training=False) for i in validation_indexes}
        examples, others = _build_splits(data, [views[folder] for folder in data], names, recipe, progress)
        if recipe.stage == "finetune":
            examples += [build(views[i.index], i, training=True) for i in indexes]
        else:
            graphs = [i.index for i in indexes]
            of_graphs = [views[place] for place in graphs]
            more, held = _build_splits(graphs, of_graphs, names, recipe, progress, lazy=True)
            examples, others = examples + more, others | held
        retrieval = DocumentRetrieval(examples, own or others, recipe.loss)
        result = train(model, retrieval, recipe.loop, state, progress, group, recipe.dtype)
        size = sum(len(part.items) for part in examples)
        gold, outside = (sum(counts) for counts in zip(*(count_gold_nodes(p.items) for p in examples), strict=True))
    about: dict[str, Any] = {
        **_describe_recipe(recipe),
        "data": [names[place] for place in (*data, *(each.index for each in indexes))],
        "validation": [names[place] for place in (*validation, *(each.index for each in validation_indexes))],
        "questions": size,
        "gold nodes": gold,
        "gold nodes outside the graphs": outside,
        "best epoch": result.best_epoch + 1,  # as it is printed; 0 for the start
        "figures": {name: round(value, 4) for name, value in result.figures.items()},
    }
    with group.rank_zero_first():
        if not group.rank:
            save_weights(
                out,
                _trained_network(model, recipe, encoder),
                about,
            )
    return replace(result, questions=size, gold_nodes=gold, gold_nodes_outside=outside)


def _trained_network(model: QueryGNN, recipe: GFMRecipe, encoder: TextEncoder) -> TrainedGNN:
    nodes = None if recipe.whole_graph else recipe.nodes
    form = EntityForm() if recipe.targets == "passages" else EntityForm(recipe.seeds, recipe.ranker)
    form = replace(form, linker=recipe.linker)
    return TrainedGNN(model.network(), recipe.targets, encoder, nodes, "", _reads_chains(recipe), form)


def adapt_gfm(
    index: Index,
    start: Path,
    out: Path,
    recipe: GFMRecipe,
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
    view = graph_view(index.context, recipe, trained)
    progress("making questions", 0, 0)
    maker = ChainQuestionMaker if trained.chains else PathQuestionMaker
    training, held_out = _split_holdout(maker(view.snapshot, seed).make(recipe.questions), seed)
    progress("building question graphs", 0, 0)
    # Each graph of the whole index is as large as the index: they are built when they are needed.
    lazy = trained.nodes is None
    examples = [make_examples(view, training, seed, lazy=lazy)]
    validation = {"held out": make_examples(view, held_out, seed, lazy=lazy)}
    given = 0
    if labelled is not None:
        own, others = _split_holdout(answered_questions, seed)
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
    version = f"{index.table.version}-{trained.key}-{_run_key(recipe, contents, loop=True)}"
    state = index.table.location.derived / "adapting" / version
    model = QueryGNN.from_network(trained.model)
    result = train(model, objective, recipe.loop, state, progress, group)
    discard(state)
    if result.best_epoch >= 0:
        about = {"adapted from": trained.key, "questions": len(training), "labelled": given, **_describe_recipe(recipe)}
        encoder = trained.encoder
        if encoder.fingerprint:
            encoder = replace(encoder, name=view.encoder.name, fingerprint=view.encoder.fingerprint)
        adapted = replace(trained, model=model.network(), encoder=encoder)
        save_weights(out, adapted, {**about, "figures": result.figures})
    return replace(result, questions=len(training), held_out=len(held_out))


def build_examples(view: GraphView, folder: Path, questions: str, recipe: GFMRecipe, progress: Progress) -> GFMExamples:
    """Return the questions of a folder of data with their graphs."""
    path = folder / questions
    if not path.is_file():
        raise InputError(f"{folder} has no {questions}: give a folder with {CORPUS_FILE} and {questions}")
    progress(f"building question graphs of {folder.name}", 0, 0)
    loaded = load_questions(path)
    if questions == TRAIN_FILE:
        loaded = _draw_fraction(loaded, recipe)
    return make_examples(view, loaded, recipe.loop.seed, augment=recipe.loss.augment)


def _draw_fraction(questions: list[Question], recipe: GFMRecipe) -> list[Question]:
    if recipe.fraction == 1:
        return questions
    order = np.random.default_rng(recipe.loop.seed).permutation(len(questions))
    return [questions[i] for i in sorted(order[: max(1, round(recipe.fraction * len(questions)))])]


def build_index_examples(
    view: GraphView, source: IndexedQuestions, recipe: GFMRecipe, progress: Progress, *, training: bool
) -> GFMExamples:
    """Return the questions on an index that exists; their graphs are built when they are needed.

    Those of training are the fraction of them that the recipe names.
    """
    questions = source.question_file()
    progress(f"reading {questions.name}", 0, 0)
    loaded = load_questions(questions)
    if training:
        loaded = _draw_fraction(loaded, recipe)
    return make_examples(view, loaded, recipe.loop.seed, augment=recipe.loss.augment, lazy=True)


def _hash_indexes(sources: Sequence[IndexedQuestions], opened: Mapping[Path, Index]) -> list[str]:
    files = [Path("-") if source.questions is None else source.questions for source in sources]
    pairs = zip(sources, files, strict=True)
    return [f"{opened[source.index].table.files_hash}{corpora.hash_file(file)}" for source, file in pairs]


def open_graph_view(
    folder: Path, run: Path, recipe: GFMRecipe, progress: Progress, device: str | None = None
) -> GraphView:
    """Return the graphs of a folder of data; its corpus is indexed in `run` unless that is done."""
    return graph_view(corpora.open_corpus_index(folder, run, progress, device), recipe)


def _build_splits(
    data: Sequence[Path],
    views: Sequence[GraphView],
    names: Mapping[Path, str],
    recipe: GFMRecipe,
    progress: Progress,
    *,
    lazy: bool = False,
) -> tuple[list[GFMExamples], dict[str, GFMExamples]]:
    """Return the examples to learn from, and by name of the corpus those held out of them."""
    if recipe.stage == "finetune":
        pairs = zip(data, views, strict=True)
        return [build_examples(view, folder, TRAIN_FILE, recipe, progress) for folder, view in pairs], {}
    seed = recipe.loop.seed
    training: list[GFMExamples] = []
    held_out: dict[str, GFMExamples] = {}
    for folder, view in zip(data, views, strict=True):
        progress(f"making questions of {names[folder]}", 0, 0)
        own, others = _split_holdout(PathQuestionMaker(view.snapshot, seed).make(recipe.questions), seed)
        build = partial(make_examples, view, seed=seed, augment=recipe.loss.augment, lazy=lazy)
        training.append(build(own))
        held_out[names[folder]] = build(others)
    return training, held_out


def _split_holdout(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    if len(questions) < 5:
        raise InputError(f"questions, made or given: {len(questions)}; at least 5 are needed")
    order = np.random.default_rng(seed).permutation(len(questions)).tolist()
    cut = max(1, round(HELD_OUT_SHARE * len(questions)))
    return [questions[i] for i in order[cut:]], [questions[i] for i in order[:cut]]


def graph_view(context: IndexContext, recipe: GFMRecipe, trained: TrainedGNN | None = None) -> GraphView:
    """Return the graphs of an index for the network of a recipe, or for a trained one of the same encoder."""
    encoder = context.encoder
    read = load_weights(recipe.start) if trained is None and recipe.start is not None else trained
    if read is not None and not read.encoder.fingerprint:
        encoder = choose_encoder(context, read, recipe.start or Path("weights"))  # of a published checkpoint
    elif trained is not None:
        _check_encoder(trained, encoder, reads_vectors_of)
    snapshot, walk = context.scope.snapshot, GraphWalk(context.scope, context.lexical, GraphWalkConfig())
    source = recipe if trained is None else trained
    form = EntityForm(recipe.seeds, recipe.ranker) if trained is None else trained.form
    nodes = None if trained is None and recipe.whole_graph else source.nodes
    entities, documents = source.targets == "entities", source.targets == "documents"
    builder: EntityGraphBuilder | PassageGraphBuilder
    ranker: EntityRanker | PassageRanker
    if entities or documents:
        nearest = find_nearest_passages(context.similar_passages(), context.encoder)
        edges = entity_graph(snapshot) if entities else mention_graph(snapshot)
        builder = EntityGraphBuilder(edges, snapshot, nodes, nearest, form.seeds)
        ranker = PassageRanker()
        if entities:
            ranker = EntityRanker(
                snapshot,
                weighted=form.ranker == "weighted",
                entities=form.entities,
                rarity=form.rarity,
                same_encoder=encoder is context.encoder,
            )
    else:
        chains = context.chain_search() if source.chains else None
        builder = PassageGraphBuilder(passage_graph(snapshot), walk, nodes, chains=chains)
        ranker = PassageRanker()
    encode = partial(context.encode_texts_with, encoder=encoder)
    relations = encode(relation_texts_for(source.targets, snapshot))
    method = recipe.linker if trained is None else trained.form.linker
    link = None if method == "exact" else context.make_linker(LinkerSettings(method)).link
    texts = load_node_texts(context, encoder) if documents else None
    return GraphView(snapshot, builder, ranker, encoder, relations, encode, entities, link, texts)


def _build_facts(view: GraphView, recipe: GFMRecipe) -> CompletionFacts:
    """Return the facts of an index as questions: the texts of their relations, then of the inverse relations."""
    texts = relation_texts(view.snapshot)
    nodes = None if recipe.whole_graph else recipe.completion.nodes
    return CompletionFacts(view, view.encode_texts([*texts, *map(inverse_text, texts)]), nodes)


def _initial_network(recipe: GFMRecipe, view: GraphView) -> tuple[QueryGNN, TextEncoder]:
    encoder = TextEncoder(view.encoder.name, view.encoder.fingerprint)
    shape = query_network_settings(recipe, view.relations.shape[1])
    if recipe.start is None:
        torch.manual_seed(recipe.loop.seed)
        return QueryGNN(shape), encoder
    trained = load_weights(recipe.start)
    if trained.encoder.fingerprint:
        _check_encoder(trained, view.encoder, str.__eq__)
    else:
        encoder = trained.encoder
    seen = {**asdict(trained.model.settings), "targets": trained.targets}
    wanted = {**asdict(shape), "targets": recipe.targets}
    if other := [f"{name} {seen[name]}, not {wanted[name]}" for name in wanted if seen[name] != wanted[name]]:
        raise InputError(f"the weights in {recipe.start} have {'; '.join(other)}: give weights of the same shape")
    return QueryGNN.from_network(trained.model), encoder


def _check_encoder(trained: TrainedGNN, encoder: Encoder, is_read: Callable[[str, str], bool]) -> None:
    if not is_read(trained.encoder.fingerprint, encoder.fingerprint):
        raise InputError(
            f"the weights read vectors of {trained.encoder.name}, and the index was made with {encoder.name}: give "
            "weights of the index's encoder"
        )


def _reads_chains(recipe: GFMRecipe) -> bool:
    return recipe.targets == "passages" and recipe.chains


def _describe_recipe(recipe: GFMRecipe) -> dict[str, Any]:
    start = None if recipe.start is None else load_weights(recipe.start).key
    of_passages = recipe.targets == "passages"  # entities have neither features nor a prior
    features, prior = of_passages and recipe.features, of_passages and recipe.prior
    chains = _reads_chains(recipe)
    described = {**asdict(recipe), "start": start, "features": features, "prior": prior, "chains": chains}
    if recipe.dtype == "float32":
        del described["dtype"]  # as in runs of before, which go on
    return described


def _run_key(recipe: GFMRecipe, *contents: list[str], loop: bool = False) -> str:
    """Return a hash of recipe and data, which names a run in a folder; the loop checks its own recipe otherwise."""
    described = {name: value for name, value in _describe_recipe(recipe).items() if loop or name != "loop"}
    return blake2b(repr((described, contents)).encode(), digest_size=6).hexdigest()
