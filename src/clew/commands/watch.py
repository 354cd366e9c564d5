"""`clew watch`."""

import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption, EncoderOption, IndexOption, MemoryOption, parse_merge_memory
from clew.commands.output import print_line, print_note
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import print_report
from clew.errors import IndexLockedError, InputError
from clew.index import Index
from clew.plugins.extras import import_extra

_RETRY_SECONDS = 1.0


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder; its files and those of its folders are read.")],
    index: IndexOption,
    extractor: Annotated[str | None, typer.Option(help="rules, auto, learned or published:FILE.")] = None,
    encoder: EncoderOption = None,
    device: DeviceOption = None,
    poll: Annotated[
        float | None,
        typer.Option(
            min=0.1, max=86_400, help="Seconds between two looks at the folder; else the system reports changes."
        ),
    ] = None,
    debounce: Annotated[
        float, typer.Option(min=0.0, max=86_400, help="Seconds without a change before files are read.")
    ] = 1.0,
    memory: MemoryOption = None,
) -> None:
    """Keep an index up to date with a folder until Ctrl-C; files that are gone are removed from it."""
    from clew.commands.opening import load_settings, open_or_create

    if not folder.is_dir():
        raise InputError(f"{str(folder)!r} is not a folder: name one to watch")
    budget = parse_merge_memory(memory)
    if poll is None:
        import_extra("watchfiles", "watch", "clew watch", "give --poll SECONDS")
    with progress_on_stderr() as progress:
        factory = load_settings().make_llm_factory()
        opened = open_or_create(str(index), extractor, encoder, progress, factory, device, create=True)
    print_line(f"watching {folder}; Ctrl-C ends it")
    for _ in _poll(poll) if poll is not None else _wait_for_changes(folder, debounce, opened):
        update(opened, folder, budget)


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


def _wait_for_changes(folder: Path, debounce: float, index: Index) -> Iterator[None]:
    """Yield at once, and then whenever files below a folder have changed and come to rest, or the index has changed."""
    watch_files = import_module("watchfiles").watch
    milliseconds = max(1, round(1000 * debounce))
    while True:
        yield  # who takes it waits for a folder that is not there
        with suppress(FileNotFoundError):
            place, is_first = _find_place(folder), True
            for changes in watch_files(
                folder, debounce=max(1600, milliseconds), step=milliseconds, yield_on_timeout=True
            ):
                if _find_place(folder) != place:
                    break  # of another folder in its place the system reports nothing
                # The first look finds what changed before the system began to report changes.
                if changes or is_first or not index.table.is_newest:
                    yield
                is_first = False


def _find_place(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino
