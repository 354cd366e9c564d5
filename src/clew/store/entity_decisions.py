"""Decisions of people on entities, as rows of the passages table: shards of a graph of their own, one each.

They are thus committed, verified, repaired, restored and copied as shards of imported graphs are. A row is never
changed: to undo a decision is one more row, so that the rows are a record of all that was decided.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

from clew.errors import IndexFormatError
from clew.store.kg_shards import DECISION_GRAPH, DECISION_SHARD, KGShard, shards_to_table
from clew.store.passage_table import PassageTable

MERGE, SPLIT, RENAME, FORGET, UNDO = "merge", "split", "rename", "forget", "undo"
_ACTIONS = (MERGE, SPLIT, RENAME, FORGET, UNDO)
_NAME, _NEW_NAME, _DOCUMENT, _PASSAGE, _FORM, _NUMBER = "name", "new name", "document", "passage", "form", "number"


@final
@dataclass(frozen=True, slots=True)
class EntityDecision:
    """A decision of a person on entities of an index."""

    number: int  # from 1, in the order of the decisions
    action: str  # `MERGE`, `SPLIT`, `RENAME`, `FORGET` or `UNDO`
    names: tuple[str, ...] = ()  # the entities that are merged; the one that is split, renamed or forgotten
    new_name: str = ""  # of what is merged, split off or renamed
    documents: tuple[str, ...] = ()  # ids of documents, whose mentions are split off
    passages: tuple[str, ...] = ()  # ids of passages, whose mentions are split off
    form: str = ""  # the name as passages write it, whose mentions are split off
    target: int = 0  # number of the decision that is undone
    time: str = ""  # of the decision, ISO 8601 in UTC; "" where it is not known

    def to_json(self) -> dict[str, Any]:
        """Return the fields that say something, as `clew entities import` reads them."""
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items() if v}

    def describe(self) -> str:
        """Return what is decided, as a sentence without a verb of time: `merge 'A' and 'B' as 'A'`."""
        names = " and ".join(map(repr, self.names))
        if self.action == UNDO:
            return f"undo decision {self.target}"
        if self.action == FORGET:
            return f"forget {names}"
        if self.action == SPLIT:
            form = [f"written {self.form!r}"] if self.form else []
            places = [*_count(self.documents, "document"), *_count(self.passages, "passage"), *form]
            return f"split {self.new_name!r} from {names}: {', '.join(places)}"
        return f"{self.action} {names} as {self.new_name!r}"

    def to_triples(self) -> tuple[tuple[str, str, str], ...]:
        """Return the decision as the triples of its row, (action, field, value), without its number and time."""
        fields: list[tuple[str, Sequence[str]]] = [
            (_NAME, self.names),
            (_NEW_NAME, (self.new_name,) if self.new_name else ()),
            (_DOCUMENT, self.documents),
            (_PASSAGE, self.passages),
            (_FORM, (self.form,) if self.form else ()),
            (_NUMBER, (str(self.target),) if self.target else ()),
        ]
        return tuple((self.action, field, value) for field, values in fields for value in values)


def append_decisions(table: PassageTable, decisions: Sequence[EntityDecision]) -> None:
    """Add decisions to a table opened under the writer lock, in one commit; errors are those of `PassageTable.replace`.

    Their numbers follow the largest that is stored (see `next_number`); one of a number that is stored replaces that.
    """
    if not decisions:
        return
    shards = [
        KGShard(DECISION_GRAPH, d.number, DECISION_SHARD, d.to_triples(), {"time": d.time} if d.time else {})
        for d in decisions
    ]
    rows = shards_to_table(
        shards, [shard.hash() for shard in shards], table.dimension, sentences=table.has_sentence_vectors
    )
    table.replace(rows, [shard.id for shard in shards])


def read_decisions(table: PassageTable) -> list[EntityDecision]:
    """Return the decisions of a version by their numbers; a row that is no decision is an IndexFormatError."""
    rows = table.read_graph(DECISION_GRAPH)
    columns = (rows[name].to_pylist() for name in ("id", "metadata", "triples"))
    return sorted((_read_decision(*row) for row in zip(*columns, strict=True)), key=lambda decision: decision.number)


def decision_ids(numbers: Iterable[int]) -> list[str]:
    """Return the ids of the rows of decisions."""
    return [KGShard(DECISION_GRAPH, number, DECISION_SHARD, ()).id for number in numbers]


def next_number(decisions: Sequence[EntityDecision]) -> int:
    """Return the number of the decision after some."""
    return max((decision.number for decision in decisions), default=0) + 1


def undone_numbers(decisions: Sequence[EntityDecision]) -> frozenset[int]:
    """Return the numbers of the decisions that others undo; to undo an undoing puts its decision in force again."""
    undone: set[int] = set()
    for decision in sorted(decisions, key=lambda decision: -decision.number):
        if decision.action == UNDO and decision.number not in undone:
            undone.add(decision.target)
    return frozenset(undone)


def effective_decisions(decisions: Sequence[EntityDecision]) -> list[EntityDecision]:
    """Return the decisions that are in force, in order, without those that only undo others."""
    undone = undone_numbers(decisions)
    return [d for d in decisions if d.action != UNDO and d.number not in undone]


def given_names(table: PassageTable) -> list[str]:
    """Return the names that decisions in force give to entities."""
    return [decision.new_name for decision in effective_decisions(read_decisions(table)) if decision.new_name]


def _count(ids: Sequence[str], noun: str) -> list[str]:
    if not ids:
        return []
    return [f"{noun} {ids[0]!r}" if len(ids) == 1 else f"{len(ids)} {noun}s"]


def _read_decision(id_: str, metadata: str, triples: Sequence[dict[str, str]]) -> EntityDecision:
    actions = {triple["head"] for triple in triples}
    number = id_.rpartition("#")[2]
    if len(actions) != 1 or not actions <= set(_ACTIONS) or not number.isdecimal():
        raise IndexFormatError(f"the row {id_!r} is no decision on entities: run `clew verify`")

    def values(field: str) -> tuple[str, ...]:
        return tuple(triple["tail"] for triple in triples if triple["relation"] == field)

    target = "".join(values(_NUMBER)[:1])
    return EntityDecision(
        number=int(number),
        action=actions.pop(),
        names=values(_NAME),
        new_name="".join(values(_NEW_NAME)[:1]),
        documents=values(_DOCUMENT),
        passages=values(_PASSAGE),
        form="".join(values(_FORM)[:1]),
        target=int(target) if target.isdecimal() else 0,
        time=str(json.loads(metadata).get("time", "")),
    )
