"""Whose run a folder holds: a run goes on with what it began with, and one that failed at its start leaves nothing."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from clew.errors import ClewError, InputError
from clew.store.atomic import atomic_file
from clew.training.loop import LOG_FILE

IDENTITY_FILE = "run.json"


@contextmanager
def own_run_folder(path: Path, identity: Mapping[str, str]) -> Iterator[None]:
    """Say in a folder whose run it holds, for as long as that run goes and after.

    Where the run fails before its first epoch is done, in a folder that was not there before, the folder goes again:
    what is mended next is another run, which it would refuse.

    Args:
        path: The folder, made when absent.
        identity: What the run's result depends on, by name: what it learns from, the network, the recipe.

    Raises:
        InputError: The folder holds the run of something else.
        ProviderError: The disk refused.
    """
    note, new = path / IDENTITY_FILE, [folder for folder in (path, *path.parents) if not folder.exists()]
    if note.is_file():
        _check_identity(note, identity)
    try:
        with atomic_file(note) as file:
            file.write_text(json.dumps(dict(identity), indent=1), encoding="utf-8")
        yield
    except ClewError:
        if new and not (path / LOG_FILE).is_file():
            _remove_with_empty_parents(path, new[1:])
        raise


def _check_identity(file: Path, identity: Mapping[str, str]) -> None:
    try:
        seen = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}): give another folder, or remove {file.parent}") from error
    if not isinstance(seen, dict):
        seen = {}
    if other := [name for name, value in identity.items() if seen.get(name) != value]:
        there = f"{other[0]} {seen.get(other[0])!r}, and this one is of {identity[other[0]]!r}"
        raise InputError(
            f"{file.parent} holds another run, of {there}: give another folder, or remove it to begin anew"
        )


def _remove_with_empty_parents(run: Path, parents: list[Path]) -> None:
    """Remove a folder, and those above it as far as they are empty."""
    shutil.rmtree(run, ignore_errors=True)
    with suppress(OSError):
        for folder in parents:
            folder.rmdir()
