"""Supervised retrieval objective: rank the gold passages of a question above all others of its graph.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.2.2, stage 2.
Differs from the source: passages are the targets; the ranking loss is listwise by default instead of the ratio;
questions come in several forms; only passages of the question's graph compete. `published_recipe` has none of these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from clew.arrays import BoolArray, FloatArray
from clew.nn.query_gnn import QueryGNN
from clew.nn.ranking_losses import binary_loss, listwise_loss, ratio_loss
from clew.retrievers.gfm.batch import GraphBatch, collate
from clew.training.data.gfm_examples import FORMS, GFMExample, GFMExamples
from clew.training.hyperparameters import RetrievalLoss


def retrieval_loss(loss: RetrievalLoss, logits: Tensor, relevant: Tensor) -> Tensor:
    """Return the loss of one question from logits (n,) and relevance (n,) of its passages."""
    if loss.ranking == "listwise":
        ranking = listwise_loss(logits, relevant)
    else:
        ranking = ratio_loss(logits, relevant, as_paper=loss.ranking == "paper")
    temperature = loss.temperature if loss.ranking == "code" else None
    return loss.alpha * binary_loss(logits, relevant, temperature) + (1.0 - loss.alpha) * ranking


@dataclass(frozen=True, slots=True, eq=False)
class QuestionBatch:
    """Questions of one index, each in one form."""

    source: GFMExamples
    items: tuple[GFMExample, ...]
    forms: tuple[int, ...]


class DocumentRetrieval:
    """Objective of supervised retrieval (see `clew.training.loop.Objective`).

    Examples to train on are given by index, those of validation by the name under which they are reported.
    """

    no_signal_message = (
        "no question has both a gold passage and another passage in its graph, so there is nothing to learn from: give "
        "more documents, or questions whose names lead to their gold passages"
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
        """Yield batches of one index each, indexes in random order."""
        random = np.random.default_rng(epoch_seed)
        odds, size = np.array(self._loss.forms) / sum(self._loss.forms), self._loss.batch
        odds = odds if self._loss.augment else np.eye(len(FORMS))[0]
        planned: list[tuple[GFMExamples, list[int]]] = []
        for source in self._training:
            order = random.permutation(len(source.items)).tolist()
            planned += [(source, order[start : start + size]) for start in range(0, len(order), size)]
        for position in random.permutation(len(planned)).tolist():
            source, chosen = planned[position]
            forms = tuple(int(form) for form in random.choice(len(FORMS), size=len(chosen), p=odds))
            yield QuestionBatch(source, tuple(source.items[i] for i in chosen), forms)

    def halve(self, batch: QuestionBatch) -> tuple[QuestionBatch, QuestionBatch] | None:
        """Split a batch; None for a single question."""
        cut = len(batch.items) // 2
        if not cut:
            return None
        first = QuestionBatch(batch.source, batch.items[:cut], batch.forms[:cut])
        return first, QuestionBatch(batch.source, batch.items[cut:], batch.forms[cut:])

    def loss(self, model: nn.Module, batch: QuestionBatch) -> Tensor | None:
        """Return the mean loss, a scalar, of questions with gold and other passages in their graph; None if none."""
        assert isinstance(model, QueryGNN)
        logits, all_targets, sizes = score_questions(model, batch.source, batch.items, batch.forms)
        losses: list[Tensor] = []
        start = 0
        for item, form, size in zip(batch.items, batch.forms, sizes, strict=True):
            targets = torch.from_numpy(all_targets[start : start + size]).to(logits.device)
            relevant = torch.from_numpy(item.relevant[form]).to(targets.device)[targets]
            if relevant.any() and not relevant.all():
                losses.append(retrieval_loss(self._loss, logits[start : start + size][targets], relevant))
            start += size
        return torch.stack(losses).mean() if losses else None

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return recall at 2 and at 5 for each set, their mean first; empty without a set.

        Where entities are found also the mean of their reciprocal ranks, and of those up to 10, which do not count in
        the mean.
        """
        assert isinstance(model, QueryGNN)
        figures: dict[str, float] = {}
        entities: dict[str, float] = {}
        for name, source in self._validation.items():
            two, five = mean_recall(model, source, (2, 5))
            figures |= {f"{name} recall@2": two, f"{name} recall@5": five}
            if source.of_entities:
                mrr, hits = entity_ranks(model, source)
                entities |= {f"{name} entity MRR": mrr, f"{name} entity hits@10": hits}
        return {"mean": float(np.mean(list(figures.values()))), **figures, **entities} if figures else {}


