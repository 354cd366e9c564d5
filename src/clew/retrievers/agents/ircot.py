"""IRCoT: retrieve, think a sentence, retrieve with that sentence, until a thought answers the question.

Source: Trivedi et al., "Interleaving Retrieval with Chain-of-Thought Reasoning" (2023), as GFM-RAG and HippoRAG use it.
Differs from the source: rankings of the steps are fused by reciprocal ranks (k = 60); all questions take their steps
together; a step that finds nothing new ends a search.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clew.protocols import AgentReader, Retriever, fingerprint_of
from clew.retrievers.agents.steps import MAX_PATHS, BudgetedReader, best_paths, format_step
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.retrievers.fused import FUSION_DEPTH, reciprocal_rank_fusion
from clew.types import AgentStep, Evidence, Filter, Passage, ReaderInput, Thought, Usage


@dataclass(slots=True)
class _Search:
    """One question under way."""

    question: str
    query: str
    thoughts: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    steps: list[AgentStep] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    done: bool = False


class IRCoTAgent:
    """Searches with one thought after the other.

    Args:
        base: Any retriever.
        reader: Thinks.
        steps: At most.
        read_depth: Passages that the reader sees: the best of all steps so far.

    Attributes:
        fingerprint: What tells its rankings from those of other readers and bases.
    """

    def __init__(self, base: Retriever, reader: AgentReader, steps: int = 4, read_depth: int = 10) -> None:
        self.fingerprint = fingerprint_of(base, reader)
        self._base = base
        self._reader = reader
        self._steps = steps
        self._read_depth = read_depth

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question and every step."""
        check_k(k)
        self._base.retrieve([], k, where)  # a filter that cannot be used is told even where nothing is asked
        searches = [_Search(question, question) for question in questions if question.strip()]
        budget = BudgetedReader()
        for _ in range(self._steps):
            active = [search for search in searches if not search.done]
            if not active or budget.stop_reason:
                break
            self._step(active, max(k, FUSION_DEPTH), where, budget)
        made = iter(_evidence(search, k) for search in searches)
        empty = make_evidence((), (), (EMPTY_QUESTION,), time.perf_counter())
        return [next(made) if question.strip() else empty for question in questions]

    def _step(self, active: Sequence[_Search], depth: int, where: Filter | None, budget: BudgetedReader) -> None:
        started = time.perf_counter()
        bases = self._base.retrieve([search.query for search in active], depth, where)
        fresh = [_new_passages(search, base) for search, base in zip(active, bases, strict=True)]
        for search, base in zip(active, bases, strict=True):
            search.evidence.append(base)
            search.notes += base.notes
        asked = [
            ReaderInput(
                search.question,
                tuple(_fuse_rankings(search)[: self._read_depth]),
                queries=tuple(step.query for step in search.steps),
                thoughts=tuple(search.thoughts),
            )
            for search in active
        ]
        thoughts = budget.ask(self._reader.think, asked, Thought(""))
        each = (time.perf_counter() - started) / len(active)
        for search, base, new, thought in zip(active, bases, fresh, thoughts, strict=True):
            used = replace(thought.usage + base.usage, seconds=each)
            search.notes += thought.notes
            _decide(search, AgentStep(search.query, new=new, usage=used), thought, budget)


def _decide(search: _Search, step: AgentStep, thought: Thought, budget: BudgetedReader) -> None:
    """End a search, or go on with its thought."""
    if budget.stop_reason:
        why = budget.stop_reason
    elif thought.answered:
        why = "enough"
    elif search.steps and not step.new:
        why = "stopped: the step added nothing"
    elif not thought.text or thought.text in search.thoughts:
        why = "stopped: no new thought"
    else:
        why = "go on"
        search.query = thought.text
        search.thoughts.append(thought.text)
    search.done = why != "go on"
    search.steps.append(replace(step, verdict=why, reasoning=thought.text))


def _new_passages(search: _Search, base: Evidence) -> tuple[str, ...]:
    known = {scored.item.id for before in search.evidence for scored in before.passages[:MAX_PATHS]}
    return tuple(scored.item.id for scored in base.passages[:MAX_PATHS] if scored.item.id not in known)


def _fuse_rankings(search: _Search) -> list[Passage]:
    rankings = [[scored.item for scored in evidence.passages] for evidence in search.evidence]
    return [scored.item for scored in reciprocal_rank_fusion(rankings)]


def _evidence(search: _Search, k: int) -> Evidence:
    started = time.perf_counter()
    rankings = [[scored.item for scored in evidence.passages] for evidence in search.evidence]
    passages = reciprocal_rank_fusion(rankings)[:k]
    paths = best_paths([path for evidence in search.evidence for path in evidence.paths])
    usage = sum((step.usage for step in search.steps), Usage())
    notes = [*dict.fromkeys(search.notes), *map(format_step, range(1, len(search.steps) + 1), search.steps)]
    spent = replace(usage, seconds=usage.seconds + time.perf_counter() - started)
    return Evidence(tuple(passages), tuple(paths), tuple(notes), spent, tuple(search.steps))
