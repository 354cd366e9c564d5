"""Training of the network of `gfm`: on folders of data (see `data.corpora`), or on questions made from an index."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clew.errors import InputError
from clew.graph.snapshot.relational_edges import relation_texts
from clew.index import Index
from clew.index import open as open_index
from clew.nn.query_gnn import QueryGNN
from clew.retrievers.gfm.settings import EntityForm
from clew.retrievers.gfm.weights import TextEncoder, TrainedGNN, load_weights, save_weights
from clew.training.checkpoint import ProcessGroup
from clew.training.data import corpora
from clew.training.data.corpora import (
    CORPUS_FILE,
    DEVELOPMENT_FILE,
    TRAIN_FILE,
    IndexedQuestions,
    hash_folders,
)
from clew.training.data.gfm_examples import GFMExamples, GraphView, count_gold_nodes, make_examples
from clew.training.data.synthetic_questions import PathQuestionMaker, split_holdout
from clew.training.hyperparameters import TrainingResult
from clew.training.loop import SINGLE_PROCESS, train
from clew.training.objectives.document_retrieval import DocumentRetrieval
from clew.types import Progress, Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.graph.node_graphs import inverse_text
from clew_lab.training.objectives.kg_completion import CompletionFacts, KGCompletion
from clew_lab.training.recipes.gfm_graphs import check_encoder, graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe
from clew_lab.training.recipes.gfm_runs import describe_training, reads_chains, run_key
from clew_lab.training.recipes.networks import query_network_settings


@dataclass(frozen=True, slots=True)
class _Sources:
    """Folders of data and indexes that a network learns from and is chosen on, with the graphs of each."""

    data: Sequence[Path]
    validation: Sequence[Path]
    indexes: Sequence[IndexedQuestions]
    validation_indexes: Sequence[IndexedQuestions]
    names: Mapping[Path, str]
    views: Mapping[Path, GraphView]
    hashes: Sequence[list[str]]  # of all that is read

    def training_places(self) -> list[Path]:
        """Return the folders and indexes that are learned from."""
        return [*self.data, *(each.index for each in self.indexes)]

    def judge_places(self) -> list[Path]:
        """Return the folders and indexes that choose the epoch."""
        return [*self.validation, *(each.index for each in self.validation_indexes)]


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
    corpora.check_out_folder(out)
    run = out / "run"
    sources = _open_sources(data, validation, indexes, validation_indexes, run, recipe, progress, group)
    model, encoder = _initial_network(recipe, sources.views[sources.training_places()[0]])
    state = run / f"state-{run_key(recipe, *sources.hashes)}"
    if recipe.stage == "pretrain":
        facts, held_out = (
            [_build_facts(sources.views[place], recipe) for place in places]
            for places in (sources.training_places(), sources.judge_places())
        )
        completion = KGCompletion(facts, recipe.loss, recipe.completion, recipe.loop.seed, held_out)
        result = train(model, completion, recipe.loop, state, progress, group, recipe.dtype)
    else:
        examples, held_out_questions = _build_questions(sources, recipe, progress)
        retrieval = DocumentRetrieval(examples, held_out_questions, recipe.loss)
        result = train(model, retrieval, recipe.loop, state, progress, group, recipe.dtype)
        gold, outside = (sum(counts) for counts in zip(*(count_gold_nodes(p.items) for p in examples), strict=True))
        size = sum(len(part.items) for part in examples)
        result = replace(result, questions=size, gold_nodes=gold, gold_nodes_outside=outside)
    with group.rank_zero_first():
        if not group.rank:
            save_weights(out, _trained_network(model, recipe, encoder), _describe_run(sources, recipe, result))
    return result


def _open_sources(
    data: Sequence[Path],
    validation: Sequence[Path],
    indexes: Sequence[IndexedQuestions],
    validation_indexes: Sequence[IndexedQuestions],
    run: Path,
    recipe: GFMRecipe,
    progress: Progress,
    group: ProcessGroup,
) -> _Sources:
    """Check what is given, index the corpora of folders in `run`, and open the indexes."""
    folders, own_indexes = (*data, *validation), (*indexes, *validation_indexes)
    for folder in folders:
        if not (folder / CORPUS_FILE).is_file():
            raise InputError(
                f"{folder} has no {CORPUS_FILE}: give folders with {CORPUS_FILE} and {TRAIN_FILE} or {DEVELOPMENT_FILE}"
            )
    for each in indexes if recipe.stage != "finetune" else ():
        each.check_no_questions(recipe.stage)
    for each in validation_indexes if recipe.stage == "pretrain" else ():
        each.check_no_questions(recipe.stage)
    if not data and not indexes:
        raise InputError("there is nothing to learn from: give --data FOLDER, or --index INDEX")
    names = corpora.distinct_names([*folders, *(each.index for each in own_indexes)])
    device = group.device.type
    with group.rank_zero_first():
        views = {folder: open_graph_view(folder, run, recipe, progress, device) for folder in folders}
        opened = {each.index: open_index(each.index, progress, device=device) for each in own_indexes}
    views |= {place: graph_view(index.context, recipe) for place, index in opened.items()}
    hashes = [hash_folders(data, TRAIN_FILE), hash_folders(validation, DEVELOPMENT_FILE)]
    if own_indexes:
        hashes += [_hash_indexes(some, opened) for some in (indexes, validation_indexes)]
    return _Sources(data, validation, indexes, validation_indexes, names, views, hashes)


def _build_questions(
    sources: _Sources, recipe: GFMRecipe, progress: Progress
) -> tuple[list[GFMExamples], dict[str, GFMExamples]]:
    """Return the questions to learn from, by folder and index, and by name those that choose the epoch."""
    data, views, names = sources.data, sources.views, sources.names
    validation = {
        names[folder]: build_examples(views[folder], folder, DEVELOPMENT_FILE, recipe, progress)
        for folder in sources.validation
    }
    validation |= {
        names[each.index]: build_index_examples(views[each.index], each, recipe, progress, training=False)
        for each in sources.validation_indexes
    }
    examples, held_out = _build_splits(data, [views[folder] for folder in data], names, recipe, progress)
    if recipe.stage == "finetune":
        examples += [
            build_index_examples(views[each.index], each, recipe, progress, training=True) for each in sources.indexes
        ]
    else:
        places = [each.index for each in sources.indexes]
        more, held = _build_splits(places, [views[place] for place in places], names, recipe, progress, lazy=True)
        examples, held_out = examples + more, held_out | held
    return examples, validation or held_out


def _describe_run(sources: _Sources, recipe: GFMRecipe, result: TrainingResult) -> dict[str, Any]:
    return {
        **describe_training(recipe),
        "data": [sources.names[place] for place in sources.training_places()],
        "validation": [sources.names[place] for place in sources.judge_places()],
        "questions": result.questions,
        "gold nodes": result.gold_nodes,
        "gold nodes outside the graphs": result.gold_nodes_outside,
        "best epoch": result.best_epoch + 1,  # as it is printed; 0 for the start
        "figures": {name: round(value, 4) for name, value in result.figures.items()},
    }


def _trained_network(model: QueryGNN, recipe: GFMRecipe, encoder: TextEncoder) -> TrainedGNN:
    nodes = None if recipe.whole_graph else recipe.nodes
    form = EntityForm() if recipe.targets == "passages" else EntityForm(recipe.seeds, recipe.ranker)
    form = replace(form, linker=recipe.linker)
    return TrainedGNN(model.network(), recipe.targets, encoder, nodes, "", reads_chains(recipe), form)


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
        own, others = split_holdout(PathQuestionMaker(view.snapshot, seed).make(recipe.questions), seed)
        build = partial(make_examples, view, seed=seed, augment=recipe.loss.augment, lazy=lazy)
        training.append(build(own))
        held_out[names[folder]] = build(others)
    return training, held_out


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
        check_encoder(trained, view.encoder)
    else:
        encoder = trained.encoder
    seen = {**asdict(trained.model.settings), "targets": trained.targets}
    wanted = {**asdict(shape), "targets": recipe.targets}
    if other := [f"{name} {seen[name]}, not {wanted[name]}" for name in wanted if seen[name] != wanted[name]]:
        raise InputError(f"the weights in {recipe.start} have {'; '.join(other)}: give weights of the same shape")
    return QueryGNN.from_network(trained.model), encoder
