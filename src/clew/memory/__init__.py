"""A memory for assistants: turns of conversations are stored in milliseconds, and found by the next question.

A turn is a document of an index. It waits in a log on disk and in memory, where questions find it, until a thread adds
all that wait in one commit; so no turn and no question waits for the making of a version.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import date
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

from clew.errors import IndexLockedError, InputError
from clew.index import Index, create
from clew.index import open as open_index
from clew.indexing.chunking import Chunker
from clew.memory.merging import MergeLimits, Merger
from clew.memory.recalling import (
    RecallRequest,
    document_ids,
    fit_filter,
    has_fields,
    recall_turns,
    select_turns,
    stored_passages,
)
from clew.memory.state import MemoryState, Removal
from clew.memory.turns import TIME, all_of, conditions_of, exclude, make_turn
from clew.memory.versions import SharedVersion
from clew.memory.waiting import WaitingTurn, prepare_turns
from clew.plugins.arguments import check_count, check_switch
from clew.plugins.records import SettingsRecord
from clew.settings import Settings
from clew.store.dataset import open_dataset
from clew.store.location import locate
from clew.types import AUTO_RETRIEVER, Answer, Evidence, Filter, Passage

if TYPE_CHECKING:
    from clew.answering.selection import ModelSpec

_WARM_QUESTIONS = 16  # one a filter, that a new version is asked before it answers


class Memory:
    """Turns of the conversations of users, in one index; it may be used from several threads.

    It is the only memory over its index on this machine until it is closed: use it with `with`, or call `close`. Turns
    that are not merged by then are on disk, and merged when it is opened again.

    Args:
        location: A folder, or an object-store URI, whose log lies in this machine's cache folder; an index is made
            where there is none.
        settings: Of a new index; None for those of the environment and `clew.toml`.
        merge_turns: Number of waiting turns that are merged at once.
        merge_seconds: Seconds after which fewer are merged.
        open_version: Opens the newest version at a location; None for `clew.open`.
        on_commit: Called when a newer version answers.

    Raises:
        IndexFormatError: The index or the log is damaged.
        IndexLockedError: Another memory is open over the index; or removals that were begun wait for another writer.
        ProviderError: A disk, or the encoder's weights, failed.
    """

    def __init__(
        self,
        location: str | Path,
        settings: Settings | None = None,
        *,
        merge_turns: int = 256,
        merge_seconds: float = 60.0,
        open_version: Callable[[], Index] | None = None,
        on_commit: Callable[[], None] = lambda: None,
    ) -> None:
        check_count(merge_turns, "merge_turns", least=1)
        if open_dataset(locate(location)) is None:
            create(location, settings).close()
        with ExitStack() as opened:
            index = open_index(location) if open_version is None else open_version()
            opened.callback(index.close)
            encoder = index.context.index_encoder
            open_newest = open_version or partial(open_index, location, encoder=encoder)
            table = index.table.settings
            chunker = Chunker.from_settings(table)
            sentences = index.table.has_sentence_vectors
            self._prepare = partial(prepare_turns, chunker=chunker, encoder=encoder, sentences=sentences)
            self._state = MemoryState(locate(location).derived.parent, self._prepare)
            opened.callback(self._state.close)
            opened.pop_all()
        self._versions = SharedVersion(index)
        self._closing, self._is_closed = Lock(), False
        self._recent: dict[Filter | None, RecallRequest] = {}
        limits = MergeLimits(merge_turns, merge_seconds)
        recent = self._recent_requests
        self._merger = Merger(self._state, self._versions, open_newest, limits, on_commit, recent)
        with ExitStack() as opened:
            opened.callback(self._let_go)
            if self._state.removals:  # before anything is recalled
                self._merger.settle_when_free()
            with self._versions.lease() as index:
                self._merger.warm(index)
            opened.pop_all()
        self._merger.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def waiting(self) -> int:
        """The number of turns that no version of the index has yet."""
        return len(self._state.waiting)

    def remember(
        self,
        text: str,
        *,
        user: str = "",
        session: str = "",
        speaker: str = "",
        time: str | date | None = None,
        id: str | None = None,  # noqa: A002
    ) -> str:
        """Store a turn and return its id; when this returns it is on disk, and the next question finds it.

        Args:
            text: Any text that is not empty.
            user: Whose memory it belongs to, "" for nobody's.
            session: The conversation, "" for none.
            speaker: Who says it; it is the title, else the user.
            time: When it was said: a datetime, a date, or text in ISO 8601, in UTC unless it says otherwise; None for
                now.
            id: Of the turn; None for a new one. What is stored already with this id and the same text, user, session
                and speaker is left as it is.

        Raises:
            InputError: The text is empty, a time or name cannot be used, or another turn or document has the id.
            ProviderError: The disk failed; nothing was stored.
        """
        turn = make_turn(text, user, session, speaker, time, id)
        (prepared,) = self._prepare([turn])
        with self._state.changing():
            if id is None or not self._is_stored(prepared):
                self._state.add(prepared)
        return turn.id

    def recall(
        self,
        question: str,
        *,
        user: str = "",
        session: str = "",
        as_of: str | date | None = None,
        where: Filter | None = None,
        k: int = 5,
        retriever: str | SettingsRecord = AUTO_RETRIEVER,
    ) -> Evidence:
        """Return what was said that bears on a question.

        Args:
            question: Any string.
            user: Only turns of this user, "" for all; what others said is hidden as by a filter (docs/security.md).
            session: Only turns of this session, "" for all.
            as_of: Only turns of this time or before, as `time` of `remember`, or a month or year; a day, month or year
                counts to its end. None for all.
            where: A filter that turns have to meet besides.
            k: Passages, at most.
            retriever: Name or settings of the retriever of merged turns.

        Raises:
            InputError: A time, filter or retriever cannot be used, or `k` is below 1.
        """
        return self.find(RecallRequest.select(question, user, session, as_of, where, k, retriever))

    def find(self, request: RecallRequest) -> Evidence:
        """Return what `recall` does."""
        with self._recalling(request) as (_, found):
            return found

    def answer(
        self,
        question: str,
        *,
        user: str = "",
        session: str = "",
        as_of: str | date | None = None,
        where: Filter | None = None,
        k: int = 5,
        retriever: str | SettingsRecord = AUTO_RETRIEVER,
        model: "ModelSpec" = "",
    ) -> Answer:
        """Return an answer from what was said; the arguments are those of `recall`, the model is as in `Index.ask`."""
        request = RecallRequest.select(question, user, session, as_of, where, k, retriever)
        with self._recalling(request) as (index, found):
            answerer = index.answerer(model, retriever, where=fit_filter(index, request.full_filter))
            return answerer.answer([question], [found])[0]

    def forget(self, *, user: str = "", session: str = "", id: str = "", shred: bool = False) -> int:  # noqa: A002
        """Remove the turns of a user, of a session, or of an id, and return their number; of those given, all must fit.

        No result has them from now on, and the index has not when this returns, which takes seconds in a large one.
        Documents that were added otherwise go, too, where their metadata say so.

        Args:
            user: The user, "" for any.
            session: The session, "" for any.
            id: The id, "" for any.
            shred: Whether their text goes from the disk, too, as by `Index.remove`.

        Raises:
            InputError: Nothing was named.
            IndexLockedError: Another process is writing, or is reading an older version. What was forgotten is hidden
                all the same, and removed when that has ended.
            ProviderError: The disk failed; if it is not said that nothing was stored, the same holds.
        """
        check_switch(shred, "shred")
        given = {"user": user, "session": session, "document_id": id}
        where = all_of(*conditions_of(**given))
        if where is None:
            raise InputError("nothing is named: give the user, the session or the id whose turns are to be forgotten")
        with self._state.changing():
            ids = [turn.document.id for turn in select_turns(self._state.waiting, where)]
            with self._versions.lease() as index:  # after those that wait, which may be merged meanwhile
                ids = list(dict.fromkeys([*ids, *document_ids(index, where)]))
            if not ids:
                return 0
            self._state.remove(Removal(tuple(ids), exclude(**given), shred))
        self._merger.settle_when_free()
        return len(ids)

    def has_fields(self, where: Filter) -> bool:
        """Return whether each field of a filter is one of turns, or something that is remembered has it."""
        waiting = self._state.waiting
        with self._versions.lease() as index:
            return has_fields(index, waiting, where)

    def merge(self) -> int:
        """Add all turns that wait to the index now, and return their number.

        Raises IndexLockedError where another process is writing.
        """
        return self._merger.settle()

    def close(self, *, merge: bool = True) -> None:
        """Let the index and the log go; without `merge`, turns that wait are left to the next memory."""
        with self._closing:
            if self._is_closed:
                return
            self._is_closed = True
        self._merger.end()
        with ExitStack() as opened:
            opened.callback(self._let_go)
            with suppress(IndexLockedError):  # they are on disk
                if merge:
                    self._merger.settle()

    def _recent_requests(self) -> list[RecallRequest]:
        return list(self._recent.values())

    def _let_go(self) -> None:
        self._state.close()
        self._versions.close()

    def _is_stored(self, turn: WaitingTurn) -> bool:
        """Return whether a turn is stored already; an InputError where another one has its id."""
        id_ = turn.document.id
        if any(id_ in removal.ids for removal in self._state.removals):
            raise InputError(f"the turn {id_!r} is being forgotten: give another id, or try again when it is")
        waiting = self._state.waiting.get(id_)
        with self._versions.lease() as index:
            stored = tuple(stored_passages(index.snapshot, id_)) if waiting is None else waiting.passages
        if stored and _describe(stored) != _describe(turn.passages):
            raise InputError(f"another turn or document has the id {id_!r}: give another one, or forget it before")
        return bool(stored)

    @contextmanager
    def _recalling(self, request: RecallRequest) -> Iterator[tuple[Index, Evidence]]:
        """Yield what is found, and the version that it was found in."""
        with self._state.changing():
            waiting = self._state.waiting
            rest = {where: asked for where, asked in self._recent.items() if where != request.full_filter}
            self._recent = dict([*rest.items(), (request.full_filter, request)][-_WARM_QUESTIONS:])
        with self._versions.lease() as index:
            yield index, recall_turns(index, waiting, self._state.removals, request)


def _describe(passages: Sequence[Passage]) -> list[tuple[object, ...]]:
    """Return what makes passages the same, whenever they were said."""
    return [(p.title, p.text, {key: value for key, value in p.metadata.items() if key != TIME}) for p in passages]