def score_questions(
    model: QueryGNN, source: GFMExamples, items: Sequence[GFMExample], forms: Sequence[int]
) -> tuple[Tensor, BoolArray, list[int]]:
    """Return the node logits (n,) of questions, which nodes are ranked (n,), and the number of nodes of each question.

    Questions on the whole graph are scored one by one: they share its sorted edges.
    """
    graphs = [item.graphs[form] for item, form in zip(items, forms, strict=True)]
    vectors = [item.vectors[form] for item, form in zip(items, forms, strict=True)]
    sizes = [len(graph.nodes) for graph in graphs]
    if all(size == source.edges.node_count for size in sizes):
        pairs = zip(graphs, vectors, strict=True)
        batches = [collate([g], [vector], source.edges, source.whole, source.node_texts) for g, vector in pairs]
    else:
        batches = [collate(graphs, vectors, source.edges, texts=source.node_texts)]
    logits = torch.cat([compute_logits(model, batch, source.relations) for batch in batches])
    return logits, np.concatenate([batch.targets for batch in batches]), sizes


def compute_logits(model: QueryGNN, batch: GraphBatch, relations: FloatArray) -> Tensor:
    """Return node logits (n,) on the model's device, from the text vectors (R or 2 R, t) of the relations."""
    device = next(model.parameters()).device
    texts = torch.from_numpy(relations[batch.needed_relations(model.settings)].astype(np.float32)).to(device)
    return model.run_batch(batch.query, model.project_relations(texts))


def mean_recall(
    model: QueryGNN, source: GFMExamples, cutoffs: Sequence[int], form: int = 0, *, all_gold: bool = False
) -> list[float]:
    """Return the recall of gold at each cut-off, averaged over the questions in one form (a position in `FORMS`).

    With `all_gold`, the share of questions with all evidence found instead.
    """
    recalls: list[list[float]] = []
    allowed = np.ones(source.passages, dtype=bool)
    with torch.inference_mode():
        for start in range(0, len(source.items), 16):
            items = source.items[start : start + 16]
            logits, _, sizes = score_questions(model, source, items, [form] * len(items))
            by_question = np.split(logits.cpu().numpy(), np.cumsum(sizes)[:-1])
            for item, scores in zip(items, by_question, strict=True):
                ranked = source.ranker.rank(item.graphs[form], scores, item.vectors[form], max(cutoffs), allowed)
                passages = [passage for passage, _ in ranked.passages]
                own = [_question_recall(item, passages[:k]) for k in cutoffs]
                recalls.append([float(recall == 1.0) for recall in own] if all_gold else own)
    return [float(value) for value in np.mean(recalls, axis=0)]


def entity_ranks(model: QueryGNN, source: GFMExamples, hits: int = 10) -> tuple[float, float]:
    """Return the mean reciprocal rank of the gold nodes, and the share that ranks among the first `hits`.

    Each gold node ranks among itself and the other nodes of its question's graph, ties at their mean; other gold nodes
    do not count. One outside the graph has reciprocal rank 0. Without gold nodes both are 0.
    """
    ranks: list[float] = []
    outside = 0
    with torch.inference_mode():
        for number in range(len(source.items)):
            item = source.items[number]
            logits = score_questions(model, source, [item], [0])[0].cpu().numpy()
            gold, others = logits[item.relevant[0]], np.sort(logits[~item.relevant[0]])
            higher = len(others) - others.searchsorted(gold, side="right")
            ties = others.searchsorted(gold, side="right") - others.searchsorted(gold, side="left")
            ranks += (1.0 + higher + 0.5 * ties).tolist()
            outside += item.gold_nodes_outside
    if not ranks:
        return 0.0, 0.0
    count, table = len(ranks) + outside, np.array(ranks)
    return float((1.0 / table).sum() / count), float((table <= hits).sum() / count)


def _question_recall(item: GFMExample, passages: Sequence[int]) -> float:
    return float(np.mean([any(p in passages for p in accepted) for accepted in item.gold])) if item.gold else 0.0
