"""Supervised retrieval: the gold passages of a question are to stand before all others of its graph.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.2.2, stage 2.
Differs from the source: passages are the targets; a listwise loss in place of the ratio unless that is asked for;
questions come in several forms; only passages of a question's graph compete.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from clew.errors import InputError
from clew.nn.query_gnn import QueryGNN
from clew.nn.ranking_losses import binary_loss, listwise_loss, ratio_loss
from clew.retrievers.gfm.batch import GraphBatch, collate
from clew.training.data.gfm_examples import FORMS, GFMExample, GFMExamples

if TYPE_CHECKING:
    from torch import Tensor, nn

    from clew.types import FloatArray

RankingLoss = Literal["listwise", "paper", "code"]


@dataclass(frozen=True, slots=True)
class RetrievalLoss:
    """What is minimised, for each question, or for each fact that is to be completed.

    Attributes:
        alpha: Share of the cross-entropy; the ranking loss has the rest.
        ranking: "listwise", or the ratio of the paper or of its authors' code.
        forms: How often each of `FORMS` is drawn.
        batch: Questions a step, all of one index.
    """

    alpha: float = 0.3
    ranking: RankingLoss = "listwise"
    forms: tuple[float, float, float, float] = (0.6, 0.15, 0.15, 0.1)
    batch: int = 8

    def __post_init__(self) -> None:
        """Refuse what is no loss."""
        if not 0 <= self.alpha <= 1:
            raise InputError(f"alpha is {self.alpha}; wanted 0 (ranking alone) to 1 (cross-entropy alone)")
        if self.ranking not in ("listwise", "paper", "code"):
            raise InputError(f"the ranking loss is {self.ranking!r}; wanted listwise, paper or code")
        if self.batch < 1 or min(self.forms) < 0 or not sum(self.forms):
            raise InputError(f"{self}: the batch must be at least 1, and some form must be drawn")

    def compute(self, logits: "Tensor", relevant: "Tensor") -> "Tensor":
        """Return the loss of one question's passages."""
        temperature = 0.2 if self.ranking == "code" else None
        rank = listwise_loss(logits, relevant) if self.ranking == "listwise" else None
        if rank is None:
            rank = ratio_loss(logits, relevant, as_paper=self.ranking == "paper")
        return self.alpha * binary_loss(logits, relevant, temperature) + (1.0 - self.alpha) * rank


@dataclass(frozen=True, slots=True, eq=False)
class QuestionBatch:
    """A batch: questions of one index in one form each."""

    source: GFMExamples
    items: tuple[GFMExample, ...]
    forms: tuple[int, ...]


