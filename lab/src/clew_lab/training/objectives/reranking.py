"""Training of the reranking network, on pools of passages with known evidence.

For a question with the scores s of its passages, P those of its evidence and N the others:

    cross-entropy   sum over p in P of -log softmax over all passages at p
    pairwise        mean over p in P and n in N of max(0, 1 - (s_p - s_n))
    listwise        mean over p in P of l_p,   l_p = -log(exp s_p / (exp s_p + sum over N of exp s_n))
    set             T log mean over p in P of exp(l_p / T)

`set` is ours: all evidence is found only when the last passage of it is, so the worst-ranked passage counts most, the
more so the smaller the temperature T; as T grows the loss approaches `listwise`.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), equations 12 and 13.
Differs from the source: the last two losses; a loss may use the hardest negatives only; questions without evidence or
without other passages are skipped; further passages of an evidence document count neither as evidence nor as others.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from clew.arrays import BoolArray
from clew.nn.ranking_losses import listwise_loss
from clew.rerankers.g_rag.weights import FeatureColumns
from clew_lab.nn.document_gnn import DocumentBatch, DocumentGNN
from clew_lab.training.data.reranking_pools import PoolExample
from clew_lab.training.hyperparameters import Measure, RerankLoss

_BATCH_SIZE = 16  # questions scored at a time


def rerank_loss(loss: RerankLoss, scores: Tensor, relevant: Tensor) -> Tensor:
    """Return the loss of one question with scores (n,) and relevance (n,), which has at least one of each kind."""
    if loss.hardest:
        others = torch.where(relevant, -torch.inf, scores)
        hard = torch.zeros_like(relevant)
        hard[others.topk(min(loss.hardest, int((~relevant).sum()))).indices] = True
        scores, relevant = scores[relevant | hard], relevant[relevant | hard]
    if loss.kind == "cross-entropy":
        return -functional.log_softmax(scores, 0)[relevant].sum()
    if loss.kind == "pairwise":
        return functional.relu(1.0 - (scores[relevant][:, None] - scores[~relevant])).mean()
    if loss.kind == "listwise":
        return listwise_loss(scores, relevant)
    return set_loss(scores, relevant, loss.temperature)


def set_loss(scores: Tensor, relevant: Tensor, temperature: float) -> Tensor:
    """Return the loss `set` of one question with scores (n,) and relevance (n,); see the module's formula."""
    others = torch.logsumexp(scores[~relevant], dim=0)
    losses = torch.logaddexp(scores[relevant], others) - scores[relevant]
    return temperature * (torch.logsumexp(losses / temperature, dim=0) - math.log(len(losses)))


