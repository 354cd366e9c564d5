"""Trains weights from folders of data: each is indexed once, its questions are laid out, and one loop does the rest.

A folder of data holds `corpus.jsonl` {id, title, text} and questions {id, question, gold: [passage ids]} in
`train.jsonl` to learn from and `dev.jsonl` to choose the epoch by.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from clew.errors import InputError
from clew.evaluation.datasets import load_questions
from clew.graph.relations import passage_graph, relation_texts
from clew.index import Index, create
from clew.index import open as open_index
from clew.nn.query_gnn import QueryGNN, QueryGNNSettings
from clew.retrievers.gfm_weights import save_weights
from clew.retrievers.question_graph import FEATURES, QuestionGraphs
from clew.retrievers.question_walk import PageRankWeights, Walker
from clew.settings import Settings
from clew.snapshots import Progress
from clew.store.location import locate
from clew.store.opening import open_dataset
from clew.training.document_retrieval import DocumentRetrieval, RetrievalLoss
from clew.training.examples import Examples, examples
from clew.training.loop import Recipe, Trained, train

CORPUS, TRAIN, DEVELOPMENT = "corpus.jsonl", "train.jsonl", "dev.jsonl"


@dataclass(frozen=True, slots=True)
class GNNRecipe:
    """What is trained, and how.

    Attributes:
        width: Of a node's state.
        layers: How many steps a message goes.
        nodes: How many nodes a question's graph has at most.
        loss: What is minimised.
        loop: Epochs, rates and the seed.
    """

    width: int = 128
    layers: int = 3
    nodes: int = 500
    loss: RetrievalLoss = field(default_factory=RetrievalLoss)
    loop: Recipe = field(default_factory=Recipe)


def train_gfm(
    data: Sequence[Path], validation: Sequence[Path], out: Path, recipe: GNNRecipe, progress: Progress
) -> Trained:
    """Train the graph neural network on the questions of some folders, and write its weights.

    Args:
        data: Folders with a corpus and `train.jsonl`.
        validation: Folders with a corpus and `dev.jsonl`; with none the last epoch's weights are kept.
        out: Gets the weights; `out`/run keeps the indexes and the state of the run, which goes on after a kill.
        recipe: What and how.
        progress: Told the stage and how much of how much is done.

    Raises:
        InputError: A folder lacks a file, questions do not fit their corpus, or `out`/run is the run of another recipe.
    """
    run = out / "run"
    for folder in (*data, *validation):
        if not (folder / CORPUS).is_file():
            raise InputError(f"{folder} has no {CORPUS}: give folders with {CORPUS} and {TRAIN} or {DEVELOPMENT}")
    trained = [laid_out(folder, TRAIN, run, recipe, progress) for folder in data]
    validated = {folder.name: laid_out(folder, DEVELOPMENT, run, recipe, progress) for folder in validation}
    torch.manual_seed(recipe.loop.seed)
    source = trained[0]
    settings = QueryGNNSettings(
        recipe.width, source.relations.shape[1], recipe.layers, len(FEATURES), prior=True, learned_inverse=True
    )
    model = QueryGNN(settings)
    result = train(model, DocumentRetrieval(trained, validated, recipe.loss), recipe.loop, run / "state", progress)
    about: dict[str, Any] = {
        "stage": "document retrieval",
        "data": [folder.name for folder in data],
        "validation": [folder.name for folder in validation],
        "questions": sum(len(one.items) for one in trained),
        "epochs": recipe.loop.epochs,
        "seed": recipe.loop.seed,
        "best epoch": result.best,
        "figures": {name: round(value, 4) for name, value in result.figures.items()},
    }
    encoder = _opened(data[0], run, progress).table.settings["encoder_fingerprint"]
    save_weights(out, model, str(encoder), recipe.nodes, about)
    return result


def laid_out(folder: Path, questions: str, run: Path, recipe: GNNRecipe, progress: Progress) -> Examples:
    """Return the questions of a folder of data as the network sees them, indexing its corpus where that is not done.

    Raises:
        InputError: The folder lacks the questions, or they do not fit the corpus.
    """
    path = folder / questions
    if not path.is_file():
        raise InputError(f"{folder} has no {questions}: give a folder with {CORPUS} and {questions}")
    parts = _opened(folder, run, progress).parts
    snapshot = parts.scope.snapshot
    walker = Walker(parts.scope, parts.lexical, PageRankWeights())
    graphs = QuestionGraphs(passage_graph(snapshot), snapshot, recipe.nodes)
    relations = parts.encode_texts(relation_texts(snapshot))
    progress(f"laying out {folder.name}", 0, 0)
    return examples(walker, graphs, parts.encoder, relations, load_questions(path), recipe.loop.seed)


def _opened(folder: Path, run: Path, progress: Progress) -> Index:
    place = run / "indexes" / folder.name
    place.parent.mkdir(parents=True, exist_ok=True)
    if open_dataset(locate(place)) is None:
        create(place, Settings(), progress)
    index = open_index(place, progress)
    report = index.add([folder / CORPUS])
    if report.failures:
        raise InputError(f"{folder / CORPUS}: {report.failures[0].item}: {report.failures[0].reason}")
    return index
