"""`clew train reranker`: from questions with known evidence to a network that reranks what a retriever finds.

Every base retriever is asked every question of some folders of data; what it found, laid out as document graphs, is
kept in the run's folder, so that another network or loss is trained without asking again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.nn.document_gnn import ARCHITECTURE_VERSION, DocumentGNN, DocumentGNNSettings
from clew.protocols import fingerprint_of
from clew.query.context import IndexContext
from clew.rerankers.g_rag import amr_document_graph as meaning_graphs
from clew.rerankers.g_rag import document_graph
from clew.rerankers.g_rag.factory import make_document_graphs
from clew.rerankers.g_rag.weights import GRAPH_KINDS, FeatureColumns, TrainedDocumentGNN, save_reranker
from clew.retrievers.registry import RETRIEVERS, open_retriever, parse_retriever
from clew.training.data.corpora import (
    CORPUS_FILE,
    DEVELOPMENT_FILE,
    TRAIN_FILE,
    distinct_names,
    hash_file,
    hash_folders,
    open_corpus_index,
)
from clew.training.data.reranking_pools import PoolExample, load_pools, make_pool_examples, save_pools
from clew.training.loop import Recipe, TrainingResult, train
from clew.training.objectives.reranking import Reranking, RerankLoss, pool_figures
from clew.types import Progress, Question

if TYPE_CHECKING:
    from clew.types import Evidence

POOL_FILE_VERSION = 2
"""Of what a pool's file holds."""

_QUESTIONS_PER_BATCH = 64


