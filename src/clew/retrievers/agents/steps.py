"""Steps of agents: a shared budget, the loop over steps, and the evidence of a search."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from clew.text.counts import format_count
from clew.types import (
    AgentStep,
    Evidence,
    ExtractedFacts,
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