@final
class Reranking:
    """Objective of reranking (see `clew.training.loop.Objective`).

    Training questions without evidence or without other passages are skipped; questions of validation are given by the
    name under which they are reported; `columns` are the graph features that the network reads.
    """

    no_signal_message = (
        "no question has both evidence and other passages in its pool, so there is nothing to learn from: give a "
        "larger pool, another retriever, or questions whose gold ids are in the corpus"
    )

    def __init__(
        self,
        training: Sequence[PoolExample],
        validation: Mapping[str, Sequence[PoolExample]],
        columns: FeatureColumns,
        loss: RerankLoss,
        steps: int = 0,
        choose_by: Measure = "recall",
    ) -> None:
        self._training = [one for one in training if one.relevant.any() and one.others.any()]
        self._validation = validation
        self._columns = columns
        self._loss = loss
        self._steps = steps
        self._choose_by = choose_by

    def __len__(self) -> int:
        return (self._training and self._steps) or -(-len(self._training) // self._loss.batch)

    def batches(self, epoch_seed: int) -> Iterator[Sequence[PoolExample]]:
        """Yield as many batches as there are steps, each time all questions in random order; by default once."""
        generator = np.random.default_rng(epoch_seed)
        left = len(self)
        while left:
            order = generator.permutation(len(self._training)).tolist()
            starts = range(0, len(order), self._loss.batch)[:left]
            for start in starts:
                yield [self._training[position] for position in order[start : start + self._loss.batch]]
            left -= len(starts)

    def halve(self, batch: Sequence[PoolExample]) -> tuple[Sequence[PoolExample], Sequence[PoolExample]] | None:
        """Split a batch; None for a single question."""
        cut = len(batch) // 2
        return (batch[:cut], batch[cut:]) if cut else None

    def loss(self, model: nn.Module, batch: Sequence[PoolExample]) -> Tensor:
        """Return the mean loss of one or more questions, a scalar."""
        assert isinstance(model, DocumentGNN)
        scores = score_pools(model, batch, self._columns)
        losses = []
        for own, one in zip(scores, batch, strict=True):
            relevant, others = (torch.from_numpy(rows).to(own.device) for rows in (one.relevant, one.others))
            labelled = relevant | others
            losses.append(rerank_loss(self._loss, own[: len(labelled)][labelled], relevant[labelled]))
        return torch.stack(losses).mean()

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return recall at 2 and 5 and all-gold at 5 for each set, or MRR, their mean first; empty without a set."""
        assert isinstance(model, DocumentGNN)
        return figures_by_set(
            self._validation, lambda examples: rank_pools(model, examples, self._columns), self._choose_by
        )


def score_pools(model: DocumentGNN, examples: Sequence[PoolExample], columns: FeatureColumns) -> Tensor:
    """Return passage scores (b, n), on the model's device; n is the size of the largest pool."""
    device = next(model.parameters()).device
    text = model.settings.text > 0
    batch = DocumentBatch.from_inputs([columns.select(one.graph, text=text) for one in examples])
    scores: Tensor = model(batch.to(device))
    return scores


def rank_pools(model: DocumentGNN, examples: Sequence[PoolExample], columns: FeatureColumns) -> list[BoolArray]:
    """Return for each question which of n passages are evidence (n,), ranked by the model; ties keep their order."""
    rankings: list[BoolArray] = []
    training = model.training
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(examples), _BATCH_SIZE):
            batch = examples[start : start + _BATCH_SIZE]
            scores = score_pools(model, batch, columns).cpu().numpy()
            for own, one in zip(scores, batch, strict=True):
                rankings.append(one.relevant[np.argsort(-own[: len(one.relevant)], kind="stable")])
    model.train(training)
    return rankings


def figures_by_set(
    validation: Mapping[str, Sequence[PoolExample]],
    rank: Callable[[Sequence[PoolExample]], Sequence[BoolArray]],
    choose_by: Measure = "recall",
) -> dict[str, float]:
    """Return the figures of each set of pools as they are ranked, their mean first; empty without a set.

    `rank` returns for each question which of its n passages are evidence (n,), in the order of the ranking.
    """
    figures = {
        f"{name} {measure}": value
        for name, examples in validation.items()
        for measure, value in _figures_of(choose_by)(rank(examples), examples).items()
    }
    return {"mean": float(np.mean(list(figures.values()))), **figures} if figures else {}


def _figures_of(
    choose_by: Measure,
) -> Callable[[Sequence[BoolArray], Sequence[PoolExample]], dict[str, float]]:
    return mean_reciprocal_ranks if choose_by == "mrr" else pool_figures


def mean_reciprocal_ranks(rankings: Sequence[BoolArray], examples: Sequence[PoolExample]) -> dict[str, float]:
    """Return the mean over questions of the mean of 1 / rank over a question's evidence, 0 for what its pool lacks.

    It is "positives_rr" of `multi_positive_metrics`, by which rankings are evaluated: a question counts once, however
    many pieces of evidence it has. Rankings (n,) are as of `rank_pools`.
    """
    pairs = zip(rankings, examples, strict=True)
    return {"MRR": float(np.mean([(1.0 / (np.flatnonzero(own) + 1)).sum() / one.gold_count for own, one in pairs]))}


def pool_figures(rankings: Sequence[BoolArray], examples: Sequence[PoolExample]) -> dict[str, float]:
    """Return the means of recall at 2 and at 5, and the share of questions with all evidence among the first 5.

    Rankings (n,) are as of `rank_pools`.
    """
    pairs = list(zip(rankings, examples, strict=True))
    figures = {f"recall@{k}": float(np.mean([own[:k].sum() / one.gold_count for own, one in pairs])) for k in (2, 5)}
    return {**figures, "all_gold@5": float(np.mean([own[:5].sum() == one.gold_count for own, one in pairs]))}
