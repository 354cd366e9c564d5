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
from clew.indexing.snapshot_builder import Progress
from clew.nn.query_gnn import QueryGNN, QueryGNNSettings
from clew.protocols import Encoder
from clew.query.context import Parts
from clew.query.graph_walk import PageRankWeights, Walker
from clew.retrievers.gfm.entity_graphs import EntityQuestionGraphs
from clew.retrievers.gfm.factory import similarity
from clew.retrievers.gfm.passage_graphs import FEATURES, QuestionGraphs
from clew.retrievers.gfm.passage_ranking import EntityRanker, PassageRanker
from clew.retrievers.gfm.weights import Targets, TextEncoder, TrainedGNN, load_weights, save_weights
from clew.store.atomic import discard
from clew.training.data.corpora import CORPUS, DEVELOPMENT, TRAIN, contents, names_of, opened
from clew.training.data.gfm_examples import Examples, Ground, examples
from clew.training.data.synthetic_questions import PathQuestions
from clew.training.distributed import Group
from clew.training.loop import ALONE, Recipe, Trained, train
from clew.training.objectives.document_retrieval import DocumentRetrieval, RetrievalLoss
from clew.training.objectives.kg_completion import CompletionRecipe, Facts, KGCompletion
from clew.types import Question

NODES: dict[Targets, int] = {"passages": 100, "entities": 1000}
"""Of a question's graph: a hundred find what a thousand find where the walk chooses them (docs/benchmarks.md)."""

HELD_OUT = 0.2
"""Share of questions made from an index that is not trained on, and judges."""

Stage = Literal["pretrain", "paths", "finetune"]


@dataclass(frozen=True, slots=True)
class GNNRecipe:
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
    nodes: int = NODES["passages"]
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

    def shape(self, text_width: int) -> QueryGNNSettings:
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


ADAPTING = GNNRecipe("paths", questions=1500, loop=Recipe(epochs=1, rate=2e-4, average=0.98))
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
    recipe: GNNRecipe,
    progress: Progress,
    group: Group = ALONE,
) -> Trained:
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
        if not (folder / CORPUS).is_file():
            raise InputError(f"{folder} has no {CORPUS}: give folders with {CORPUS} and {TRAIN} or {DEVELOPMENT}")
    names = names_of([*data, *validation])
    with group.first():
        grounds = {folder: seen_by(opened(folder, run, progress), recipe) for folder in (*data, *validation)}
    sources = [grounds[folder] for folder in data]
    model, encoder = _start(recipe, sources[0])
    state = run / f"state-{_key(recipe, contents(data, TRAIN), contents(validation, DEVELOPMENT))}"
    size = 0
    if recipe.stage == "pretrain":
        learnt, judging = ([_facts(grounds[folder], recipe) for folder in folders] for folders in (data, validation))
        completion = KGCompletion(learnt, recipe.loss, recipe.completion, recipe.loop.seed, judging)
        result = train(model, completion, recipe.loop, state, progress, group)
    else:
        judges = {names[f]: laid_out(grounds[f], f, DEVELOPMENT, recipe, progress) for f in validation}
        learned, held = _questions(data, sources, names, recipe, progress)
        retrieval = DocumentRetrieval(learned, judges or held, recipe.loss)
        result = train(model, retrieval, recipe.loop, state, progress, group)
        size = sum(len(one.items) for one in learned)
    about: dict[str, Any] = {
        **_told(recipe),
        "data": [names[folder] for folder in data],
        "validation": [names[folder] for folder in validation],
        "questions": size,
        "best epoch": result.best,
        "figures": {name: round(value, 4) for name, value in result.figures.items()},
    }
    with group.first():
        if not group.rank:
            save_weights(out, TrainedGNN(model, recipe.targets, encoder, recipe.nodes, ""), about)
    return result


def adapt_gfm(index: Index, start: Path, out: Path, recipe: GNNRecipe, progress: Progress) -> Adapted:
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
    ground = seen_by(index.parts, recipe, trained)
    made = PathQuestions(ground.snapshot, recipe.loop.seed).make(recipe.questions)
    learned, held = _apart(made, recipe.loop.seed)
    progress("laying out questions", 0, 0)
    objective = DocumentRetrieval(
        [examples(ground, learned, recipe.loop.seed)],
        {"held out": examples(ground, held, recipe.loop.seed)},
        recipe.loss,
    )
    version = f"{index.table.version}-{trained.key}-{_key(recipe, loop=True)}"
    state = index.table.location.derived / "adapting" / version
    result = train(trained.model, objective, recipe.loop, state, progress)
    discard(state)
    if result.best >= 0:
        about = {"adapted from": trained.key, "questions": len(learned), **_told(recipe), "figures": result.figures}
        save_weights(out, trained, about)
    return Adapted(result.best >= 0, result.started_at, result.figures, len(learned), len(held), result.seconds)


def laid_out(ground: Ground, folder: Path, questions: str, recipe: GNNRecipe, progress: Progress) -> Examples:
    """Return the questions of a folder of data as the network sees them.

    Raises:
        InputError: The folder lacks the questions, or they do not fit the corpus.
    """
    path = folder / questions
    if not path.is_file():
        raise InputError(f"{folder} has no {questions}: give a folder with {CORPUS} and {questions}")
    progress(f"laying out {folder.name}", 0, 0)
    asked = load_questions(path)
    if questions == TRAIN and recipe.fraction < 1:
        chosen = np.random.default_rng(recipe.loop.seed).permutation(len(asked))
        asked = [asked[i] for i in sorted(chosen[: max(1, round(recipe.fraction * len(asked)))])]
    return examples(ground, asked, recipe.loop.seed)


