"""Shared by the training benchmarks: cached training examples, and networks trained and evaluated on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import torch

from clew import index as indexes
from clew.graph.snapshot.relational_edges import relation_texts
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.nn.query_gnn import QueryGNN
from clew.training.checkpoint import single_process
from clew.training.data.chain_questions import ChainQuestionMaker
from clew.training.data.gfm_examples import GFMExamples, GraphView, make_examples
from clew.training.data.synthetic_questions import PathQuestionMaker
from clew.training.hyperparameters import TrainingResult
from clew.training.loop import train
from clew.training.objectives.document_retrieval import DocumentRetrieval, mean_recall
from clew_lab.datasets.loaders import load_questions
from clew_lab.graph.node_graphs import inverse_text
from clew_lab.training.objectives.kg_completion import CompletionFacts, KGCompletion
from clew_lab.training.recipes.gfm_graphs import graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe
from clew_lab.training.recipes.networks import query_network_settings
from workbench import DATA, WORK, run_clew

if TYPE_CHECKING:
    from clew.types import Question

TRAINING_SETS = ("2wiki-train", "hotpotqa", "musique")
"""Corpora with training questions."""

VALIDATION_SETS = ("hotpotqa", "musique-dev")
"""Corpora whose development questions select the epoch; 2wiki is only tested."""


@dataclass(frozen=True, slots=True)
class Recall:
    """Recall on a set.

    Attributes:
        recall: Mean recall at each cut-off.
        all_gold: Share of questions with all evidence among the first five.
    """

    recall: dict[int, float]
    all_gold: float


class Lab:
    """Indexes and questions as one kind of network sees them, cached on first use.

    Args:
        recipe: Determines what a network sees: `targets` and `nodes`.
        seed: Random seed of the examples.
        encoder: Encoder of the indexes.
    """

    def __init__(self, recipe: GFMRecipe, seed: int = 0, encoder: str = DEFAULT_ENCODER) -> None:
        self.recipe = recipe
        self.encoder = encoder
        self._seed = seed
        self._views: dict[str, GraphView] = {}
        self._examples: dict[tuple[str, str, int], GFMExamples] = {}

    def view(self, name: str) -> GraphView:
        """Return an index as the network sees it."""
        if name not in self._views:
            folder = WORK / f"{name}-{self.encoder}"
            corpus, form = str(DATA / name / "corpus.jsonl"), ("--extractor", "rules", "--encoder", self.encoder)
            run_clew("index", corpus, "--index", str(folder), *form)
            self._views[name] = graph_view(indexes.open(folder).context, self.recipe)
        return self._views[name]

    def examples(self, name: str, questions: str) -> GFMExamples:
        """Return the examples of a file of questions on a corpus."""
        key = (name, questions, 0)
        if key not in self._examples:
            loaded = load_questions(DATA / name / f"{questions}.jsonl")
            self._examples[key] = self._make(self.view(name), loaded)
        return self._examples[key]

    def _make(self, view: GraphView, questions: "list[Question]") -> GFMExamples:
        lazy = self.recipe.whole_graph
        return make_examples(view, questions, self._seed, augment=self.recipe.loss.augment, lazy=lazy)

    def path_questions(self, name: str, count: int) -> GFMExamples:
        """Return the examples of questions generated from a corpus."""
        key = (name, "paths", count)
        if key not in self._examples:
            view = self.view(name)
            questions: list[Question] = PathQuestionMaker(view.snapshot, self._seed).make(count)
            self._examples[key] = self._make(view, questions)
        return self._examples[key]

    def chain_questions(self, name: str, count: int) -> GFMExamples:
        """Return the examples of questions generated from the chains of sentences of a corpus."""
        key = (name, "chains", count)
        if key not in self._examples:
            view = self.view(name)
            questions = ChainQuestionMaker(view.snapshot, self._seed).make(count)
            self._examples[key] = self._make(view, questions)
        return self._examples[key]

    def facts(self, name: str, recipe: GFMRecipe) -> CompletionFacts:
        """Return the facts of a corpus as questions, for a recipe to complete them."""
        view = self.view(name)
        texts = relation_texts(view.snapshot)
        vectors = view.encode_texts([*texts, *map(inverse_text, texts)])
        return CompletionFacts(view, vectors, None if recipe.whole_graph else recipe.completion.nodes)

    def network(self, recipe: GFMRecipe) -> QueryGNN:
        """Return a network with random weights."""
        torch.manual_seed(recipe.loop.seed)
        return QueryGNN(query_network_settings(recipe, self.view("musique-dev").relations.shape[1]))

    def fit(
        self,
        recipe: GFMRecipe,
        training: Sequence[GFMExamples],
        start: QueryGNN | None = None,
        validation: Sequence[str] = VALIDATION_SETS,
        device: str = "cpu",
    ) -> tuple[QueryGNN, TrainingResult]:
        """Train on questions; the development questions of the validation corpora, if any, select the epoch."""
        model = self.network(recipe) if start is None else start
        examples = {name: self.examples(name, "dev") for name in validation}
        with TemporaryDirectory() as folder:
            objective = DocumentRetrieval([subsample(one, recipe) for one in training], examples, recipe.loss)
            return model, train(model, objective, recipe.loop, Path(folder), lambda *_: None, single_process(device))

    def complete(self, recipe: GFMRecipe, names: Sequence[str], device: str = "cpu") -> tuple[QueryGNN, TrainingResult]:
        """Train on the facts of some corpora."""
        model = self.network(recipe)
        with TemporaryDirectory() as folder:
            objective = KGCompletion(
                [self.facts(name, recipe) for name in names], recipe.loss, recipe.completion, recipe.loop.seed
            )
            return model, train(model, objective, recipe.loop, Path(folder), lambda *_: None, single_process(device))


def subsample(examples: GFMExamples, recipe: GFMRecipe) -> GFMExamples:
    """Return the share of the examples that a recipe uses."""
    if recipe.fraction == 1:
        return examples
    order = np.random.default_rng(recipe.loop.seed).permutation(len(examples.items))
    chosen = sorted(order[: max(1, round(recipe.fraction * len(examples.items)))].tolist())
    return replace(examples, items=tuple(examples.items[i] for i in chosen))


def measure(model: QueryGNN, examples: GFMExamples, cutoffs: Sequence[int] = (2, 5, 10), form: int = 0) -> Recall:
    """Return the recall of a network."""
    recalls = mean_recall(model, examples, cutoffs, form)
    (all_gold,) = mean_recall(model, examples, (5,), form, all_gold=True)
    return Recall(dict(zip(cutoffs, recalls, strict=True)), all_gold)


def percent(values: Sequence[float]) -> str:
    """Return the mean in %, with the minimum and maximum if there are several values."""
    mean = f"{100 * float(np.mean(values)):.1f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.1f}-{100 * max(values):.1f})"
