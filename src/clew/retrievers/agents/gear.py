"""GeAR: a base retriever, graph expansion and a gist memory, in steps until the facts read answer the question.

Source: Shen et al., "GeAR: Graph-enhanced Agent for Retrieval-augmented Generation" (2024).
Differs from the source: all questions take their steps together, so that language model calls run concurrently; a step
that finds nothing new ends a search; later steps and the gist's triples may weigh less (`GearSettings`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.protocols import AgentReader, Retriever, fingerprint_of
from clew.retrievers.agents.steps import MAX_PATHS, AgentSearch, BudgetedReader, run_steps
from clew.retrievers.evidence import check_k, insert_empty_questions
from clew.retrievers.fused import FUSION_DEPTH, weighted_rank_fusion
from clew.retrievers.graph_expansion import ExpansionResult, GraphExpansion, linked_triples
from clew.types import (
    AgentStep,
    Evidence,
    ExtractedFacts,
    Fact,
    Filter,
    Passage,
    Path,
    ReaderInput,
    Scored,
    SufficiencyDecision,
    Usage,
)


@dataclass(frozen=True, slots=True)
class GearSettings:
    """Settings of the agent."""

    steps: int = 4  # maximum number of steps
    expand: bool = True  # whether passages are searched along triples
    gist: bool = True  # whether the gist's triples bring passages to the final ranking
    max_facts: int = 4  # maximum number of facts of the base's passages that a step adds to the gist
    max_expanded_facts: int = 2  # the same for facts of the passages found by expansion
    later_read_depth: int = 3  # number of passages read after the first step, where the query names what is missing
    later_weight: float = 1.0  # weight of the ranking of each later step, where the first step's is 1; 1 as published
    gist_weight: float = 0.1  # weight of the passages of one triple of the gist in the final ranking; 1 as published


@dataclass(slots=True, kw_only=True)
class _Search(AgentSearch):
    vector: FloatArray
    queries: list[str]
    rankings: list[list[Passage]] = field(default_factory=list)
    gist: list[Fact] = field(default_factory=list)
    paths: list[Scored[Path]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class GearAgent:
    """Searches in steps."""

    base: Retriever
    expansion: GraphExpansion  # expansion over the same index
    reader: AgentReader  # extracts facts, judges whether they suffice, and rewrites queries
    settings: GearSettings

    @property
    def fingerprint(self) -> str:
        """Joined fingerprints of base and reader."""
        return fingerprint_of(self.base, self.reader)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, the beams as paths and every step."""
        check_k(k)
        allowed = self.expansion.scope.mask(where)
        searched = [question for question in questions if question.strip()]
        vectors = self.expansion.encode_questions(searched) if searched else np.zeros((0, 1), dtype=np.float32)
        searches = [_Search(question=q, vector=v, queries=[q]) for q, v in zip(searched, vectors, strict=True)]
        budget, depth = BudgetedReader(), max(k, FUSION_DEPTH)
        run_steps(
            searches, self.settings.steps, budget, lambda active: self._step(active, depth, where, allowed, budget)
        )
        return insert_empty_questions(questions, (self._evidence(search, k, allowed) for search in searches))

    def _step(
        self, active: Sequence[_Search], depth: int, where: Filter | None, allowed: BoolArray, budget: BudgetedReader
    ) -> None:
        started = time.perf_counter()
        bases = self.base.retrieve([search.queries[-1] for search in active], depth, where)
        read_depth = self.settings.later_read_depth if active[0].steps else self.expansion.settings.read_depth
        found = [tuple(s.item for s in base.passages) for base in bases]
        inputs = [_reader_input(search, first[:read_depth]) for search, first in zip(active, found, strict=True)]
        readings = budget.ask(self.reader.read, inputs, ExtractedFacts())
        facts = self.expansion.link_facts([reading.facts for reading in readings], allowed)
        linked = [linked_triples(of_question) for of_question in facts]
        expansions = [
            self.expansion.expand(search.vector, starts, allowed) if self.settings.expand else ExpansionResult((), ())
            for search, starts in zip(active, linked, strict=True)
        ]
        rankings = [
            [s.item for s in self.expansion.fuse(first, expansion)]
            for first, expansion in zip(found, expansions, strict=True)
        ]
        further_inputs = [
            _reader_input(search, self._unread_passages(expansion, done.passages)[:read_depth])
            for search, expansion, done in zip(active, expansions, inputs, strict=True)
        ]
        further_readings = budget.ask(self.reader.read, further_inputs, ExtractedFacts())
        further_facts = self.expansion.link_facts([reading.facts for reading in further_readings], allowed)
        added = [
            self._add_to_gist(search, first, further)
            for search, first, further in zip(active, facts, further_facts, strict=True)
        ]
        judged = [_reader_input(search, ranking[:read_depth]) for search, ranking in zip(active, rankings, strict=True)]
        decisions = budget.ask(self.reader.judge, judged, SufficiencyDecision(enough=False))
        each = (time.perf_counter() - started) / len(active)
        for i, search in enumerate(active):
            replies = (readings[i], further_readings[i], decisions[i])
            usage = replace(sum((reply.usage for reply in replies), Usage()), seconds=each)
            step = AgentStep(
                search.queries[-1],
                tuple(fact.text for fact in readings[i].facts),
                tuple(self.expansion.triple_text(triple) for triple in linked[i]),
                _new_passages(search, rankings[i]),
                tuple(fact.text for fact in added[i]),
                usage=usage + replace(bases[i].usage, seconds=0.0),
            )
            search.notes += [*bases[i].notes, *(note for reply in replies for note in reply.notes)]
            search.paths += expansions[i].paths
            search.rankings.append(rankings[i])
            _end_step(search, step, decisions[i], budget)

    def _unread_passages(self, expansion: ExpansionResult, read: Sequence[Passage]) -> tuple[Passage, ...]:
        """Return the passages found by expansion without those read already in the same step."""
        read_ids = {passage.id for passage in read}
        passages = map(self.expansion.scope.snapshot.passage, expansion.passages)
        return tuple(passage for passage in passages if passage.id not in read_ids)

    def _add_to_gist(self, search: _Search, first: Sequence[Fact], further: Sequence[Fact]) -> list[Fact]:
        added: list[Fact] = []
        for facts, limit in ((first, self.settings.max_facts), (further, self.settings.max_expanded_facts)):
            known = {fact.text for fact in [*search.gist, *added]}
            added += list({fact.text: fact for fact in facts if fact.text not in known}.values())[:limit]
        search.gist += added
        return added

    def _evidence(self, search: _Search, k: int, allowed: BoolArray) -> Evidence:
        started = time.perf_counter()
        rankings: list[Sequence[Passage]] = list(search.rankings)
        weights = [1.0, *[self.settings.later_weight] * (len(rankings) - 1)]
        if self.settings.gist:
            triples = linked_triples(search.gist)
            rankings += [self.expansion.passages_stating(triple, allowed) for triple in triples]
            weights += [self.settings.gist_weight] * len(triples)
        passages = weighted_rank_fusion(rankings, weights, self.expansion.settings.rank_constant)[:k]
        return search.make_evidence(passages, search.paths, started)


def _reader_input(search: _Search, passages: Sequence[Passage]) -> ReaderInput:
    return ReaderInput(search.question, tuple(passages), tuple(search.gist), tuple(search.queries))


def _new_passages(search: _Search, ranking: Sequence[Passage]) -> tuple[str, ...]:
    """Return the ids among the first of a ranking that were not among the first of an earlier one."""
    known = {passage.id for earlier in search.rankings for passage in earlier[:MAX_PATHS]}
    return tuple(passage.id for passage in ranking[:MAX_PATHS] if passage.id not in known)


def _end_step(search: _Search, step: AgentStep, decision: SufficiencyDecision, budget: BudgetedReader) -> None:
    query = decision.query if decision.query not in search.queries else ""
    added = bool(step.new or step.gist)
    reasoning = decision.reasoning
    if search.end_step(step, budget, enough=decision.enough, added=added, next_query=query, reasoning=reasoning):
        search.queries.append(query)
