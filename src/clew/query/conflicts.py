"""Statements that replaced or contradict others: different values of one relation of a subject, one at a time.

Whether a relation has one value at a time is learned from the corpus: of the subjects and times that it is stated of,
nearly all have one value; and it tells a state ("is", "works at"), or nearly all subjects have one value over all
times. The later statement replaces the earlier one; two of one time, or without, contradict each other.

Source: own rules. Differs from the source: nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from clew.query.scope import Scope
from clew.query.statements import Statement, read_statements
from clew.text.normalization import name_key
from clew.types import Citation, Filter, Time

_EXCEPTIONS = 0.1
"""Most of the subjects and times that may have several values, of a relation that has one at a time."""
_MIN_SUBJECTS = 5  # that tell of a relation which is no state

_Values = Mapping[str, Sequence[Statement]]  # the statements of each value, by the key of its name


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value that sentences state, from `first` on until another one was stated."""

    value: str
    first: str  # day of the first statement, ISO 8601; "" where none has a time
    until: str  # day on which it ended by its own words, or was replaced; "" for the last one, and for contradictions
    quotes: tuple[Citation, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Different values of one relation of a subject, the present one first."""

    subject: str
    relation: str  # as a sentence writes it
    values: tuple[StatedValue, ...]

    @property
    def is_contradiction(self) -> bool:
        """Whether two values are of one time, or of no known one."""
        return any(not value.until for value in self.values[1:])

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object."""
        return {**asdict(self), "contradiction": self.is_contradiction}


def find_conflicts(scope: Scope, where: Filter | None = None, as_of: str = "") -> list[Conflict]:
    """Return the conflicts of the passages that a filter allows, by subject and relation.

    Statements that had not begun by the day `as_of`, ISO 8601, are left out. It reads each of the passages. Raises
    InputError as `Scope.mask`.
    """
    snapshot = scope.snapshot
    statements = (
        statement
        for row in np.flatnonzero(scope.mask(where)).tolist()
        for statement in read_statements(snapshot.passage(row))
        if not as_of or statement.time is None or statement.time.holds_on(as_of)
    )
    return compare_statements(statements)


def compare_statements(statements: Iterable[Statement]) -> list[Conflict]:
    """Return the conflicts of statements."""
    relations: dict[tuple[str, ...], dict[str, dict[str, list[Statement]]]] = defaultdict(dict)
    for one in statements:
        relations[one.relation].setdefault(one.subject, {}).setdefault(name_key(one.value), []).append(one)
    found = [
        _describe(values)
        for subjects in relations.values()
        if _has_one_at_a_time(subjects)
        for values in map(_merge_forms, subjects.values())
        if len(values) > 1
    ]
    return sorted(found, key=lambda conflict: (conflict.subject, conflict.relation))


def _has_one_at_a_time(subjects: Mapping[str, _Values]) -> bool:
    """Return whether a relation has nearly always one value at a time, from the values of each subject.

    A single exception may be the conflict itself. Of statements without a time the values of a subject count.
    """
    several = total = 0
    for values in subjects.values():
        times = Counter(day for stated in values.values() for day in {_day(one.time) for one in stated} if day)
        several += sum(count > 1 for count in times.values())
        total += len(times)
    varied = sum(len(values) > 1 for values in subjects.values())
    if not all(one.is_state for values in subjects.values() for stated in values.values() for one in stated):
        return len(subjects) >= _MIN_SUBJECTS and varied <= _EXCEPTIONS * len(subjects)
    return several <= max(1, _EXCEPTIONS * total) if total else varied <= max(1, _EXCEPTIONS * len(subjects))


def _merge_forms(values: _Values) -> _Values:
    """Return values without those that are a longer form of another one, "Oslo, Norway" beside "Oslo"."""
    merged: dict[str, list[Statement]] = {}
    for key in sorted(values, key=len):
        known = next((other for other in merged if f" {other} " in f" {key} "), key)
        merged.setdefault(known, []).extend(values[key])
    return merged


def _describe(values: _Values) -> Conflict:
    """Return the conflict of the values of a subject; a value that was stated again later is the later one."""
    latest = {key: max(_day(one.time) for one in stated) for key, stated in values.items()}
    order = sorted(values, key=lambda key: latest[key], reverse=True)
    present = latest[order[0]]
    described = []
    for key in order:
        stated = sorted(values[key], key=lambda one: (_day(one.time), one.citation.passage_id, one.citation.start))
        replaced = "" if key == order[0] or not latest[key] or latest[key] == present else _next(latest, key)
        ended = [one.time.last for one in stated if one.time and one.time.is_range and _day(one.time) == latest[key]]
        if replaced and ended and min(ended):  # "from 1990 to 1998", before another one in 2003
            replaced = min(replaced, max(ended))
        first = _day(stated[0].time)
        described.append(StatedValue(stated[-1].value, first, replaced, tuple(one.citation for one in stated)))
    one = values[order[0]][0]
    return Conflict(one.subject_name, one.words, tuple(described))


def _next(latest: Mapping[str, str], key: str) -> str:
    """Return the first day on which another value than the one of a key was stated after it."""
    return min(day for day in latest.values() if day > latest[key])


def _day(time: Time | None) -> str:
    return "" if time is None else time.first or time.last
