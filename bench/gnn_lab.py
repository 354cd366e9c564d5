"""What the benchmarks of training share: questions laid out once, and networks trained and measured on them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import torch

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.graph.snapshot.relational_edges import inverse_text, relation_texts
from clew.nn.query_gnn import QueryGNN
from clew.training.data.gfm_examples import GFMExamples, GraphView, make_examples
from clew.training.data.synthetic_questions import PathQuestionMaker
from clew.training.loop import TrainingResult, train
from clew.training.objectives.document_retrieval import DocumentRetrieval, mean_recall
from clew.training.objectives.kg_completion import CompletionFacts, KGCompletion
from clew.training.recipes.gfm import GFMRecipe, graph_view
from workbench import DATA, WORK, clew

if TYPE_CHECKING:
    from clew.types import Question

LEARNED = ("2wiki-train", "hotpotqa", "musique")
"""Corpora with questions to learn from."""

CHOSEN_BY = ("hotpotqa", "musique-dev")
"""Corpora whose development questions choose; 2wiki chooses nothing."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Recall of a set.

    Attributes:
        recall: At each cut-off, as a mean.
        all_gold: Share of questions whose evidence is all among the first five.
    """

    recall: dict[int, float]
    all_gold: float


class Lab:
    """Indexes and questions as one kind of network sees them, laid out when they are first asked for.

    Args:
        recipe: Decides what a network sees: `targets` and `nodes`.
        seed: Of the layout.
    """

    def __init__(self, recipe: GFMRecipe, seed: int = 0) -> None:
        self.recipe = recipe
        self._seed = seed
        self._grounds: dict[str, GraphView] = {}
        self._learned: dict[tuple[str, str, int], GFMExamples] = {}

    def ground(self, name: str) -> GraphView:
        """Return an index as the network sees it."""
        if name not in self._grounds:
            folder = WORK / f"{name}-all-MiniLM-L6-v2"
            clew("index", str(DATA / name / "corpus.jsonl"), "--index", str(folder), "--encoder", "all-MiniLM-L6-v2")
            self._grounds[name] = graph_view(indexes.open(folder).context, self.recipe)
        return self._grounds[name]

    def laid_out(self, name: str, questions: str) -> GFMExamples:
        """Return a file of questions over a corpus."""
        key = (name, questions, 0)
        if key not in self._learned:
            asked = load_questions(DATA / name / f"{questions}.jsonl")
            self._learned[key] = make_examples(self.ground(name), asked, self._seed)
        return self._learned[key]

    def path_questions(self, name: str, count: int) -> GFMExamples:
        """Return questions made of a corpus."""
        key = (name, "paths", count)
        if key not in self._learned:
            ground = self.ground(name)
            made: list[Question] = PathQuestionMaker(ground.snapshot, self._seed).make(count)
            self._learned[key] = make_examples(ground, made, self._seed)
        return self._learned[key]

    def facts(self, name: str) -> CompletionFacts:
        """Return the facts of a corpus as questions."""
        ground = self.ground(name)
        texts = relation_texts(ground.snapshot)
        questions = ground.encode_texts([*texts, *map(inverse_text, texts)])
        return CompletionFacts(ground, questions, self.recipe.completion.nodes)

    def network(self, recipe: GFMRecipe) -> QueryGNN:
        """Return a network of random weights."""
        torch.manual_seed(recipe.loop.seed)
        return QueryGNN(recipe.network_settings(self.ground("musique-dev").relations.shape[1]))

    def fit(
        self,
        recipe: GFMRecipe,
        learned: Sequence[GFMExamples],
        start: QueryGNN | None = None,
        chosen_by: Sequence[str] = CHOSEN_BY,
    ) -> tuple[QueryGNN, TrainingResult]:
        """Train on questions; the development questions of some corpora choose the epoch."""
        model = self.network(recipe) if start is None else start
        validated = {name: self.laid_out(name, "dev") for name in chosen_by}
        with TemporaryDirectory() as folder:
            objective = DocumentRetrieval([part(one, recipe) for one in learned], validated, recipe.loss)
            return model, train(model, objective, recipe.loop, Path(folder), lambda *_: None)

    def complete(self, recipe: GFMRecipe, names: Sequence[str]) -> tuple[QueryGNN, TrainingResult]:
        """Train on the facts of some corpora."""
        model = self.network(recipe)
        with TemporaryDirectory() as folder:
            objective = KGCompletion(
                [self.facts(name) for name in names], recipe.loss, recipe.completion, recipe.loop.seed
            )
            return model, train(model, objective, recipe.loop, Path(folder), lambda *_: None)


def part(whole: GFMExamples, recipe: GFMRecipe) -> GFMExamples:
    """Return the share of the questions that a recipe uses."""
    if recipe.fraction == 1:
        return whole
    order = np.random.default_rng(recipe.loop.seed).permutation(len(whole.items))
    chosen = sorted(order[: max(1, round(recipe.fraction * len(whole.items)))].tolist())
    return replace(whole, items=tuple(whole.items[i] for i in chosen))


def measured(model: QueryGNN, questions: GFMExamples, cutoffs: Sequence[int] = (2, 5, 10), form: int = 0) -> Measured:
    """Return what a network finds."""
    found = mean_recall(model, questions, (*cutoffs, 5), form)
    return Measured(
        dict(zip(cutoffs, found, strict=False)), mean_recall(model, questions, (5,), form, all_gold=True)[0]
    )


def percent(values: Sequence[float]) -> str:
    """Return the mean in %, and the least and the greatest where there are several."""
    mean = f"{100 * float(np.mean(values)):.1f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.1f}-{100 * max(values):.1f})"
