"""Limits of time as a filter: what is later is not seen, inside the walk, as whatever a filter leaves out.

Source: none.
"""

from dataclasses import dataclass, replace

from clew.errors import InputError
from clew.text.times import read_time
from clew.types import FIRST_DAY, LAST_DAY, Evidence, Filter, Scored, SentenceChain


@dataclass(frozen=True, slots=True)
class TimeLimits:
    """Days, months or years as people write them, "" for none.

    Attributes:
        as_of: Nothing later is seen; passages without a time are.
        since: Passages of earlier times, and those without one, are not seen.
        until: Passages of later times, and those without one, are not seen.
    """

    as_of: str = ""
    since: str = ""
    until: str = ""

    @property
    def day(self) -> str:
        """The last day of `as_of`, ISO 8601; "" without. Raises InputError where it is no date."""
        return _read("as-of", self.as_of)[1] or LAST_DAY if self.as_of else ""

    def restrict(self, where: Filter | None) -> Filter | None:
        """Return a filter of the passages that another one allows and that lie within the limits.

        Raises InputError where a limit is no date, or the first is after the last.
        """
        parts = [] if where is None else [f"({where})"]
        if self.as_of:
            parts.append(f"(dated_from IS NULL OR dated_from <= '{self.day}')")
        first = _read("from", self.since)[0] or FIRST_DAY if self.since else ""
        last = _read("to", self.until)[1] or LAST_DAY if self.until else ""
        if first and last and first > last:
            raise InputError(f"from {self.since!r} is after to {self.until!r}: give the earlier one first")
        parts += [f"dated_to >= '{first}'"] if first else []
        parts += [f"dated_from <= '{last}'"] if last else []
        return " AND ".join(parts) if self.as_of or self.since or self.until else where

    def mark(self, evidence: Evidence) -> Evidence:
        """Return evidence that was searched for within the limits, without chains that say what held at no such day."""
        day = self.day
        if not day:
            return evidence
        chains = tuple(chain for chain in evidence.chains if _holds(chain, day))
        undated = sum(scored.item.time is None for scored in evidence.passages)
        note = f"as of {day}: {undated} of the passages found state no time, and are seen as of any day"
        return replace(evidence, chains=chains, as_of=day, notes=(*evidence.notes, *((note,) if undated else ())))


NO_LIMITS = TimeLimits()


def _read(name: str, text: str) -> tuple[str, str]:
    found = read_time(text)
    if found is None:
        raise InputError(f"{name} is {text[:80]!r}, which is no date: give a day such as 2024-03-05, a month or a year")
    return found.days


def _holds(chain: Scored[SentenceChain], day: str) -> bool:
    times = (quote.time for quote in chain.item.sentences)
    return all(time is None or time.source != "text" or time.holds_on(day) for time in times)