class DocumentRetrieval:
    """The objective.

    Args:
        training: The questions that are learned from, by index.
        validation: The questions that choose the epoch, by the name they are reported under.
        loss: What is minimised.
    """

    no_signal_message = (
        "no question has both a passage to find and one to leave, so there is nothing to learn from: give more "
        "documents, or questions whose gold passages the names in them lead to"
    )

    def __init__(
        self, training: Sequence[GFMExamples], validation: dict[str, GFMExamples], loss: RetrievalLoss
    ) -> None:
        self._training = training
        self._validation = validation
        self._loss = loss

    def __len__(self) -> int:
        return sum(-(-len(source.items) // self._loss.batch) for source in self._training)

    def batches(self, epoch_seed: int) -> Iterator[QuestionBatch]:
        """Yield batches of one index each, indexes at random."""
        random = np.random.default_rng(epoch_seed)
        odds = np.array(self._loss.forms) / sum(self._loss.forms)
        planned: list[tuple[GFMExamples, list[int]]] = []
        for source in self._training:
            order = random.permutation(len(source.items)).tolist()
            size = self._loss.batch
            planned += [(source, order[start : start + size]) for start in range(0, len(order), size)]
        for place in random.permutation(len(planned)).tolist():
            source, chosen = planned[place]
            forms = tuple(int(form) for form in random.choice(len(FORMS), size=len(chosen), p=odds))
            yield QuestionBatch(source, tuple(source.items[i] for i in chosen), forms)

    def halve(self, batch: QuestionBatch) -> tuple[QuestionBatch, QuestionBatch] | None:
        """Return the two halves of a batch; None for a single question."""
        cut = len(batch.items) // 2
        if not cut:
            return None
        first = QuestionBatch(batch.source, batch.items[:cut], batch.forms[:cut])
        return first, QuestionBatch(batch.source, batch.items[cut:], batch.forms[cut:])

    def loss(self, model: "nn.Module", batch: QuestionBatch) -> "Tensor | None":
        """Return the mean loss of the questions whose graph holds some gold passage, and some other."""
        assert isinstance(model, QueryGNN)
        logits, together, sizes = score_questions(model, batch.source, batch.items, batch.forms)
        losses: list[Tensor] = []
        start = 0
        for item, form, size in zip(batch.items, batch.forms, sizes, strict=True):
            own = together.targets[start : start + size].to(logits.device)
            relevant = torch.from_numpy(item.relevant[form]).to(own.device)[own]
            if relevant.any() and not relevant.all():
                losses.append(self._loss.compute(logits[start : start + size][own], relevant))
            start += size
        return torch.stack(losses).mean() if losses else None

    def validate(self, model: "nn.Module") -> dict[str, float]:
        """Return the mean over sets of recall at 2 and at 5, and both for each set; nothing without a set."""
        assert isinstance(model, QueryGNN)
        figures: dict[str, float] = {}
        for name, source in self._validation.items():
            two, five = mean_recall(model, source, (2, 5))
            figures |= {f"{name} recall@2": two, f"{name} recall@5": five}
        return {"mean": float(np.mean(list(figures.values()))), **figures} if figures else {}


def score_questions(
    model: QueryGNN, source: GFMExamples, items: Sequence[GFMExample], forms: Sequence[int]
) -> "tuple[Tensor, GraphBatch, list[int]]":
    """Return the logits of some questions' nodes, the batch, and how many nodes each question has."""
    graphs = [item.graphs[form] for item, form in zip(items, forms, strict=True)]
    vectors = [item.vectors[form] for item, form in zip(items, forms, strict=True)]
    batch = collate(graphs, vectors, source.edges)
    return compute_logits(model, batch, source.relations), batch, [len(graph.nodes) for graph in graphs]


def compute_logits(model: QueryGNN, batch: GraphBatch, relations: "FloatArray") -> "Tensor":
    """Return the logits (n,) of a batch, computed where the model is, given the text vectors (.., t) of relations."""
    device = next(model.parameters()).device
    texts = torch.from_numpy(relations[batch.needed_relations(model)].astype(np.float32)).to(device)
    return batch.to(device).logits(model, model.project_relations(texts))


def mean_recall(
    model: QueryGNN, source: GFMExamples, cutoffs: Sequence[int], form: int = 0, *, all_gold: bool = False
) -> list[float]:
    """Return the recall of gold at each cut-off, as a mean over the questions, in one form.

    Args:
        model: What ranks.
        source: The questions.
        cutoffs: How many passages are looked at.
        form: See `FORMS`.
        all_gold: A question counts only when all its evidence is found.
    """
    found: list[list[float]] = []
    everything = np.ones(source.passages, dtype=bool)
    with torch.inference_mode():
        for start in range(0, len(source.items), 16):
            items = source.items[start : start + 16]
            logits, _, sizes = score_questions(model, source, items, [form] * len(items))
            parts = np.split(logits.cpu().numpy(), np.cumsum(sizes)[:-1])
            for item, part in zip(items, parts, strict=True):
                ranked = source.ranker.rank(item.graphs[form], part, item.vectors[form], max(cutoffs), everything)
                places = [place for place, _ in ranked.passages]
                shares = [_question_recall(item, places[:k]) for k in cutoffs]
                found.append([float(share == 1.0) for share in shares] if all_gold else shares)
    return [float(value) for value in np.mean(found, axis=0)]


def _question_recall(item: GFMExample, nodes: Sequence[int]) -> float:
    return float(np.mean([any(node in nodes for node in wanted) for wanted in item.gold])) if item.gold else 0.0
