"""Trains the network of `gfm` from folders of data, or on an index itself: graphs are laid out, one loop does the rest.

A folder of data holds `corpus.jsonl` {id, title, text} and, for the stage that learns from questions, {id, question,
gold: [passage ids]} in `train.jsonl` to learn from and `dev.jsonl` to choose the epoch by.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.graph.snapshot.relational_edges import entity_graph, inverse_text, passage_graph, relation_texts
from clew.index import Index
from clew.nn.query_gnn import QueryGNN, QueryGNNSettings
from clew.protocols import Encoder
from clew.query.context import IndexContext
from clew.query.graph_walk import GraphWalk, GraphWalkConfig
from clew.retrievers.gfm.entity_graphs import EntityGraphBuilder
from clew.retrievers.gfm.factory import make_passage_similarity
from clew.retrievers.gfm.passage_graphs import FEATURES, PassageGraphBuilder
from clew.retrievers.gfm.passage_ranking import EntityRanker, PassageRanker
from clew.retrievers.gfm.weights import Targets, TextEncoder, TrainedGNN, load_weights, save_weights
from clew.store.atomic import discard
from clew.training.data.corpora import (
    CORPUS_FILE,
    DEVELOPMENT_FILE,
    TRAIN_FILE,
    distinct_names,
    hash_folders,
    open_corpus_index,
)
from clew.training.data.gfm_examples import GFMExamples, GraphView, make_examples
from clew.training.data.synthetic_questions import PathQuestionMaker
from clew.training.distributed import ProcessGroup
from clew.training.loop import SINGLE_PROCESS, Recipe, TrainingResult, train
from clew.training.objectives.document_retrieval import DocumentRetrieval, RetrievalLoss
from clew.training.objectives.kg_completion import CompletionFacts, CompletionRecipe, KGCompletion
from clew.types import Progress, Question

DEFAULT_NODES: dict[Targets, int] = {"passages": 100, "entities": 1000}
"""Of a question's graph: a hundred find what a thousand find where the walk chooses them (docs/benchmarks.md)."""

HELD_OUT_SHARE = 0.2
"""Share of questions made from an index that is not trained on, and judges."""

Stage = Literal["pretrain", "paths", "finetune"]


@dataclass(frozen=True, slots=True)
class GFMRecipe:
    """What is trained, and how.

    Attributes:
        stage: "pretrain" completes facts, "paths" answers questions made from the graph, "finetune" those of people.
        targets: "passages", or "entities" as published.
        width: Of a node's state.
        layers: How many steps a message goes.
        nodes: How many nodes a question's graph has at most.
        features: Whether nodes bring what the walk knows of them; passages only.
        prior: Whether scores start from the walk's ranking; passages only.
        message: "distmult" or "transe".
        aggregate: "sum" or "mean".
        start: Weights to begin with; None for random ones.
        fraction: Share of the training questions that is used.
        questions: Path questions made of each index.
        loss: What is minimised.
        completion: How facts are drawn.
        loop: Epochs, rates and the seed.
    """

    stage: Stage = "finetune"
    targets: Targets = "passages"
    width: int = 64
    layers: int = 3
    nodes: int = DEFAULT_NODES["passages"]
    features: bool = True
    prior: bool = True
    message: str = "distmult"
    aggregate: str = "sum"
    start: Path | None = None
    fraction: float = 1.0
    questions: int = 1000
    loss: RetrievalLoss = field(default_factory=RetrievalLoss)
    completion: CompletionRecipe = field(default_factory=CompletionRecipe)
    loop: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        wrong = [
            f"{name} is {value!r}; wanted {', '.join(choices)}"
            for name, value, choices in (
                ("stage", self.stage, ("pretrain", "paths", "finetune")),
                ("targets", self.targets, ("passages", "entities")),
                ("message", self.message, ("distmult", "transe")),
                ("aggregate", self.aggregate, ("sum", "mean")),
            )
            if value not in choices
        ]
        if min(self.width, self.layers, self.nodes, self.questions) < 1 or not 0 < self.fraction <= 1:
            wrong.append("width, layers, nodes and questions must be at least 1, the fraction above 0 and at most 1")
        if wrong:
            raise InputError("; ".join(wrong))

    def network_settings(self, text_width: int) -> QueryGNNSettings:
        """Return the shape of the network, for vectors of a width."""
        own = self.targets == "passages"
        return QueryGNNSettings(
            self.width,
            text_width,
            self.layers,
            len(FEATURES) if own and self.features else 0,
            prior=own and self.prior,
            learned_inverse=own,
            message=self.message,
            aggregate=self.aggregate,
        )


