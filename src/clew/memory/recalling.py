"""One question to a version of an index and to the turns that it has not yet."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Self, final

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.index import Index
from clew.memory.state import Removal
from clew.memory.turns import FIELDS, all_of, conditions_of, limit_time
from clew.memory.waiting import Relevance, TurnColumns, WaitingTurn, insert_turns
from clew.plugins.arguments import check_count, check_string
from clew.plugins.records import SettingsRecord
from clew.query.filters import parse_filter
from clew.query.time_limits import NO_LIMITS, TimeLimits
from clew.types import AUTO_RETRIEVER, Evidence, Filter, Passage

NOTHING_FOUND = "nothing is remembered of this user, session and time"
_NO_PASSAGE = "id IS NULL"


@final
@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question and the turns that it is about."""

    question: str
    where: Filter | None = None
    k: int = 5
    retriever: str | SettingsRecord = AUTO_RETRIEVER
    times: TimeLimits = NO_LIMITS

    @classmethod
    def select(
        cls,
        question: str,
        user: str = "",
        session: str = "",
        as_of: str | date | None = None,
        where: Filter | None = None,
        k: int = 5,
        retriever: str | SettingsRecord = AUTO_RETRIEVER,
    ) -> Self:
        """Return the question about the turns that fit all that is given, as of `Memory.recall`, with its errors."""
        check_string(question, "question")
        check_string(where, "where", optional=True)
        check_count(k, "k", least=1)
        if where is not None:
            parse_filter(where)  # by itself, so that it closes no bracket
        times, moment = limit_time(as_of)
        wanted = all_of(*conditions_of(user=user, session=session), moment, where)
        return cls(question, wanted, k, retriever, times)

    @property
    def full_filter(self) -> Filter | None:
        """The filter with the limits of time."""
        return self.times.restrict(self.where)


def recall_turns(
    index: Index, waiting: Mapping[str, WaitingTurn], removals: Sequence[Removal], request: RecallRequest
) -> Evidence:
    """Return the evidence of a version, with the turns that wait in their places; errors are those of `Memory.recall`.

    What waits has to be read before the version is leased: a turn that is merged meanwhile is then in both, never in
    none, and one that is in both is shown from the version.
    """
    turns = select_turns(waiting, request.full_filter)
    if request.where is not None and not has_fields(index, waiting, request.where):
        raise InputError(f"nothing that is remembered has some field of the filter {request.where!r}: correct its name")
    found = search_version(index, removals, request)
    if not turns:
        return found
    relevance = Relevance(request.question, index, turns)
    new = (each for each in relevance.score_turns() if not is_stored(index.snapshot, each.item.document_id))
    best = list(itertools.islice(new, request.k))
    if not best:
        return found
    scores = relevance.score_passages([scored.item for scored in found.passages])
    passages = insert_turns(found.passages, scores, best, request.k)
    return replace(found, passages=passages, notes=found.notes if found.passages else ())


def search_version(index: Index, removals: Sequence[Removal], request: RecallRequest) -> Evidence:
    """Return the evidence of a version alone, without what is being removed from it."""
    removing = (removal for removal in removals if any(is_stored(index.snapshot, id_) for id_ in removal.ids))
    parts = [removal.rest for removal in removing]  # shredding may go on; who was forgotten may say something new
    rest = [part for part in parts if fit_filter(index, part) == part]  # else it has nothing that is removed
    where = fit_filter(index, all_of(request.where, *rest))
    if len(index.context.scope) and not index.context.scope.mask(request.times.restrict(where)).any():
        return Evidence(notes=(NOTHING_FOUND,), as_of=request.times.day)
    return index.search(request.question, request.k, request.retriever, where, times=request.times)


def has_fields(index: Index, waiting: Mapping[str, WaitingTurn], where: Filter) -> bool:
    """Return whether each field of a filter is one of turns, or passages or waiting turns have it, if there are any."""
    has_passages = len(index.context.scope) > 0
    if (not has_passages and not waiting) or (has_passages and fit_filter(index, where) == where):
        return True
    return FIELDS.issuperset(parse_filter(where).unknown_fields(TurnColumns(list(waiting.values()))))


def fit_filter(index: Index, where: Filter | None) -> Filter | None:
    """Return a filter of a version's passages: where none of them has a field of it, one that allows none."""
    try:
        index.context.scope.mask(where)
    except InputError:
        return _NO_PASSAGE
    return where


def select_turns(waiting: Mapping[str, WaitingTurn], where: Filter | None) -> list[WaitingTurn]:
    """Return the turns that a filter allows; an InputError where it cannot be parsed."""
    turns = list(waiting.values())
    if where is None:
        return turns
    mask = parse_filter(where).mask(TurnColumns(turns))
    return [turn for turn, is_allowed in zip(turns, mask.tolist(), strict=True) if is_allowed]


def document_ids(index: Index, where: Filter | None) -> list[str]:
    """Return the ids of the documents with a passage that a filter allows."""
    allowed = index.context.scope.mask(fit_filter(index, where))
    return list(dict.fromkeys(index.snapshot.document_ids[int(position)] for position in np.flatnonzero(allowed)))


def is_stored(snapshot: Snapshot, turn_id: str) -> bool:
    """Return whether a version has a turn."""
    return next(stored_passages(snapshot, turn_id), None) is not None


def stored_passages(snapshot: Snapshot, turn_id: str) -> Iterator[Passage]:
    """Yield the passages of a turn in a version, in their order."""
    numbered = (f"{turn_id}#{number}" for number in itertools.count(1))
    for id_ in itertools.chain([turn_id], numbered):
        position = snapshot.position(id_)
        is_there = position < len(snapshot.passage_ids) and snapshot.passage_ids[position] == id_
        if is_there:
            yield snapshot.passage(position)
        if is_there == (id_ == turn_id):  # the whole in one passage, or no further part
            return
