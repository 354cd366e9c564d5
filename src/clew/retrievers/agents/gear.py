"""GeAR: a base retriever, graph expansion and a gist memory, in steps until the facts read answer the question.

Source: Shen et al., "GeAR: Graph-enhanced Agent for Retrieval-augmented Generation" (2024).
Differs from the source: all questions take their steps together, so that language model calls run concurrently; a step
that finds nothing new ends a search. By default it also differs where a setting says "as published" otherwise
(`GearSettings`, `ExpansionSettings`): facts of the base's passages are noted too, and those of expanded passages that
were not read in the same step; later steps and the gist's facts may weigh less. `preset=paper` sets all of them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.protocols import AgentReader, Retriever, fingerprint_of
from clew.retrievers.evidence import check_k, insert_empty_questions
from clew.retrievers.fused import weighted_rank_fusion
from clew.retrievers.graph_expansion import ExpansionResult, GraphExpansion, linked_triples
from clew.text.display import format_count
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
    Thought,
    Usage,
)

T = TypeVar("T", ExtractedFacts, SufficiencyDecision, Thought)

MAX_PATHS = 10
"""Maximum number of paths returned, and the depth of a ranking at which a passage counts as found by a step."""


class BudgetedReader:
    """Calls a reader until its budget is spent; then replies are empty, and searches end with their evidence so far."""

    def __init__(self) -> None:
        self.stop_reason = ""

    def ask(
        self, method: Callable[[Sequence[ReaderInput]], list[T]], inputs: Sequence[ReaderInput], empty: T
    ) -> list[T]:
        """Return the replies of a reader's method, or empty ones when the budget is spent."""
        if self.stop_reason:
            return [empty] * len(inputs)
        replies = method(inputs)
        reason = next((reply.stop_reason for reply in replies if reply.stop_reason), "")
        self.stop_reason = f"stopped: {reason}" if reason else ""
        return replies