ADAPTATION = GFMRecipe("paths", questions=1500, loop=Recipe(epochs=1, rate=2e-4, average=0.98))
"""How weights are adapted to an index; their shape stays."""


@dataclass(frozen=True, slots=True)
class Adapted:
    """What adapting to an index gave.

    Attributes:
        kept: Whether the new weights won on the questions held out, and were written.
        before: Figures on them of the weights it started from.
        after: Of the best epoch.
        learned: Questions learned from.
        held_out: Questions that judged.
        seconds: Of training.
    """

    kept: bool
    before: dict[str, float]
    after: dict[str, float]
    learned: int
    held_out: int
    seconds: float


def train_gfm(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    recipe: GFMRecipe,
    progress: Progress,
    group: ProcessGroup = SINGLE_PROCESS,
) -> TrainingResult:
    """Train the graph neural network on some folders of data, and write its weights.

    Args:
        data: Folders with a corpus, and `train.jsonl` to fine-tune.
        validation: Folders with a corpus, and `dev.jsonl` but to pretrain, that choose the epoch; without any a part of
            what the indexes themselves give is held out, or, to fine-tune, the last epoch's weights are kept.
        out: Gets the weights; `out`/run keeps the indexes and the state of the run, which goes on after a kill.
        recipe: What and how.
        progress: Told the stage and how much of how much is done.
        group: The processes that share the work.

    Raises:
        InputError: A folder lacks a file, questions do not fit their corpus, or there is nothing to learn from.
    """
    run = out / "run"
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the weights need a folder: give another place")
    for folder in (*data, *validation):
        if not (folder / CORPUS_FILE).is_file():
            raise InputError(
                f"{folder} has no {CORPUS_FILE}: give folders with {CORPUS_FILE} and {TRAIN_FILE} or {DEVELOPMENT_FILE}"
            )
    names = distinct_names([*data, *validation])
    with group.rank_zero_first():
        grounds = {
            folder: graph_view(open_corpus_index(folder, run, progress), recipe) for folder in (*data, *validation)
        }
    sources = [grounds[folder] for folder in data]
    model, encoder = _initial_network(recipe, sources[0])
    state = (
        run / f"state-{_run_key(recipe, hash_folders(data, TRAIN_FILE), hash_folders(validation, DEVELOPMENT_FILE))}"
    )
    size = 0
    if recipe.stage == "pretrain":
        learnt, judging = (
            [_build_facts(grounds[folder], recipe) for folder in folders] for folders in (data, validation)
        )
        completion = KGCompletion(learnt, recipe.loss, recipe.completion, recipe.loop.seed, judging)
        result = train(model, completion, recipe.loop, state, progress, group)
    else:
        judges = {names[f]: build_examples(grounds[f], f, DEVELOPMENT_FILE, recipe, progress) for f in validation}
        learned, held = _build_splits(data, sources, names, recipe, progress)
        retrieval = DocumentRetrieval(learned, judges or held, recipe.loss)
        result = train(model, retrieval, recipe.loop, state, progress, group)
        size = sum(len(one.items) for one in learned)
    about: dict[str, Any] = {
        **_describe_recipe(recipe),
        "data": [names[folder] for folder in data],
        "validation": [names[folder] for folder in validation],
        "questions": size,
        "best epoch": result.best_epoch,
        "figures": {name: round(value, 4) for name, value in result.figures.items()},
    }
    with group.rank_zero_first():
        if not group.rank:
            save_weights(out, TrainedGNN(model, recipe.targets, encoder, recipe.nodes, ""), about)
    return result


