"""Checking an index on disk, and making a damaged one usable again."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import ClewError, IndexFormatError, ProviderError
from clew.store.atomic import remove_leftovers
from clew.store.dataset import no_index_error, open_dataset
from clew.store.error_mapping import map_errors
from clew.store.inspection import Problem, inspect
from clew.store.integrity import settings_from_schema
from clew.store.location import Location, locate
from clew.store.passage_table import PassageTable
from clew.store.reader_pins import PINS_FOLDER as PINS
from clew.store.writer_lock import writer_lock

if TYPE_CHECKING:
    from lance import LanceDataset

_MAX_PROBLEMS = 100
_MAX_MANIFEST_NAME = (1 << 64) - 1  # Lance names the manifest of version v so that the newest sorts first


def verify(location: str | Path | Location) -> list[str]:
    """Read every passage of an index's newest version and return what is wrong with it, one sentence each.

    Raises:
        IndexFormatError: There is no index at the location.
    """
    place = locate(location)
    try:
        dataset = open_dataset(place)
    except IndexFormatError as error:
        return [f"the newest version cannot be opened: {error}"]
    if dataset is None:
        raise no_index_error(place)
    settings_from_schema(dataset.schema, place.name)
    problems = inspect(dataset, place)
    more = [f"... and {len(problems) - _MAX_PROBLEMS} more"] if len(problems) > _MAX_PROBLEMS else []
    return [problem.text for problem in problems[:_MAX_PROBLEMS]] + more


def repair(location: str | Path | Location) -> list[str]:
    """Make an index readable with the least loss, holding the writer's lock, and return what was done.

    Derived data are dropped. A newest version that cannot be opened is set aside in `damaged/` for the newest one that
    can. Data files that cannot be read are dropped, and documents that lost a passage are removed whole, so that
    indexing the same sources again adds exactly what is missing.

    Raises:
        IndexFormatError: There is no index at the location, or no version of it can be opened.
        IndexLockedError: A writer is at work.
    """
    place = locate(location)
    if not place.remote and not Path(place.table).is_dir():
        raise no_index_error(place)
    with writer_lock(place):
        actions = _drop_derived(place.derived)
        dataset = _open_newest_readable(place, actions)
        problems = inspect(dataset, place)
        if lost := [problem for problem in problems if problem.fragment is not None]:
            actions.extend(_drop_fragments(dataset, lost, place))
            problems = inspect(_open_newest(place), place)
        table = PassageTable.open(place)
        if documents := sorted({document for problem in problems for document in problem.documents}):
            count = table.delete(documents)
            actions.append(
                f"removed {count} passages of {len(documents)} damaged documents: {_format_names(documents)}"
            )
        if table.version != dataset.version:
            actions.append("run `clew index`, or `clew kg import`, on the same sources to add what was lost")
    return actions


def _drop_derived(derived: Path) -> list[str]:
    actions = [f"removed {name}, left by a run that was stopped" for name in _remove_all_leftovers(derived)]
    for path in sorted(derived.iterdir()) if derived.is_dir() else []:
        if path.name == PINS:
            continue  # other processes are reading the versions named there
        try:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        except OSError as error:
            raise ProviderError(f"{path} cannot be removed ({error}): remove it by hand and repair again") from error
        actions.append(f"removed {derived.name}/{path.name}, which is made again when it is needed")
    return actions


def _remove_all_leftovers(derived: Path) -> Iterator[str]:
    yield from remove_leftovers(derived)
    yield from remove_leftovers(derived / "snapshots")


def _open_newest_readable(location: Location, actions: list[str]) -> "LanceDataset":
    """Return the newest version that opens, after setting aside the lists of files of all versions that do not."""
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
    return _open_newest(location)


def _set_aside(manifest: Path, location: Location) -> str:
    aside = Path(location.table).parent / "damaged"
    with map_errors(location.name, "repairing"):
        aside.mkdir(exist_ok=True)
        manifest.rename(aside / manifest.name)
    return f"version {_MAX_MANIFEST_NAME - int(manifest.stem)} cannot be opened: moved {manifest.name} to {aside}"


def _drop_fragments(dataset: "LanceDataset", lost: list[Problem], location: Location) -> Iterator[str]:
    """Commit a version without the fragments; nothing of them is read for it."""
    import lance

    causes = {problem.fragment: problem.text for problem in lost}
    dropped = [fragment.metadata for fragment in dataset.get_fragments() if fragment.fragment_id in causes]
    for about in dropped:
        count = about.physical_rows - (about.deletion_file.num_deleted_rows if about.deletion_file else 0)
        yield f"dropped {count} passages: {causes[about.id]}"
    with map_errors(location.name, "repairing"):
        removal = lance.LanceOperation.Delete([], [about.id for about in dropped], "true")
        lance.LanceDataset.commit(
            dataset, removal, read_version=dataset.version, storage_options=dict(location.storage_options) or None
        )


def _open_newest(location: Location) -> "LanceDataset":
    if (dataset := open_dataset(location)) is None:
        raise no_index_error(location)
    return dataset


def _format_names(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