def shape_of(start: Path) -> dict[str, Any]:
    """Return what of a recipe some weights decide."""
    given = load_weights(start)
    shape = given.model.settings
    return {
        "targets": given.targets,
        "width": shape.width,
        "layers": shape.layers,
        "nodes": NODES[given.targets] if given.nodes is None else given.nodes,
        "features": bool(shape.features),
        "prior": shape.prior,
        "message": shape.message,
        "aggregate": shape.aggregate,
    }


def ground_of(folder: Path, run: Path, recipe: GNNRecipe, progress: Progress) -> Ground:
    """Return a folder of data as a network sees it; its corpus is indexed in `run` where that is not done."""
    return seen_by(opened(folder, run, progress), recipe)


def _questions(
    data: Sequence[Path],
    sources: Sequence[Ground],
    names: Mapping[Path, str],
    recipe: GNNRecipe,
    progress: Progress,
) -> tuple[list[Examples], dict[str, Examples]]:
    """Return what is learned from, and what is held out of it."""
    pairs = list(zip(data, sources, strict=True))
    if recipe.stage == "finetune":
        return [laid_out(ground, folder, TRAIN, recipe, progress) for folder, ground in pairs], {}
    learned: list[Examples] = []
    held: dict[str, Examples] = {}
    for folder, ground in pairs:
        progress(f"making questions of {names[folder]}", 0, 0)
        made = PathQuestions(ground.snapshot, recipe.loop.seed).make(recipe.questions)
        own, others = _apart(made, recipe.loop.seed)
        learned.append(examples(ground, own, recipe.loop.seed))
        held[names[folder]] = examples(ground, others, recipe.loop.seed)
    return learned, held


def _apart(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    """Return questions to learn from, and those held out."""
    if len(questions) < 5:
        raise InputError(f"only {len(questions)} questions can be made of this index; at least 5 are needed")
    order = np.random.default_rng(seed).permutation(len(questions)).tolist()
    cut = max(1, round(HELD_OUT * len(questions)))
    return [questions[i] for i in order[cut:]], [questions[i] for i in order[:cut]]


def seen_by(parts: Parts, recipe: GNNRecipe, trained: TrainedGNN | None = None) -> Ground:
    """Return an index as a network sees it: the one of a recipe, or a trained one.

    Raises:
        InputError: The trained one reads vectors of another encoder.
    """
    snapshot = parts.scope.snapshot
    walker = Walker(parts.scope, parts.lexical, PageRankWeights())
    if trained is not None:
        _check_encoder(trained, parts.encoder)
    entities = (recipe.targets if trained is None else trained.targets) == "entities"
    nodes = recipe.nodes if trained is None else trained.nodes
    relations = parts.encode_texts(relation_texts(snapshot, inverses=entities))
    if entities:
        graphs = EntityQuestionGraphs(entity_graph(snapshot), snapshot, nodes, similarity(walker, parts.encoder))
        ranker = EntityRanker(snapshot, weighted=True)
        return Ground(snapshot, graphs, ranker, parts.encoder, relations, parts.encode_texts, entities=True)
    own = QuestionGraphs(passage_graph(snapshot), walker, nodes)
    return Ground(snapshot, own, PassageRanker(), parts.encoder, relations, parts.encode_texts, entities=False)


def _facts(ground: Ground, recipe: GNNRecipe) -> Facts:
    """Return the facts of an index as questions: the texts of their relations, and of the inverses of these."""
    texts = relation_texts(ground.snapshot)
    return Facts(ground, ground.encode_texts([*texts, *map(inverse_text, texts)]), recipe.completion.nodes)


def _start(recipe: GNNRecipe, ground: Ground) -> tuple[QueryGNN, TextEncoder]:
    """Return the network that training begins with, and the encoder it reads."""
    encoder = TextEncoder(ground.encoder.name, ground.encoder.fingerprint)
    shape = recipe.shape(ground.relations.shape[1])
    if recipe.start is None:
        torch.manual_seed(recipe.loop.seed)
        return QueryGNN(shape), encoder
    given = load_weights(recipe.start)
    _check_encoder(given, ground.encoder)
    theirs = {**asdict(given.model.settings), "targets": given.targets}
    ours = {**asdict(shape), "targets": recipe.targets}
    if other := [f"{name} {theirs[name]}, not {ours[name]}" for name in ours if theirs[name] != ours[name]]:
        raise InputError(f"the weights in {recipe.start} have {'; '.join(other)}: give weights of the same shape")
    return given.model, encoder


def _check_encoder(given: TrainedGNN, encoder: Encoder) -> None:
    if not given.encoder.fingerprint:
        raise InputError(
            "the weights were imported and bring an encoder of their own; only weights that were trained here can be "
            "trained on: leave --start out, or give others"
        )
    if given.encoder.fingerprint != encoder.fingerprint:
        raise InputError(
            f"the weights read vectors of {given.encoder.name}, and the index was made with {encoder.name}: give "
            "weights of the index's encoder"
        )


def _told(recipe: GNNRecipe) -> dict[str, Any]:
    start = None if recipe.start is None else load_weights(recipe.start).key
    own = recipe.targets == "passages"  # entities have neither features nor a prior, whatever was asked
    return {**asdict(recipe), "start": start, "features": own and recipe.features, "prior": own and recipe.prior}


def _key(recipe: GNNRecipe, *contents: list[str], loop: bool = False) -> str:
    """Return what tells the runs in one folder apart: recipe and data; what the loop itself checks only when asked."""
    told = {name: value for name, value in _told(recipe).items() if loop or name != "loop"}
    return blake2b(repr((told, contents)).encode(), digest_size=6).hexdigest()