def adapt_gfm(index: Index, start: Path, out: Path, recipe: GFMRecipe, progress: Progress) -> Adapted:
    """Tune weights on questions made from an index itself, and write them where they win on those held out.

    Args:
        index: What is adapted to; no question or label is needed.
        start: The weights to begin with.
        out: Gets the new weights, if they win.
        recipe: How; the shape is that of the weights.
        progress: Told the stage and how much of how much is done.

    Raises:
        InputError: The index gives no questions, or the weights are of another encoder.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the weights need a folder: give another place")
    trained = load_weights(start)
    ground = graph_view(index.context, recipe, trained)
    made = PathQuestionMaker(ground.snapshot, recipe.loop.seed).make(recipe.questions)
    learned, held = _split_holdout(made, recipe.loop.seed)
    progress("laying out questions", 0, 0)
    objective = DocumentRetrieval(
        [make_examples(ground, learned, recipe.loop.seed)],
        {"held out": make_examples(ground, held, recipe.loop.seed)},
        recipe.loss,
    )
    version = f"{index.table.version}-{trained.key}-{_run_key(recipe, loop=True)}"
    state = index.table.location.derived / "adapting" / version
    result = train(trained.model, objective, recipe.loop, state, progress)
    discard(state)
    if result.best_epoch >= 0:
        about = {
            "adapted from": trained.key,
            "questions": len(learned),
            **_describe_recipe(recipe),
            "figures": result.figures,
        }
        save_weights(out, trained, about)
    return Adapted(
        result.best_epoch >= 0, result.initial_figures, result.figures, len(learned), len(held), result.seconds
    )


def build_examples(view: GraphView, folder: Path, questions: str, recipe: GFMRecipe, progress: Progress) -> GFMExamples:
    """Return the questions of a folder of data as the network sees them.

    Raises:
        InputError: The folder lacks the questions, or they do not fit the corpus.
    """
    path = folder / questions
    if not path.is_file():
        raise InputError(f"{folder} has no {questions}: give a folder with {CORPUS_FILE} and {questions}")
    progress(f"laying out {folder.name}", 0, 0)
    asked = load_questions(path)
    if questions == TRAIN_FILE and recipe.fraction < 1:
        chosen = np.random.default_rng(recipe.loop.seed).permutation(len(asked))
        asked = [asked[i] for i in sorted(chosen[: max(1, round(recipe.fraction * len(asked)))])]
    return make_examples(view, asked, recipe.loop.seed)


def settings_of_weights(folder: Path) -> dict[str, Any]:
    """Return what of a recipe some weights decide."""
    given = load_weights(folder)
    shape = given.model.settings
    return {
        "targets": given.targets,
        "width": shape.width,
        "layers": shape.layers,
        "nodes": DEFAULT_NODES[given.targets] if given.nodes is None else given.nodes,
        "features": bool(shape.features),
        "prior": shape.prior,
        "message": shape.message,
        "aggregate": shape.aggregate,
    }


def open_graph_view(folder: Path, run: Path, recipe: GFMRecipe, progress: Progress) -> GraphView:
    """Return a folder of data as a network sees it; its corpus is indexed in `run` where that is not done."""
    return graph_view(open_corpus_index(folder, run, progress), recipe)


def _build_splits(
    data: Sequence[Path],
    views: Sequence[GraphView],
    names: Mapping[Path, str],
    recipe: GFMRecipe,
    progress: Progress,
) -> tuple[list[GFMExamples], dict[str, GFMExamples]]:
    """Return what is learned from, and what is held out of it."""
    pairs = list(zip(data, views, strict=True))
    if recipe.stage == "finetune":
        return [build_examples(ground, folder, TRAIN_FILE, recipe, progress) for folder, ground in pairs], {}
    learned: list[GFMExamples] = []
    held: dict[str, GFMExamples] = {}
    for folder, ground in pairs:
        progress(f"making questions of {names[folder]}", 0, 0)
        made = PathQuestionMaker(ground.snapshot, recipe.loop.seed).make(recipe.questions)
        own, others = _split_holdout(made, recipe.loop.seed)
        learned.append(make_examples(ground, own, recipe.loop.seed))
        held[names[folder]] = make_examples(ground, others, recipe.loop.seed)
    return learned, held


def _split_holdout(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    """Return questions to learn from, and those held out."""
    if len(questions) < 5:
        raise InputError(f"only {len(questions)} questions can be made of this index; at least 5 are needed")
    order = np.random.default_rng(seed).permutation(len(questions)).tolist()
    cut = max(1, round(HELD_OUT_SHARE * len(questions)))
    return [questions[i] for i in order[cut:]], [questions[i] for i in order[:cut]]


def graph_view(parts: IndexContext, recipe: GFMRecipe, trained: TrainedGNN | None = None) -> GraphView:
    """Return an index as a network sees it: the one of a recipe, or a trained one.

    Raises:
        InputError: The trained one reads vectors of another encoder.
    """
    snapshot = parts.scope.snapshot
    walker = GraphWalk(parts.scope, parts.lexical, GraphWalkConfig())
    if trained is not None:
        _check_encoder(trained, parts.encoder)
    entities = (recipe.targets if trained is None else trained.targets) == "entities"
    nodes = recipe.nodes if trained is None else trained.nodes
    relations = parts.encode_texts(relation_texts(snapshot, inverses=entities))
    if entities:
        graphs = EntityGraphBuilder(
            entity_graph(snapshot), snapshot, nodes, make_passage_similarity(walker, parts.encoder)
        )
        ranker = EntityRanker(snapshot, weighted=True)
        return GraphView(snapshot, graphs, ranker, parts.encoder, relations, parts.encode_texts, targets_entities=True)
    own = PassageGraphBuilder(passage_graph(snapshot), walker, nodes)
    return GraphView(
        snapshot, own, PassageRanker(), parts.encoder, relations, parts.encode_texts, targets_entities=False
    )


def _build_facts(view: GraphView, recipe: GFMRecipe) -> CompletionFacts:
    """Return the facts of an index as questions: the texts of their relations, and of the inverses of these."""
    texts = relation_texts(view.snapshot)
    return CompletionFacts(view, view.encode_texts([*texts, *map(inverse_text, texts)]), recipe.completion.nodes)


def _initial_network(recipe: GFMRecipe, view: GraphView) -> tuple[QueryGNN, TextEncoder]:
    """Return the network that training begins with, and the encoder it reads."""
    encoder = TextEncoder(view.encoder.name, view.encoder.fingerprint)
    shape = recipe.network_settings(view.relations.shape[1])
    if recipe.start is None:
        torch.manual_seed(recipe.loop.seed)
        return QueryGNN(shape), encoder
    given = load_weights(recipe.start)
    _check_encoder(given, view.encoder)
    theirs = {**asdict(given.model.settings), "targets": given.targets}
    ours = {**asdict(shape), "targets": recipe.targets}
    if other := [f"{name} {theirs[name]}, not {ours[name]}" for name in ours if theirs[name] != ours[name]]:
        raise InputError(f"the weights in {recipe.start} have {'; '.join(other)}: give weights of the same shape")
    return given.model, encoder


def _check_encoder(trained: TrainedGNN, encoder: Encoder) -> None:
    if not trained.encoder.fingerprint:
        raise InputError(
            "the weights were imported and bring an encoder of their own; only weights that were trained here can be "
            "trained on: leave --start out, or give others"
        )
    if trained.encoder.fingerprint != encoder.fingerprint:
        raise InputError(
            f"the weights read vectors of {trained.encoder.name}, and the index was made with {encoder.name}: give "
            "weights of the index's encoder"
        )


def _describe_recipe(recipe: GFMRecipe) -> dict[str, Any]:
    start = None if recipe.start is None else load_weights(recipe.start).key
    own = recipe.targets == "passages"  # entities have neither features nor a prior, whatever was asked
    return {**asdict(recipe), "start": start, "features": own and recipe.features, "prior": own and recipe.prior}


def _run_key(recipe: GFMRecipe, *contents: list[str], loop: bool = False) -> str:
    """Return what tells the runs in one folder apart: recipe and data; what the loop itself checks only when asked."""
    told = {name: value for name, value in _describe_recipe(recipe).items() if loop or name != "loop"}
    return blake2b(repr((told, contents)).encode(), digest_size=6).hexdigest()