@dataclass(frozen=True, slots=True)
class RerankRecipe:
    """What is trained, and how.

    Attributes:
        kind: What connects passages: "index", or "amr" as published.
        parser: Of AMR, where that is read: `local`, `file:PATH` or `amrlib:MODEL`.
        numbers: Whether passages bring numbers of how they match the question (index only).
        text: Whether the network reads passages' vectors.
        edges: Names of the features of an edge that are read; () for all there are.
        network: See `clew.nn.document_gnn.NETWORKS`.
        width: Of a passage's state.
        layers: How many steps a message goes.
        dropout: Share of a state that is left out in training.
        pool: Passages a question.
        loss: What is minimised.
        loop: Epochs, rates and the seed.

    Raises:
        InputError: Nothing would be read, or the pool is below 2.
    """

    kind: str = "index"
    parser: str = "local"
    numbers: bool = True
    text: bool = False
    edges: tuple[str, ...] = ()
    network: str = "relational"
    width: int = 64
    layers: int = 2
    dropout: float = 0.1
    pool: int = 100
    loss: RerankLoss = field(default_factory=RerankLoss)
    loop: Recipe = field(default_factory=Recipe)

    def __post_init__(self) -> None:
        if self.kind not in GRAPH_KINDS:
            raise InputError(f"the graph is {self.kind!r}; wanted {' or '.join(GRAPH_KINDS)}")
        if self.kind == "amr" and (self.numbers or not self.text):
            raise InputError("amr graphs have no numbers of passages; read their vectors: --text --no-numbers")
        if self.pool < 2:
            raise InputError(f"the pool is {self.pool}; wanted at least 2 passages a question")
        if not (self.numbers or self.text):
            raise InputError("neither numbers nor vectors of passages are read: give --text, or leave --no-numbers out")
        self.network_settings(1)  # now, and not after the pools were found
        if len(set(self.edges)) < len(self.edges):
            raise InputError(f"the edges are {', '.join(self.edges)}: give each once")
        FeatureColumns.locate(self.input_columns, _available_columns(self))

    @property
    def input_columns(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names of the numbers and of the features of edges that the network reads."""
        edges = self.edges or (document_graph.EDGE_FEATURES if self.kind == "index" else meaning_graphs.EDGE_FEATURES)
        return document_graph.NODE_FEATURES if self.numbers else (), edges

    def network_settings(self, dimension: int) -> DocumentGNNSettings:
        """Return the shape of the network for vectors of some dimension."""
        numbers, edges = self.input_columns
        return DocumentGNNSettings(
            dimension if self.text else 0,
            len(numbers),
            len(edges),
            self.network,
            self.width,
            self.layers,
            self.dropout,
        )

    def build_network(self, dimension: int) -> DocumentGNN:
        """Return an untrained network for vectors of some dimension; equal seeds give equal ones."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.loop.seed)
            return DocumentGNN(self.network_settings(dimension))


@dataclass(frozen=True, slots=True)
class TaughtReranker:
    """What training gave.

    Attributes:
        trained: As of the loop.
        before: Figures of the pools of validation as they were found.
        questions: Pools learned from.
        parameters: Of the network.
    """

    trained: TrainingResult
    before: dict[str, float]
    questions: int
    parameters: int


def train_reranker(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    bases: Sequence[str],
    recipe: RerankRecipe,
    progress: Progress,
    run: Path | None = None,
    also: Mapping[Path, Sequence[str]] = MappingProxyType({}),
) -> TaughtReranker:
    """Train the network that reranks on some folders of data, and write its weights.

    Args:
        data: Folders with a corpus and `train.jsonl`.
        validation: Folders with a corpus and `dev.jsonl`, which choose the epoch; without any the last one's weights
            are kept.
        out: Gets the weights.
        bases: Retrievers whose pools are learned from, as `--retriever` takes them.
        recipe: What and how.
        progress: Told the stage and how much of how much is done.
        run: Keeps the indexes, the pools and the state of the run, which goes on after a kill; `out`/run for None.
            Several recipes may share it.
        also: Retrievers for one folder of data alone, such as one that was trained on the other folders: on questions
            that it has learned from, its pools would be better than they are on others.

    Raises:
        InputError: A folder lacks a file, questions do not fit their corpus, or there is nothing to learn from.
    """
    _check_inputs(data, validation, out, bases, also)
    names, run = distinct_names([*data, *validation]), run or out / "run"
    source = open_corpus_index(data[0], run, progress).encoder
    learned = [
        one
        for folder in data
        for one in _find_folder_pools(
            folder, TRAIN_FILE, run, (*bases, *also.get(folder, ())), recipe, progress
        ).values()
    ]
    judges = {
        f"{names[folder]} {base}": examples
        for folder in validation
        for base, examples in _find_folder_pools(folder, DEVELOPMENT_FILE, run, bases, recipe, progress).items()
    }
    columns = FeatureColumns.locate(recipe.input_columns, _available_columns(recipe))
    objective = Reranking([one for part in learned for one in part], judges, columns, recipe.loss)
    model = recipe.build_network(source.dimension)
    own = [also.get(folder, ()) for folder in data]
    recipe = replace(recipe, loop=_shorten_schedule(recipe.loop, len(objective)))
    key = _run_key(
        recipe,
        ARCHITECTURE_VERSION,
        bases,
        own,
        hash_folders(data, TRAIN_FILE),
        hash_folders(validation, DEVELOPMENT_FILE),
        source.fingerprint,
    )
    result = train(model, objective, recipe.loop, run / f"state-{key}", progress)
    count = sum(map(len, learned))
    about = {
        **_describe_recipe(recipe),
        "bases": [*bases, *sorted({name.partition(":")[0] for names in also.values() for name in names})],
        "data": [names[folder] for folder in data],
        "validation": [names[folder] for folder in validation],
        "pools": count,
        "best epoch": result.best_epoch,
        "figures": {name: round(value, 4) for name, value in result.figures.items()},
    }
    save_reranker(out, TrainedDocumentGNN(model, recipe.kind, *recipe.input_columns, source.fingerprint, about))
    return TaughtReranker(
        result, _baseline_figures(judges), count, sum(parameter.numel() for parameter in model.parameters())
    )


def _shorten_schedule(loop: Recipe, batches: int) -> Recipe:
    """Return a recipe for a run of few steps: it is not to end while it warms up, or while the average still begins."""
    steps = max(1, batches * loop.epochs)
    return replace(loop, warmup=min(loop.warmup, steps // 5), average=min(loop.average, max(0.0, 1.0 - 5 / steps)))


def _baseline_figures(validation: Mapping[str, Sequence[PoolExample]]) -> dict[str, float]:
    """Return the figures of pools as they were found, their mean first."""
    figures = {
        f"{name} {measure}": value
        for name, examples in validation.items()
        for measure, value in pool_figures([one.relevant for one in examples], examples).items()
    }
    return {"mean": float(np.mean(list(figures.values()))), **figures} if figures else {}


def _check_inputs(
    data: Sequence[Path],
    validation: Sequence[Path],
    out: Path,
    bases: Sequence[str],
    also: Mapping[Path, Sequence[str]],
) -> None:
    """Refuse what cannot be trained from, before anything is made."""
    if strange := [folder for folder in also if folder not in data]:
        raise InputError(f"{strange[0]} has a retriever of its own and is no folder of data; give it as data too")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the weights need a folder: give another place")
    if not data:
        raise InputError(
            f"there is no folder of data to learn from: give one or more with {CORPUS_FILE} and {TRAIN_FILE}"
        )
    for folders in (data, validation):
        if len({folder.resolve() for folder in folders}) < len(folders):
            raise InputError(f"the folders {', '.join(map(str, folders))} hold one twice: give each once")
    if not bases or len(set(bases)) < len(bases):
        raise InputError(f"the bases are {', '.join(bases) or 'none'}; wanted one or more retrievers, each once")
    if unknown := [base for base in (*bases, *chain(*also.values())) if base.partition(":")[0] not in RETRIEVERS]:
        raise InputError(f"no retriever is called {unknown[0]!r}; choose some of {', '.join(RETRIEVERS)}")
    asked = [*((folder, TRAIN_FILE) for folder in data), *((folder, DEVELOPMENT_FILE) for folder in validation)]
    for folder, questions in asked:
        if missing := next((name for name in (CORPUS_FILE, questions) if not (folder / name).is_file()), ""):
            raise InputError(f"{folder} has no {missing}: give folders with {CORPUS_FILE} and {questions}")


def find_pools(
    parts: IndexContext, path: Path, base: str, recipe: RerankRecipe, folder: Path, progress: Progress
) -> list[PoolExample]:
    """Return the pools that a retriever finds for a file of questions, kept in a folder under what they depend on.

    Raises:
        InputError: The questions cannot be read, or none of them has evidence.
    """
    retriever = open_retriever(parse_retriever(base), parts.with_paths_per_passage(0))
    graphs = make_document_graphs(parts, recipe.kind, recipe.parser, text=recipe.text)
    told = (POOL_FILE_VERSION, hash_file(path), base, fingerprint_of(retriever), recipe.kind, recipe.pool, recipe.text)
    read = fingerprint_of(graphs), graphs.node_features, graphs.edge_features
    known = *read, parts.encoder.fingerprint, parts.scope.snapshot.passage_ids[0], len(parts.scope)
    file = folder / f"{_hash(told, known)}.npz"
    kept = load_pools(file)
    if kept is not None:
        return kept
    questions = load_questions(path)
    _check_gold(questions, parts, path)
    evidence: list[Evidence] = []
    for start in range(0, len(questions), _QUESTIONS_PER_BATCH):
        progress(f"asking {base}", start, len(questions))
        texts = [question.text for question in questions[start : start + _QUESTIONS_PER_BATCH]]
        evidence += retriever.retrieve(texts, recipe.pool)
    progress(f"laying out what {base} found", 0, 0)
    examples = make_pool_examples(questions, evidence, graphs)
    if not examples:
        raise InputError(f"{path} has no question with gold for which {base} finds a passage: give others")
    if noted := [one.graph for one in examples if one.graph.notes]:
        if len(noted) == len(examples) and not any(graph.edge_features.any() for graph in noted):
            raise InputError(f"{path}: {noted[0].notes[0]}; not one pool is connected: give another parser or file")
        progress(f"{len(noted)} of {len(examples)} pools lack graphs, such as: {noted[0].notes[0]}", 0, 0)
    save_pools(file, examples)
    return examples


def _check_gold(questions: Sequence[Question], parts: IndexContext, path: Path) -> None:
    """Refuse gold that the corpus does not hold: it could never be found, and would count as missed."""
    snapshot = parts.scope.snapshot
    known = {*snapshot.passage_ids, *snapshot.document_ids}
    for question in questions:
        if absent := [id_ for id_ in question.gold if id_ not in known]:
            raise InputError(
                f"{path}: the gold {absent[0]!r} of question {question.id!r} is not in the corpus: give the corpus of "
                "these questions"
            )


def _find_folder_pools(
    folder: Path, questions: str, run: Path, bases: Sequence[str], recipe: RerankRecipe, progress: Progress
) -> dict[str, list[PoolExample]]:
    parts = open_corpus_index(folder, run, progress)
    keep = run / "pools" / hash_file(folder / CORPUS_FILE)
    keep.mkdir(parents=True, exist_ok=True)
    return {base: find_pools(parts, folder / questions, base, recipe, keep, progress) for base in bases}


def _available_columns(recipe: RerankRecipe) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all that graphs of a kind have."""
    if recipe.kind == "amr":
        return (), meaning_graphs.EDGE_FEATURES
    return document_graph.NODE_FEATURES, document_graph.EDGE_FEATURES


def _describe_recipe(recipe: RerankRecipe) -> dict[str, Any]:
    loss, loop = recipe.loss, recipe.loop
    return {
        "parser": recipe.parser.partition(":")[0] if recipe.kind == "amr" else "",
        "pool": recipe.pool,
        "loss": {"kind": loss.kind, "temperature": loss.temperature, "hardest": loss.hardest, "batch": loss.batch},
        "loop": {"epochs": loop.epochs, "rate": loop.rate, "average": loop.average, "seed": loop.seed},
    }


def _run_key(recipe: RerankRecipe, *others: object) -> str:
    return _hash(repr(recipe), *others)


def _hash(*parts: object) -> str:
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()
