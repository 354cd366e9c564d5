"""The turns that wait for a commit, and the removals that are under way: on disk in a log, and in memory as it says."""

import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Condition
from typing import final

from clew.errors import InputError
from clew.memory.log import Record, TurnLog
from clew.memory.turns import read_turn, turn_record
from clew.memory.waiting import WaitingTurn
from clew.types import Document, Filter


@final
@dataclass(frozen=True, slots=True)
class Removal:
    """Turns that are forgotten, and may be in the index still."""

    ids: tuple[str, ...]
    rest: Filter  # allows the passages that stay
    shred: bool  # whether their text goes from the disk, too

    @property
    def record(self) -> Record:
        """The removal as the log holds it."""
        return {"forget": list(self.ids), "rest": self.rest, "shred": self.shred}


@final
class MemoryState:
    """The content of the log of an index; each change is on disk when its call returns.

    `prepare` makes of turns what questions find. Errors of the constructor are those of `TurnLog`.

    Attributes:
        waiting: The turns by id, in their order; the mapping is never changed, but replaced.
        removals: The removals, in their order.
        since: When the first waiting turn came, in seconds of `time.monotonic`.
        changed: The lock of this object, which is told of each turn; held for milliseconds.
    """

    def __init__(self, folder: Path, prepare: Callable[[Sequence[Document]], list[WaitingTurn]]) -> None:
        self.changed = Condition()
        self.is_closed = False
        self.since = clock.monotonic()
        self.removals: tuple[Removal, ...] = ()
        self._log = TurnLog(folder)
        turns: dict[str, Document] = {}
        for record in self._log.records:
            if "turn" in record:
                turn = read_turn(record["turn"])
                turns[turn.id] = turn
            else:
                removal = Removal(tuple(record["forget"]), record["rest"], record["shred"])
                self.removals = (*self.removals, removal)
                turns = {id_: turn for id_, turn in turns.items() if id_ not in removal.ids}
        self.waiting: Mapping[str, WaitingTurn] = dict(zip(turns, prepare(list(turns.values())), strict=True))

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the lock; an InputError where the memory is closed."""
        with self.changed:
            if self.is_closed:
                raise InputError("this memory is closed: open it again by clew.Memory")
            yield

    def add(self, turn: WaitingTurn) -> None:
        """Store a turn; to be called with the lock held."""
        self._log.append({"turn": turn_record(turn.document)})
        self.since = self.since if self.waiting else clock.monotonic()
        self.waiting = {**self.waiting, turn.document.id: turn}
        self.changed.notify_all()

    def remove(self, removal: Removal) -> None:
        """Store that turns are forgotten, and drop those that wait; to be called with the lock held."""
        self._log.append(removal.record)
        self.removals = (*self.removals, removal)
        self._drop(removal.ids)

    def settle(self, merged: Iterable[str], removals: Sequence[Removal]) -> None:
        """Drop turns that the index has, and removals that are done, from the log and from memory."""
        with self.changed:
            self._drop(merged)
            self.removals = tuple(removal for removal in self.removals if removal not in removals)
            self.since = clock.monotonic()
            turns = [{"turn": turn_record(turn.document)} for turn in self.waiting.values()]
            self._log.replace([*turns, *(removal.record for removal in self.removals)])

    def end(self) -> None:
        """Take no more turns and removals."""
        with self.changed:
            self.is_closed = True
            self.changed.notify_all()

    def close(self) -> None:
        """Let the log go."""
        self._log.close()

    def _drop(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        self.waiting = {id_: turn for id_, turn in self.waiting.items() if id_ not in gone}
