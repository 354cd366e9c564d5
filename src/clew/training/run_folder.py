"""Whose run a folder holds: a run goes on with what it began with, and one that failed at its start leaves nothing."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from clew.errors import ClewError, InputError
from clew.store.atomic import atomic_file
from clew.training.loop import LOG

NOTE = "run.json"


@contextmanager
def claimed(run: Path, told: Mapping[str, str]) -> Iterator[None]:
    """Say in a folder whose run it holds, for as long as that run goes and after.

    Where the run fails before its first epoch is done, in a folder that was not there before, the folder goes again:
    what is mended next is another run, which it would refuse.

    Args:
        run: The folder, made when absent.
        told: What the run's result depends on, by name: what it learns from, the network, the recipe.

    Raises:
        InputError: The folder holds the run of something else.
        ProviderError: The disk refused.
    """
    note, new = run / NOTE, [folder for folder in (run, *run.parents) if not folder.exists()]
    if note.is_file():
        _check(note, told)
    try:
        with atomic_file(note) as file:
            file.write_text(json.dumps(dict(told), indent=1), encoding="utf-8")
        yield
    except ClewError:
        if new and not (run / LOG).is_file():
            _remove(run, new[1:])
        raise


def _check(note: Path, told: Mapping[str, str]) -> None:
    try:
        seen = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{note} cannot be read ({error}): give another folder, or remove {note.parent}") from error
    if not isinstance(seen, dict):
        seen = {}
    if other := [name for name, value in told.items() if seen.get(name) != value]:
        there = f"{other[0]} {seen.get(other[0])!r}, and this one is of {told[other[0]]!r}"
        raise InputError(
            f"{note.parent} holds another run, of {there}: give another folder, or remove it to begin anew"
        )


def _remove(run: Path, parents: list[Path]) -> None:
    """Remove a folder, and those above it as far as they are empty."""
    shutil.rmtree(run, ignore_errors=True)
    with suppress(OSError):
        for folder in parents:
            folder.rmdir()
