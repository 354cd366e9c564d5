"""Chains of sentences: passages by the best chain that they stand in, and by the walk from the names of the question.

A passage scores 2 x (its chain's share of the best chain's score) + log(its share of the best PageRank) / 7.

Source: none; see `graph.paths.sentence_chains`.
"""

import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from clew.arrays import BoolArray, top_order
from clew.graph.paths.sentence_chains import ChainWeights
from clew.plugins.records import Amount, SettingsRecord, setting
from clew.query.chain_search import ChainSearch, ChainSearchConfig
from clew.query.context import IndexContext
from clew.query.graph_walk import NO_MATCH
from clew.query.scope import Scope
from clew.retrievers.evidence import ChainQuoter, PassageRetriever, make_evidence
from clew.retrievers.supporting_passages import explain_walk
from clew.types import Evidence

_CHAIN_WEIGHT = 2.0  # of a passage's best chain; chosen on hotpotqa/dev and musique-dev


class Chains(SettingsRecord):
    """Settings of `chains`."""

    label: ClassVar[str] = "chains"

    steps: Literal[2, 3] = setting(3, "sentences of the longest chains")
    walk_weight: Amount = setting(1 / 7, "weight of the logarithm of a passage's PageRank")


@dataclass(frozen=True, slots=True, eq=False)
class ChainRetriever(PassageRetriever):
    """Ranks passages by chains of sentences and a walk."""

    scope: Scope
    chain_search: ChainSearch
    quoter: ChainQuoter | None  # None where neither chains nor walks are shown
    walk_weight: float

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,), the walks to them, and the chains that they stand in."""
        started = time.perf_counter()
        found = self.chain_search.search(question, allowed)
        if not len(found.passages):
            return make_evidence((), (), (*found.notes, NO_MATCH), started)
        scores = _CHAIN_WEIGHT * found.chain_shares + self.walk_weight * np.log(found.walk_shares)
        best = top_order(scores, k)
        ranked = [(int(found.passages[i]), float(scores[i])) for i in best]
        if self.quoter is None:
            return make_evidence(self.scope.scored_passages(ranked), (), found.notes, started)
        passages = [passage for passage, _ in ranked]
        paths = explain_walk(self.scope.snapshot, found.walk, self.chain_search.damping, passages, allowed)
        chains = self.quoter.quote(found.chains, np.array(passages, dtype=np.int32), allowed)
        return replace(make_evidence(self.scope.scored_passages(ranked), paths, found.notes, started), chains=chains)


def build_chains(context: IndexContext, settings: Chains) -> ChainRetriever:
    """Return the retriever over one index."""
    config = ChainSearchConfig(chains=ChainWeights(sentences=settings.steps))
    sentences, search = context.scope.snapshot.sentences, context.chain_search(config)
    quoter = ChainQuoter(context.scope.snapshot, context.lexical, sentences) if context.paths_per_passage else None
    return ChainRetriever(context.scope, search, quoter, settings.walk_weight)
