"""A reader that says what a test wrote down, and keeps what it was asked."""

from collections.abc import Mapping, Sequence

from clew.types import Fact, Reading, Sought, Thought, Usage, Verdict

SPENT = "the budget of 3 calls is spent"
COST = Usage(calls=1, input_tokens=100, output_tokens=10)


class Scripted:
    """Reads facts by query, and goes from query to query.

    Args:
        facts: Of each query.
        following: The query after each; what has none is enough.
        calls: Answers given before the budget is spent.
    """

    name = fingerprint = "scripted"

    def __init__(self, facts: Mapping[str, Sequence[Fact]], following: Mapping[str, str], calls: int = 10**6) -> None:
        self.asked: list[tuple[str, Sought]] = []
        self._facts = facts
        self._following = following
        self._calls = calls

    def read(self, asked: Sequence[Sought]) -> list[Reading]:
        if self._spent("read", asked):
            return [Reading(stopped=SPENT) for _ in asked]
        return [Reading(tuple(self._facts.get(sought.queries[-1], ())), COST) for sought in asked]

    def judge(self, asked: Sequence[Sought]) -> list[Verdict]:
        if self._spent("judge", asked):
            return [Verdict(enough=False, stopped=SPENT) for _ in asked]
        following = [self._following.get(sought.queries[-1], "") for sought in asked]
        return [Verdict(not query, f"then {query}" if query else "known", query, COST) for query in following]

    def think(self, asked: Sequence[Sought]) -> list[Thought]:
        if self._spent("think", asked):
            return [Thought("", stopped=SPENT) for _ in asked]
        last = [(sought.question, *sought.thoughts)[-1] for sought in asked]
        thoughts = [self._following.get(text, "") for text in last]
        return [Thought(thought, answered=not thought, usage=COST) for thought in thoughts]

    def _spent(self, what: str, asked: Sequence[Sought]) -> bool:
        if len(self.asked) >= self._calls:
            return True
        self.asked += [(what, sought) for sought in asked]
        return False
