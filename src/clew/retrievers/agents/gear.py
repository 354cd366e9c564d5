"""GeAR: a base retriever, graph expansion and a gist memory, in steps until what was read is enough.

Source: Shen et al., "GeAR: Graph-enhanced Agent for Retrieval-augmented Generation" (2024).
Differs from the source: all questions take their steps together, so that a language model is asked for many at once;
a step that finds nothing new ends a search; later steps and noted triples may weigh less (`GearSettings`).
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.protocols import AgentReader, Retriever, fingerprint_of
from clew.retrievers.agents.steps import MAX_PATHS, BudgetedReader, best_paths, format_step
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
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

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class GearSettings:
    """How the agent goes.

    Attributes:
        steps: At most.
        expand: Whether passages are looked for along triples.
        gist: Whether the memory's triples bring passages to the final ranking.
        max_facts: Facts of the base's passages that a step adds to the memory, at most.
        max_expanded_facts: Facts of further passages, which expansion led to, that it adds, at most.
        later_read_depth: Passages that are read after the first step, whose head is what the query asked for.
        later_weight: What the ranking of each later step weighs against the first step's; 1 as published.
        gist_weight: What the passages of one noted triple weigh in the final ranking; 1 as published.
    """

    steps: int = 4
    expand: bool = True
    gist: bool = True
    max_facts: int = 4
    max_expanded_facts: int = 2
    later_read_depth: int = 3
    later_weight: float = 1.0
    gist_weight: float = 0.1


@dataclass(slots=True)
class _Search:
    """One question under way."""

    question: str
    vector: "FloatArray"
    queries: list[str]
    rankings: list[list[Passage]] = field(default_factory=list)
    gist: list[Fact] = field(default_factory=list)
    paths: list[Scored[Path]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    steps: list[AgentStep] = field(default_factory=list)
    done: bool = False


class GearAgent:
    """Searches in steps.

    Args:
        base: Any retriever.
        expansion: Of the same index.
        reader: Reads, judges and rewrites.
        settings: How.

    Attributes:
        fingerprint: What tells its rankings from those of other readers and bases.
    """

    def __init__(self, base: Retriever, expansion: GraphExpansion, reader: AgentReader, settings: GearSettings) -> None:
        self.fingerprint = fingerprint_of(base, reader)
        self._base = base
        self._expansion = expansion
        self._reader = reader
        self._settings = settings

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, the beams as paths and every step."""
        check_k(k)
        allowed = self._expansion.scope.mask(where)
        asked = [question for question in questions if question.strip()]
        vectors = self._expansion.encode_questions(asked) if asked else np.zeros((0, 1), dtype=np.float32)
        searches = [_Search(question, vector, [question]) for question, vector in zip(asked, vectors, strict=True)]
        budget = BudgetedReader()
        for _ in range(self._settings.steps):
            active = [search for search in searches if not search.done]
            if not active or budget.stop_reason:
                break
            self._step(active, max(k, FUSION_DEPTH), where, allowed, budget)
        made = iter(self._evidence(search, k, allowed) for search in searches)
        empty = make_evidence((), (), (EMPTY_QUESTION,), time.perf_counter())
        return [next(made) if question.strip() else empty for question in questions]

    def _step(
        self, active: Sequence[_Search], depth: int, where: Filter | None, allowed: "BoolArray", budget: BudgetedReader
    ) -> None:
        started = time.perf_counter()
        bases = self._base.retrieve([search.queries[-1] for search in active], depth, where)
        read = self._settings.later_read_depth if active[0].steps else self._expansion.settings.read_depth
        firsts = [tuple(s.item for s in base.passages) for base in bases]
        shown = [_reader_input(search, first[:read]) for search, first in zip(active, firsts, strict=True)]
        readings = budget.ask(self._reader.read, shown, ExtractedFacts())
        facts = self._expansion.link_facts([reading.facts for reading in readings], allowed)
        linked = [linked_triples(some) for some in facts]
        expanded = [
            self._expansion.expand(search.vector, starts, allowed) if self._settings.expand else ExpansionResult((), ())
            for search, starts in zip(active, linked, strict=True)
        ]
        rankings = [
            [s.item for s in self._expansion.fuse(first, more)] for first, more in zip(firsts, expanded, strict=True)
        ]
        further = [
            self._unread_passages(more, sought.passages)[:read] for more, sought in zip(expanded, shown, strict=True)
        ]
        along = budget.ask(
            self._reader.read,
            [_reader_input(search, f) for search, f in zip(active, further, strict=True)],
            ExtractedFacts(),
        )
        facts_along = self._expansion.link_facts([reading.facts for reading in along], allowed)
        fresh = [
            self._add_to_gist(search, first, second)
            for search, first, second in zip(active, facts, facts_along, strict=True)
        ]
        judged = [_reader_input(search, ranking[:read]) for search, ranking in zip(active, rankings, strict=True)]
        verdicts = budget.ask(self._reader.judge, judged, SufficiencyDecision(enough=False))
        each = (time.perf_counter() - started) / len(active)
        for place, search in enumerate(active):
            used = replace(readings[place].usage + along[place].usage + verdicts[place].usage, seconds=each)
            step = AgentStep(
                search.queries[-1],
                tuple(fact.text for fact in readings[place].facts),
                tuple(self._expansion.triple_text(triple) for triple in linked[place]),
                _new_passages(search, rankings[place]),
                tuple(fact.text for fact in fresh[place]),
                usage=used + replace(bases[place].usage, seconds=0.0),
            )
            read_twice = (*readings[place].notes, *along[place].notes)
            search.notes += [*bases[place].notes, *read_twice, *verdicts[place].notes]
            search.paths += expanded[place].paths
            search.rankings.append(rankings[place])
            _decide(search, step, verdicts[place], budget)

    def _unread_passages(self, expanded: ExpansionResult, shown: Sequence[Passage]) -> tuple[Passage, ...]:
        """Return the passages that expansion led to and that were not shown: nothing is read twice in a step."""
        known = {passage.id for passage in shown}
        passages = map(self._expansion.scope.snapshot.passage, expanded.passages)
        return tuple(passage for passage in passages if passage.id not in known)

    def _add_to_gist(self, search: _Search, first: Sequence[Fact], along: Sequence[Fact]) -> list[Fact]:
        """Add the best facts of both readings that are not in the memory yet."""
        added: list[Fact] = []
        for facts, most in ((first, self._settings.max_facts), (along, self._settings.max_expanded_facts)):
            known = {fact.text for fact in [*search.gist, *added]}
            added += list({fact.text: fact for fact in facts if fact.text not in known}.values())[:most]
        search.gist += added
        return added

    def _evidence(self, search: _Search, k: int, allowed: "BoolArray") -> Evidence:
        started = time.perf_counter()
        rankings: list[Sequence[Passage]] = list(search.rankings)
        settings = self._expansion.settings
        weights = [1.0, *[self._settings.later_weight] * (len(rankings) - 1)]
        if self._settings.gist:
            noted = linked_triples(search.gist)
            rankings += [self._expansion.passages_stating(triple, allowed) for triple in noted]
            weights += [self._settings.gist_weight] * len(noted)
        passages = weighted_rank_fusion(rankings, weights, settings.rank_constant)[:k]
        paths = best_paths(search.paths)
        usage = sum((step.usage for step in search.steps), Usage())
        spent = replace(usage, seconds=usage.seconds + time.perf_counter() - started)
        notes = [*dict.fromkeys(search.notes), *map(format_step, range(1, len(search.steps) + 1), search.steps)]
        return Evidence(tuple(passages), tuple(paths), tuple(notes), spent, tuple(search.steps))


def _reader_input(search: _Search, passages: Sequence[Passage]) -> ReaderInput:
    return ReaderInput(search.question, tuple(passages), tuple(search.gist), tuple(search.queries))


def _new_passages(search: _Search, ranking: Sequence[Passage]) -> tuple[str, ...]:
    """Return the ids among the first of a ranking that were among the first of none before."""
    known = {passage.id for before in search.rankings for passage in before[:MAX_PATHS]}
    return tuple(passage.id for passage in ranking[:MAX_PATHS] if passage.id not in known)


def _decide(search: _Search, step: AgentStep, verdict: SufficiencyDecision, budget: BudgetedReader) -> None:
    """End a search, or give it its next query."""
    if budget.stop_reason:
        why = budget.stop_reason
    elif verdict.enough:
        why = "enough"
    elif search.steps and not step.new and not step.gist:
        why = "stopped: the step added nothing"
    elif not verdict.query or verdict.query in search.queries:
        why = "stopped: no new query"
    else:
        why = "go on"
        search.queries.append(verdict.query)
    search.done = why != "go on"
    search.steps.append(replace(step, verdict=why, reasoning=verdict.reasoning))
