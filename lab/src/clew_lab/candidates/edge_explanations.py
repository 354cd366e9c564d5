"""Why a reranker over document graphs ranks a passage where it does: the edges that lift it, and what they are made of.

Source: none. Differs from the source: see `clew_lab.nn.document_gnn`.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from clew.errors import InputError
from clew.protocols import Reranker, Retriever
from clew.query.context import IndexContext
from clew.rerankers.g_rag.reranker import DocumentGraphReranker
from clew.retrievers.evidence import ChainQuoter
from clew.types import Filter, Passage, Scored
from clew_lab.candidates.explained_targets import is_same_name, propose_names
from clew_lab.nn.document_gnn import edge_gradients

_CHAIN = "chain"  # what names of features of chains begin with


@dataclass(frozen=True, slots=True)
class ExplainedEdge:
    """An edge between two passages of a pool."""

    first: Passage
    second: Passage
    effect: float  # features times gradients, summed; above 0 if the edge lifts the passage that is explained
    features: dict[str, float]  # the effect of each feature
    parts: dict[str, tuple[str, ...]]  # what joins the two, by kind: names, facts, words of chains, concepts, edges


@dataclass(frozen=True, slots=True)
class RerankExplanation:
    """The explanation of one passage of a reranked pool."""

    question: str
    passage: Passage
    score: float
    rank: int  # by the reranker, from 1
    rank_before: int  # as found, from 1
    edges: tuple[ExplainedEdge, ...]  # by the size of their effects
    notes: tuple[str, ...] = ()  # of the reranker, such as that passages have no graph


def explain_reranking(
    context: IndexContext,
    base: Retriever,
    reranker: Reranker,
    depth: int,
    question: str,
    target: str | None = None,
    count: int = 5,
    where: Filter | None = None,
) -> RerankExplanation:
    """Return the `count` edges with the greatest effects on the score of a passage of the pool.

    The pool are the first `depth` passages of the retriever `base`.

    `target` is its id, or its title; None for the passage that is ranked first. Raises InputError where nothing is
    found, the pool has no such passage, or the reranker reads no graph of passages.
    """
    if not isinstance(reranker, DocumentGraphReranker):
        raise InputError(
            f"the reranker is {type(reranker).__name__}; wanted g-rag, which reads how passages are connected"
        )
    (found,) = base.retrieve([question], depth, where)
    if not found.passages:
        raise InputError(f"no passage is found for the question {question!r}: there is nothing to explain")
    pool = found.passages[:depth]
    (ranked,) = reranker.rerank([question], [replace(found, passages=pool)])
    order = [scored.item.id for scored in ranked.passages]
    place = _find(pool, order[0] if target is None else target)
    gradients = edge_gradients(reranker.weights.model, reranker.network_input(question, pool), place)
    effects = gradients.effects
    totals = effects.sum(-1)
    firsts, seconds = np.nonzero((gradients.edges + gradients.edges.transpose(1, 0, 2)).any(-1) & (totals != 0))
    best = np.argsort(-np.abs(totals[firsts, seconds]), kind="stable")[:count]
    bridges = (
        _bridges(context, question, pool) if any(_CHAIN in name for name in reranker.weights.edge_features) else {}
    )
    edges = []
    for first, second in zip(firsts[best].tolist(), seconds[best].tolist(), strict=True):
        parts = reranker.shared_parts(question, pool, first, second)
        if words := bridges.get(frozenset((pool[first].item.id, pool[second].item.id))):
            parts["chains"] = words
        by_feature = zip(reranker.weights.edge_features, effects[first, second].tolist(), strict=True)
        features = {name: effect for name, effect in by_feature if effect}
        edges.append(ExplainedEdge(pool[first].item, pool[second].item, float(totals[first, second]), features, parts))
    passage = pool[place].item
    notes = tuple(note for note in ranked.notes if note not in found.notes)
    ranks = order.index(passage.id) + 1, place + 1
    return RerankExplanation(question, passage, float(gradients.scores[place]), *ranks, tuple(edges), notes)


def _find(pool: tuple[Scored[Passage], ...], target: str) -> int:
    ids, titles = [scored.item.id for scored in pool], [scored.item.title for scored in pool]
    if target in ids:
        return ids.index(target)
    for place, title in enumerate(titles):
        if is_same_name(title, target):
            return place
    hint = propose_names(target, [*titles, *ids]) or "name another"
    raise InputError(f"no passage among the {len(pool)} that are reranked has the id or title {target!r}: {hint}")


def _bridges(
    context: IndexContext, question: str, pool: tuple[Scored[Passage], ...]
) -> dict[frozenset[str], tuple[str, ...]]:
    """Return the names and rare words that join sentences of two passages in chains through the pool's passages."""
    snapshot, search = context.scope.snapshot, context.chain_search()
    positions = np.sort([snapshot.position(scored.item.id) for scored in pool]).astype(np.int32)
    allowed = np.zeros(len(snapshot.passage_ids), dtype=np.bool_)
    allowed[positions] = True
    quoter = ChainQuoter(snapshot, context.lexical, search.sentences)
    words: dict[frozenset[str], dict[str, None]] = {}
    for chain in quoter.quote(search.search(question, allowed).chains, positions, allowed):
        for (before, after), bridge in zip(pairwise(chain.item.sentences), chain.item.bridges, strict=True):
            words.setdefault(frozenset((before.passage_id, after.passage_id)), {})[bridge] = None
    return {pair: tuple(found) for pair, found in words.items()}