@dataclass(slots=True, kw_only=True)
class AgentSearch:
    """State of the search for one question."""

    question: str
    steps: list[AgentStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    done: bool = False

    def end_step(
        self,
        step: AgentStep,
        budget: BudgetedReader,
        *,
        enough: bool,
        added: bool,
        next_query: str,
        reasoning: str,
        query_kind: str = "query",
    ) -> bool:
        """Record a step, and return whether the search goes on.

        It ends with a spent budget, with evidence that is `enough`, after a step other than the first that `added`
        nothing, or without a next query ("").
        """
        if budget.stop_reason:
            verdict = budget.stop_reason
        elif enough:
            verdict = "enough"
        elif self.steps and not added:
            verdict = "stopped: the step added nothing"
        else:
            verdict = "go on" if next_query else f"stopped: no new {query_kind}"
        self.done = verdict != "go on"
        self.steps.append(replace(step, verdict=verdict, reasoning=reasoning))
        return not self.done

    def make_evidence(
        self, passages: Sequence[Scored[Passage]], paths: Sequence[Scored[Path]], started: float
    ) -> Evidence:
        """Return the evidence of all steps; its seconds include those since `started` (a `time.perf_counter`)."""
        usage = sum((step.usage for step in self.steps), Usage())
        total = replace(usage, seconds=usage.seconds + time.perf_counter() - started)
        notes = [*dict.fromkeys(self.notes), *map(format_step, range(1, len(self.steps) + 1), self.steps)]
        return Evidence(tuple(passages), tuple(best_paths(paths)), tuple(notes), total, tuple(self.steps))


S = TypeVar("S", bound=AgentSearch)


def run_steps(
    searches: Sequence[S], max_steps: int, budget: BudgetedReader, step: Callable[[Sequence[S]], None]
) -> None:
    """Take steps of all searches that are not done, together, until all are done or the budget is spent."""
    for _ in range(max_steps):
        active = [search for search in searches if not search.done]
        if not active or budget.stop_reason:
            break
        step(active)


def best_paths(paths: Sequence[Scored[Path]]) -> list[Scored[Path]]:
    """Return the `MAX_PATHS` best distinct paths of all steps."""
    best: dict[Path, Scored[Path]] = {}
    for path in sorted(paths, key=lambda path: -path.score):
        best.setdefault(path.item, path)
    return list(best.values())[:MAX_PATHS]


def format_step(number: int, step: AgentStep) -> str:
    """Return a step as a line for people."""
    counts = f"{format_count(len(step.read), 'triple')} read, {format_count(len(step.new), 'new passage')}"
    reasoning = f"; {step.reasoning}" if step.reasoning else ""
    return f"step {number}: searched {step.query!r}: {counts}; {step.verdict}{reasoning}"


@dataclass(frozen=True, slots=True)
class GearSettings:
    """Settings of the agent."""

    steps: int = 4  # maximum number of steps
    expand: bool = True  # whether passages are searched along triples
    gist: bool = True  # whether the gist's triples bring passages to the final ranking
    max_facts: int | None = None  # maximum number of facts of the base's passages that a step notes; None for all
    max_expanded_facts: int | None = None  # the same for facts of the passages found by expansion
    read_base_facts: bool = True  # whether facts of the base's passages are noted; as published, of expanded ones alone
    link_by_query: bool = False  # whether a fact of the gist brings the passages that the base ranks for its text, as
    # published; else those that state its nearest triple
    later_read_depth: int | None = None  # number of passages read after the first step; None for that of the first
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
        check_k(k, questions)
        allowed = self.expansion.scope.mask(where)
        searched = [question for question in questions if question.strip()]
        vectors = self.expansion.encode_questions(searched) if searched else np.zeros((0, 1), dtype=np.float32)
        searches = [_Search(question=q, vector=v, queries=[q]) for q, v in zip(searched, vectors, strict=True)]
        budget, depth = BudgetedReader(), max(k, self.expansion.settings.candidates)
        run_steps(
            searches, self.settings.steps, budget, lambda active: self._step(active, depth, where, allowed, budget)
        )
        linked = self._link_gists(searches, depth, where, allowed)
        found = (self._evidence(search, *links, k) for search, links in zip(searches, linked, strict=True))
        return insert_empty_questions(questions, found)

    def _step(
        self, active: Sequence[_Search], depth: int, where: Filter | None, allowed: BoolArray, budget: BudgetedReader
    ) -> None:
        started = time.perf_counter()
        bases = self.base.retrieve([search.queries[-1] for search in active], depth, where)
        read_depth = self.expansion.settings.read_depth
        if active[0].steps and self.settings.later_read_depth is not None:
            read_depth = self.settings.later_read_depth
        found = [tuple(s.item for s in base.passages) for base in bases]
        inputs = [_reader_input(search, first[:read_depth], where) for search, first in zip(active, found, strict=True)]
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
            _reader_input(search, self._memory_passages(expansion, done.passages)[:read_depth], where)
            for search, expansion, done in zip(active, expansions, inputs, strict=True)
        ]
        further_readings = budget.ask(self.reader.read, further_inputs, ExtractedFacts())
        further_facts = self.expansion.link_facts([reading.facts for reading in further_readings], allowed)
        added = [
            self._add_to_gist(search, first, further)
            for search, first, further in zip(active, facts, further_facts, strict=True)
        ]
        judged = [
            _reader_input(search, ranking[:read_depth], where) for search, ranking in zip(active, rankings, strict=True)
        ]
        decisions = budget.ask(self.reader.judge, judged, SufficiencyDecision(enough=False))
        each = (time.perf_counter() - started) / len(active)
        for i, search in enumerate(active):
            replies = (readings[i], further_readings[i], decisions[i])
            usage = replace(sum((reply.usage for reply in replies), Usage()), seconds=each)
            step = AgentStep(
                search.queries[-1],
                tuple(fact.text for fact in readings[i].facts),
                tuple(self.expansion.triple_text(triple, allowed) for triple in linked[i]),
                _new_passages(search, rankings[i]),
                tuple(fact.text for fact in added[i]),
                usage=usage + replace(bases[i].usage, seconds=0.0),
            )
            search.notes += [*bases[i].notes, *(note for reply in replies for note in reply.notes)]
            search.paths += expansions[i].paths
            search.rankings.append(rankings[i])
            _end_step(search, step, decisions[i], budget)

    def _memory_passages(self, expansion: ExpansionResult, read: Sequence[Passage]) -> tuple[Passage, ...]:
        """Return the passages found by expansion that the gist is made from.

        Where facts of the base's passages are noted too, those that were read in the same step are left out.
        """
        read_ids = {passage.id for passage in read} if self.settings.read_base_facts else set()
        passages = map(self.expansion.scope.snapshot.passage, expansion.passages)
        return tuple(passage for passage in passages if passage.id not in read_ids)

    def _add_to_gist(self, search: _Search, first: Sequence[Fact], further: Sequence[Fact]) -> list[Fact]:
        added: list[Fact] = []
        limits = [(further, self.settings.max_expanded_facts)]
        if self.settings.read_base_facts:
            limits.insert(0, (first, self.settings.max_facts))
        for facts, limit in limits:
            known = {fact.text for fact in [*search.gist, *added]}
            added += list({fact.text: fact for fact in facts if fact.text not in known}.values())[:limit]
        search.gist += added
        return added

    def _link_gists(
        self, searches: Sequence[_Search], depth: int, where: Filter | None, allowed: BoolArray
    ) -> list[tuple[Sequence[Sequence[Passage]], Usage]]:
        """Return for each search the passages that each fact of its gist brings (passageLink), and their cost."""
        if not self.settings.gist:
            return [([], Usage()) for _ in searches]
        if not self.settings.link_by_query:
            stating = self.expansion.passages_stating
            return [([stating(t, allowed) for t in linked_triples(s.gist)], Usage()) for s in searches]
        started = time.perf_counter()
        texts = list(dict.fromkeys(fact.text for search in searches for fact in search.gist))
        found = dict(zip(texts, self.base.retrieve(texts, depth, where) if texts else [], strict=True))
        each = (time.perf_counter() - started) / max(len(searches), 1)
        links: list[tuple[Sequence[Sequence[Passage]], Usage]] = []
        for search in searches:
            of_facts = [found[fact.text] for fact in search.gist]
            usage = replace(sum((evidence.usage for evidence in of_facts), Usage()), seconds=each)
            links.append(([[s.item for s in evidence.passages] for evidence in of_facts], usage))
        return links

    def _evidence(self, search: _Search, linked: Sequence[Sequence[Passage]], usage: Usage, k: int) -> Evidence:
        started = time.perf_counter()
        rankings = [*search.rankings, *linked]
        weights = [1.0, *[self.settings.later_weight] * (len(search.rankings) - 1)]
        weights += [self.settings.gist_weight] * len(linked)
        passages = weighted_rank_fusion(rankings, weights, self.expansion.settings.rank_constant)[:k]
        evidence = search.make_evidence(passages, search.paths, started)
        return replace(evidence, usage=evidence.usage + usage)


def _reader_input(search: _Search, passages: Sequence[Passage], where: Filter | None) -> ReaderInput:
    return ReaderInput(search.question, tuple(passages), tuple(search.gist), tuple(search.queries), where=where)


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
