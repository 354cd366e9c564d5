"""`clew index --watch`: an index that follows a folder."""

import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from clew.commands.output import print_line, print_note
from clew.commands.reports import print_report
from clew.errors import IndexLockedError, InputError
from clew.index import Index
from clew.plugins.extras import import_extra

_RETRY_SECONDS = 1.0
_QUIET_MILLISECONDS = 1000  # without a change before files are read


def watch(folder: Path, opened: Index, poll: float | None, memory: int) -> None:
    """Keep an index up to date with a folder until Ctrl-C; files that are gone are removed from it.

    `poll` are seconds between two looks at the folder; None where the system reports changes.
    """
    print_line(f"watching {folder}; Ctrl-C ends it")
    for _ in _poll(poll) if poll is not None else _wait_for_changes(folder, opened):
        update(opened, folder, memory)


def check_watched(paths: list[str], poll: float | None) -> Path:
    """Return the folder to watch; raises InputError for anything but one, MissingPackageError without `watchfiles`."""
    if len(paths) != 1 or not Path(paths[0]).is_dir():
        raise InputError(f"--watch is given with {', '.join(paths) or 'nothing'}: name one folder to watch")
    if poll is None:
        import_extra("watchfiles", "watch", "clew index --watch", "give --poll SECONDS")
    return Path(paths[0])


def update(index: Index, folder: Path, memory: int = 0) -> None:
    """Bring an index up to date once, and print what has changed; an absent folder and another writer are waited for.

    Each reason for waiting is printed once.
    """
    from clew.indexing.entry import FolderAbsentError

    reason = ""
    while True:
        try:
            report = index.sync_folder(folder, memory)
        except (IndexLockedError, FolderAbsentError) as error:
            if str(error) != reason:
                reason = str(error)
                print_note(f"waiting: {reason}" if isinstance(error, FolderAbsentError) else reason)
            time.sleep(_RETRY_SECONDS)
            continue
        if report is not None:
            print_report(report, index.table.count_rows(), index.llm_factory.budget.spent)
        elif reason:
            print_line(f"nothing has changed in {folder}")
        return


def _poll(seconds: float) -> Iterator[None]:
    while True:
        yield
        time.sleep(seconds)


def _wait_for_changes(folder: Path, index: Index) -> Iterator[None]:
    """Yield at once, and then whenever files below a folder have changed and come to rest, or the index has changed."""
    watch_files = import_module("watchfiles").watch
    while True:
        yield  # who takes it waits for a folder that is not there
        with suppress(FileNotFoundError):
            place, is_first = _find_place(folder), True
            for changes in watch_files(folder, step=_QUIET_MILLISECONDS, yield_on_timeout=True):
                if _find_place(folder) != place:
                    break  # of another folder in its place the system reports nothing
                # The first look finds what changed before the system began to report changes.
                if changes or is_first or not index.table.is_newest:
                    yield
                is_first = False


def _find_place(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino
