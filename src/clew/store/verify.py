"""Verification and repair of an index on disk."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import ClewError, IndexFormatError, ProviderError
from clew.store.array_cache import array_problems
from clew.store.array_file import file_problem
from clew.store.atomic import remove_leftovers
from clew.store.dataset import no_index_error, open_dataset, open_existing
from clew.store.error_mapping import map_errors
from clew.store.inspection import Problem, inspect
from clew.store.integrity import settings_from_schema
from clew.store.location import Location, locate
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import snapshot_problems
from clew.store.vector_cache import VectorCache
from clew.store.writer_lock import PINS_FOLDER, writer_lock

if TYPE_CHECKING:
    from lance import LanceDataset

ADD_AGAIN = "run `clew index`, or `clew kg import`, on the same sources to add what was lost"
"""The last action of a repair that lost something."""
_MAX_PROBLEMS = 100
_MAX_MANIFEST_NAME = (1 << 64) - 1  # Lance names the manifest of version v so that the newest sorts first


def verify(location: str | Path | Location) -> list[str]:
    """Read every passage of the newest version and return its problems, one sentence each; no index is an error."""
    location = locate(location)
    try:
        dataset = open_dataset(location)
    except IndexFormatError as error:
        return [f"the newest version cannot be opened: {error}"]
    if dataset is None:
        raise no_index_error(location)
    settings_from_schema(dataset.schema, location.name)
    problems = inspect(dataset, location)
    more = [f"... and {len(problems) - _MAX_PROBLEMS} more"] if len(problems) > _MAX_PROBLEMS else []
    return [problem.text for problem in problems[:_MAX_PROBLEMS]] + more


def repair(location: str | Path | Location) -> list[str]:
    """Make an index readable with the least loss, under the writer lock, and return the actions taken.

    Derived data that are damaged are removed, and those that nothing can check. If the newest version cannot be opened,
    it is moved to `damaged/`, and the newest readable version takes its place. Data files that cannot be read are
    dropped. Documents that lost a passage are removed whole, so that indexing the same sources again adds exactly what
    is missing. No index, or no version that can be opened, is an IndexFormatError.
    """
    location = locate(location)
    if not location.remote and not Path(location.table).is_dir():
        raise no_index_error(location)
    with writer_lock(location):
        actions = _drop_derived(location.derived)
        before = len(actions)
        dataset = _open_newest_readable(location, actions)
        is_older = len(actions) > before
        problems = inspect(dataset, location)
        if unreadable := [problem for problem in problems if problem.fragment is not None]:
            actions.extend(_drop_fragments(dataset, unreadable, location))
            problems = inspect(open_existing(location), location)
        table = PassageTable.open(location)
        if documents := sorted({document for problem in problems for document in problem.documents}):
            count = table.delete(documents)
            actions.append(
                f"removed {count} passages of {len(documents)} damaged documents: {_format_names(documents)}"
            )
        if is_older or table.version != dataset.version:
            actions.append(ADD_AGAIN)
    return actions


def _drop_derived(derived: Path) -> list[str]:
    leftovers = remove_leftovers(derived) + remove_leftovers(derived / "snapshots")
    actions = [f"removed {name}, left by a run that was stopped" for name in leftovers]
    # A snapshot is damaged with any of its segments, which come first.
    for path in [part for folder in sorted(derived.glob("*")) for part in _damaged_parts(folder)]:
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        except OSError as error:
            raise ProviderError(f"{path} cannot be removed ({error}): remove it by hand and repair again") from error
        name = path.relative_to(derived.parent).as_posix()
        actions.append(f"removed {name}, which is made again when it is needed")
    return actions


def _damaged_parts(path: Path) -> list[Path]:
    """Return which parts of something in the folder of derived data are not as they were written, or maybe not."""
    if path.name == PINS_FOLDER:
        return []  # other processes are reading the versions named there
    if path.name == "vectors.lance":
        return [path] if VectorCache(path).problem() else []
    if path.name == "equivalences" and path.is_dir():
        return [path] if snapshot_problems(path) else []
    parts = sorted(path.iterdir()) if path.is_dir() else []
    if path.name in ("segments", "centroids"):
        return [part for part in parts if part.is_dir() or file_problem(part)]
    if path.name == "snapshots":
        return [part for part in parts if not part.is_dir() or snapshot_problems(part)]
    if path.name == "arrays":
        return [part for part in parts if not part.is_dir() or array_problems(part)]
    return [path]  # a note of what was checked, or something that is not ours


def _open_newest_readable(location: Location, actions: list[str]) -> "LanceDataset":
    """Move the manifests of all versions that cannot be opened aside, and return the newest version that can."""
    manifests = [] if location.remote else sorted((Path(location.table) / "_versions").glob("*.manifest"))
    broken: dict[Path, ClewError] = {}
    for manifest in manifests:
        try:
            dataset = open_dataset(location, _MAX_MANIFEST_NAME - int(manifest.stem))
        except IndexFormatError as error:
            broken[manifest] = error
            continue
        if dataset is not None:
            settings_from_schema(dataset.schema, location.name)  # a newer format is not damage: this raises
    if broken and len(broken) == len(manifests):
        raise broken[manifests[0]]
    actions.extend(_set_aside(manifest, location) for manifest in broken)
    return open_existing(location)


def _set_aside(manifest: Path, location: Location) -> str:
    folder = Path(location.table).parent / "damaged"
    with map_errors(location.name, "repairing"):
        folder.mkdir(exist_ok=True)
        manifest.rename(folder / manifest.name)
    return f"version {_MAX_MANIFEST_NAME - int(manifest.stem)} cannot be opened: moved {manifest.name} to {folder}"


def _drop_fragments(dataset: "LanceDataset", problems: list[Problem], location: Location) -> Iterator[str]:
    import lance

    causes = {problem.fragment: problem.text for problem in problems}
    dropped = [fragment.metadata for fragment in dataset.get_fragments() if fragment.fragment_id in causes]
    for fragment in dropped:
        count = fragment.physical_rows - (fragment.deletion_file.num_deleted_rows if fragment.deletion_file else 0)
        yield f"dropped {count} passages: {causes[fragment.id]}"
    with map_errors(location.name, "repairing"):
        removal = lance.LanceOperation.Delete([], [fragment.id for fragment in dropped], "true")
        lance.LanceDataset.commit(
            dataset, removal, read_version=dataset.version, storage_options=dict(location.storage_options) or None
        )


def _format_names(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
