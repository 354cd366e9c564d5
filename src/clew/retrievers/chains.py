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
from clew.plugins.records import Amount, SettingsRecord, Share, WholeNumber, setting
from clew.query.chain_search import ChainSearch, ChainSearchConfig, FirstWeights
from clew.query.context import IndexContext
from clew.query.graph_walk import NO_MATCH
from clew.query.scope import Scope
from clew.retrievers.evidence import ChainQuoter, PassageRetriever, make_evidence
from clew.retrievers.supporting_passages import explain_walk
from clew.types import Evidence


class Chains(SettingsRecord):
    """Settings of `chains`; chosen on hotpotqa/dev and musique-dev."""

    label: ClassVar[str] = "chains"

    steps: Literal[2, 3] = setting(3, "sentences of the longest chains")
    chain_weight: Amount = setting(2.0, "weight of a passage's best chain")
    walk_weight: Amount = setting(1 / 7, "weight of the logarithm of a passage's PageRank")
    restart: Share = setting(0.15, "share of the walk's restart on the passages nearest to the question")
    restart_passages: WholeNumber = setting(20, "number of those passages")
    walk_passages: WholeNumber = setting(30, "best passages by the walk whose sentences begin chains")
    lexical_passages: WholeNumber = setting(10, "the same by BM25, at most 20")
    similar_passages: WholeNumber = setting(10, "the same by vector")
    first_sentences: WholeNumber = setting(30, "best first sentences, with which chains begin")
    second_sentences: WholeNumber = setting(20, "best second sentences, with which a third step begins")
    words: Amount = setting(0.5, "weight of the question's words in a first sentence")
    named: Amount = setting(0.1, "bonus of a first sentence for a name of the question")
    rank: Amount = setting(0.03, "weight of the logarithm of its passage's PageRank")
    remainder: Amount = setting(0.4, "weight of a later sentence's cosine with the question without its names")
    question: Amount = setting(0.1, "weight of its cosine with the question")
    novelty: Amount = setting(1.0, "weight of the question's words that are new in it")
    hub: Amount = setting(0.1, "price of a bridge, times the logarithm of the number of its passages")
    title: Amount = setting(0.05, "bonus of a bridge that is the title of the passage it leads to")
    third_step: Amount = setting(0.2, "price of a third step")

    def search_config(self) -> ChainSearchConfig:
        """Return the parameters of the search."""
        return ChainSearchConfig(
            walk_passages=self.walk_passages,
            lexical_passages=self.lexical_passages,
            similar_passages=self.similar_passages,
            restart=self.restart,
            restart_passages=self.restart_passages,
            first=FirstWeights(self.words, self.named, self.rank),
            chains=ChainWeights(
                remainder=self.remainder,
                question=self.question,
                novelty=self.novelty,
                hub=self.hub,
                title=self.title,
                third_step=self.third_step,
                first_sentences=self.first_sentences,
                second_sentences=self.second_sentences,
                sentences=self.steps,
            ),
        )


@dataclass(frozen=True, slots=True, eq=False)
class ChainRetriever(PassageRetriever):
    """Ranks passages by chains of sentences and a walk."""

    scope: Scope
    chain_search: ChainSearch
    quoter: ChainQuoter | None  # None where neither chains nor walks are shown
    chain_weight: float
    walk_weight: float

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,), the walks to them, and the chains that they stand in."""
        started = time.perf_counter()
        found = self.chain_search.search(question, allowed)
        if not len(found.passages):
            return make_evidence((), (), (*found.notes, NO_MATCH), started)
        scores = self.chain_weight * found.chain_shares + self.walk_weight * np.log(found.walk_shares)
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
    sentences, search = context.scope.snapshot.sentences, context.chain_search(settings.search_config())
    quoter = ChainQuoter(context.scope.snapshot, context.lexical, sentences) if context.paths_per_passage else None
    return ChainRetriever(context.scope, search, quoter, settings.chain_weight, settings.walk_weight)
