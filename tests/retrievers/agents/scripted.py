"""A reader with scripted replies that records its calls."""

from collections.abc import Mapping, Sequence

from clew.types import ExtractedFacts, Fact, ReaderInput, SufficiencyDecision, Thought, Usage

SPENT = "the budget of 3 calls is spent"
COST = Usage(calls=1, input_tokens=100, output_tokens=10)


class ScriptedReader:
    """Replies with facts by query, and with the next query of each query.

    Args:
        facts: Of each query.
        next_queries: The query after each; what has none is enough.
        max_calls: Answers given before the budget is spent.
    """

    name = fingerprint = "scripted"

    def __init__(
        self, facts: Mapping[str, Sequence[Fact]], next_queries: Mapping[str, str], max_calls: int = 10**6
    ) -> None:
        self.calls: list[tuple[str, ReaderInput]] = []
        self._facts = facts
        self._next_queries = next_queries
        self._max_calls = max_calls

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        if self._is_budget_spent("read", inputs):
            return [ExtractedFacts(stop_reason=SPENT) for _ in inputs]
        return [ExtractedFacts(tuple(self._facts.get(reader_input.queries[-1], ())), COST) for reader_input in inputs]

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        if self._is_budget_spent("judge", inputs):
            return [SufficiencyDecision(enough=False, stop_reason=SPENT) for _ in inputs]
        following = [self._next_queries.get(reader_input.queries[-1], "") for reader_input in inputs]
        return [
            SufficiencyDecision(not query, f"then {query}" if query else "known", query, COST) for query in following
        ]

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        if self._is_budget_spent("think", inputs):
            return [Thought("", stop_reason=SPENT) for _ in inputs]
        last = [(reader_input.question, *reader_input.thoughts)[-1] for reader_input in inputs]
        thoughts = [self._next_queries.get(text, "") for text in last]
        return [Thought(thought, answered=not thought, usage=COST) for thought in thoughts]

    def _is_budget_spent(self, what: str, asked: Sequence[ReaderInput]) -> bool:
        if len(self.calls) >= self._max_calls:
            return True
        self.calls += [(what, reader_input) for reader_input in asked]
        return False
