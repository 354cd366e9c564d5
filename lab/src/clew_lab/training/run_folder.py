"""Ownership of a run folder, which can only be resumed by a run with the same inputs."""

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
    """Record in a run folder which run it belongs to, and raise InputError for the folder of another run.

    `identity` names everything the result depends on: questions, network, recipe. If the run fails before its first
    epoch, a folder that did not exist before is removed: the corrected run would be another one, which it would refuse.
    """
    recorded = path / IDENTITY_FILE
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    if recorded.is_file():
        _check_identity(recorded, identity)
    try:
        with atomic_file(recorded) as file:
            file.write_text(json.dumps(dict(identity), indent=1), encoding="utf-8")
        yield
    except ClewError:
        if missing and not (path / LOG_FILE).is_file():
            _remove_with_empty_parents(path, missing[1:])
        raise


def _check_identity(file: Path, identity: Mapping[str, str]) -> None:
    try:
        seen = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file} cannot be read ({error}): give another folder, or remove {file.parent}") from error
    if not isinstance(seen, dict):
        seen = {}
    if different := [name for name, value in identity.items() if seen.get(name) != value]:
        name = different[0]
        raise InputError(
            f"{file.parent} holds another run, with {name} {seen.get(name)!r} instead of {identity[name]!r}: "
            "give another folder, or remove it to start over"
        )


def _remove_with_empty_parents(run: Path, parents: list[Path]) -> None:
    shutil.rmtree(run, ignore_errors=True)
    with suppress(OSError):
        for folder in parents:
            folder.rmdir()
