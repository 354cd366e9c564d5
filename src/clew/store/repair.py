"""Repair of an index on disk, with the least loss: by an older version that is whole, or without what is damaged."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import ClewError, IndexFormatError, InputError, ProviderError
from clew.store.array_file import array_problems, file_problem
from clew.store.atomic import discard, remove_leftovers
from clew.store.commits import commit_change, commit_restore, remove_documents, set_aside
from clew.store.dataset import (
    forget_newest,
    lost_version,
    manifest_version,
    no_index_error,
    open_dataset,
    open_existing,
)
from clew.store.error_mapping import read_batches
from clew.store.inspection import Problem, inspect
from clew.store.integrity import settings_from_schema
from clew.store.location import Location, locate
from clew.store.snapshot_files import snapshot_problems
from clew.store.vector_cache import VectorCache
from clew.store.writer_lock import PINS_FOLDER, writer_lock
from clew.text.display import format_count

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import LanceFragment

ADD_AGAIN = "run `clew index`, or `clew kg import`, on the same sources to add what was lost"
"""An action of a repair that lost documents, or maybe did."""
REMOVE_AGAIN = "run `clew remove` again on what was removed since"
"""An action of a repair that undid changes among which may be removals."""
_LEFT_BEHIND = ", left by a run that was stopped"  # ends an action that is of no damage
_UNCHECKED = "made again when it is needed: "  # begins another one
_CHECKED = frozenset({PINS_FOLDER, "arrays", "centroids", "segments", "snapshots", "vectors.lance"})
_MAX_NAMES = 10
_ID_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class _Plan:
    """The steps of a repair of the passages table."""

    newest: "LanceDataset"  # the newest version that can be opened
    broken: dict[Path, ClewError]  # files of versions that cannot
    losses: list[str]  # what it undoes, drops and removes, a sentence each
    restored: int | None = None  # the older version that is made the newest
    fragments: tuple["LanceFragment", ...] = ()  # those that stay, where no older version is restored
    documents: tuple[str, ...] = ()  # those of them that are damaged
    is_changed: bool = False  # whether a commit is needed
    advice: tuple[str, ...] = ()  # what to do after it


def repair(location: str | Path | Location, confirm: Callable[[Sequence[str]], bool] | None = None) -> list[str]:
    """Make an index readable with the least loss, under the writer lock, and return the actions taken.

    An older version that is whole and has no fewer passages than would be left is made the newest. Else data files that
    cannot be read are dropped, and documents that lost a passage removed whole, so that indexing the same sources again
    adds exactly what is missing. Both are one commit. Versions that cannot be opened are moved to `damaged/`. Derived
    data that are damaged are removed, and those that nothing can check; `found_damage` tells them apart.

    Args:
        location: The index.
        confirm: Called before anything is lost with sentences that say what will be; None for yes.

    Raises:
        IndexFormatError: There is no index, or no version that can be opened.
        InputError: What would be lost was not confirmed; nothing was changed.
        ProviderError: A file may not be read, too many are open, or the disk fails: that is no damage.
    """
    location = locate(location)
    if not location.remote and not Path(location.table).is_dir():
        raise no_index_error(location)
    with writer_lock(location):
        plan = _plan(location)
        if plan.losses and confirm is not None and not confirm(plan.losses):
            raise InputError("nothing was repaired, and nothing was changed: run `clew repair --yes` to lose this")
        actions = _set_versions_aside(plan, location)
        if plan.restored is not None:
            commit_restore(location, plan.restored)
        elif plan.is_changed:
            removal = remove_documents(
                plan.newest, pa.array(plan.documents, type=pa.string()), location, plan.fragments
            )
            commit_change(plan.newest, removal.change, removal.rest, location)
        return actions + _drop_derived(location.derived) + plan.losses + list(plan.advice)


def found_damage(actions: Sequence[str]) -> bool:
    """Return whether some of the actions of a repair are of damage; else the index was sound."""
    return not all(action.startswith(_UNCHECKED) or action.endswith(_LEFT_BEHIND) for action in actions)


def _plan(location: Location) -> _Plan:
    manifests, broken = [], dict[Path, ClewError]()
    datasets: list[LanceDataset] = []
    if location.remote:
        datasets.append(open_existing(location))
    else:
        manifests = sorted((Path(location.table) / "_versions").glob("*.manifest"))
    for manifest in manifests:
        try:
            dataset = open_dataset(location, manifest_version(manifest))
        except IndexFormatError as error:
            broken[manifest] = error
            continue
        assert dataset is not None, manifest
        settings_from_schema(dataset.schema, location.name)  # a newer format is not damage: this raises
        datasets.append(dataset)
    if not datasets:
        raise broken[manifests[0]] if broken else no_index_error(location)
    losses = _unopened_losses(location, manifests, broken, datasets[0].version)
    problems = inspect(datasets[0], location)
    advice = (REMOVE_AGAIN, ADD_AGAIN) if losses else ()
    return _plan_rows(location, datasets, _Plan(datasets[0], broken, losses, advice=advice), problems)


def _unopened_losses(
    location: Location, manifests: Sequence[Path], broken: dict[Path, ClewError], newest: int
) -> list[str]:
    """Return what is lost with the versions that are newer than the newest one that can be opened."""
    newer = [
        version for manifest in manifests if manifest in broken and (version := manifest_version(manifest)) > newest
    ]
    if newer:
        return [f"undone: the changes since version {newest}, as version {newer[0]} cannot be opened"]
    if manifests and (lost := lost_version(location, newest)):
        return [f"undone: the changes since version {newest}, as version {lost} is gone"]
    return []


def _plan_rows(
    location: Location, datasets: Sequence["LanceDataset"], plan: _Plan, problems: Sequence[Problem]
) -> _Plan:
    """Return the plan for a newest version with some problems: an older version, or what of this one is readable."""
    if not problems:
        return plan
    unreadable = {problem.fragment: problem.text for problem in problems if problem.fragment is not None}
    fragments = tuple(one for one in plan.newest.get_fragments() if one.fragment_id not in unreadable)
    documents = tuple(sorted({document for problem in problems for document in problem.documents}))
    damaged_rows = _count_rows(fragments, documents, location)
    whole_rows = sum(fragment.metadata.num_rows for fragment in fragments) - damaged_rows
    older = _find_whole(location, datasets[1:], whole_rows, _file_names(plan.newest, unreadable))
    if older is not None:
        back = _returning(older, fragments, documents, location)
        return _plan_return(plan, older, back, problems)
    losses = _list_losses(plan.newest, unreadable, documents, damaged_rows)
    return replace(
        plan,
        losses=[*plan.losses, *(losses or [f"accepted: {problem.text}" for problem in problems])],
        fragments=fragments,
        documents=documents,
        is_changed=True,
        advice=(REMOVE_AGAIN, ADD_AGAIN) if plan.losses else (ADD_AGAIN,),
    )


def _plan_return(plan: _Plan, older: "LanceDataset", back: Sequence[str], problems: Sequence[Problem]) -> _Plan:
    """Return a plan that makes an older version the newest; `back` are the documents that this brings back."""
    version, causes = int(older.version), "; ".join(problem.text for problem in problems[:2])
    losses = [*plan.losses, f"undone: the changes since version {version}, which is whole ({causes})"]
    if back:
        losses.append(f"there again, if it was removed since version {version}: {_format_names(back)}")
    has_removed = bool(back or plan.losses)
    has_added = not back or _has_added(plan.newest, older)
    advice = (*((REMOVE_AGAIN,) if has_removed else ()), *((ADD_AGAIN,) if has_added else ()))
    return replace(plan, losses=losses, restored=version, advice=advice)


def _list_losses(
    newest: "LanceDataset", unreadable: Mapping[int, str], documents: Sequence[str], damaged_rows: int
) -> list[str]:
    """Return what is lost without the unreadable fragments and the damaged documents, a sentence each."""
    losses = [
        f"dropped {format_count(fragment.metadata.num_rows, 'passage')}: {unreadable[fragment.fragment_id]}"
        for fragment in newest.get_fragments()
        if fragment.fragment_id in unreadable
    ]
    if documents:
        removed = f"{format_count(damaged_rows, 'passage')} of {format_count(len(documents), 'damaged document')}"
        losses.append(f"removed {removed}: {_format_names(documents)}")
    return losses


def _returning(
    older: "LanceDataset", fragments: Sequence["LanceFragment"], damaged: Sequence[str], location: Location
) -> list[str]:
    """Return the sorted documents of an older version that the whole fragments of the newest one do not show."""
    there = _unique_documents(fragments, location)
    there = there.filter(pc.invert(pc.is_in(there, value_set=pa.array(damaged, pa.string()))))
    before = _unique_documents(older.get_fragments(), location)
    return sorted(before.filter(pc.invert(pc.is_in(before, value_set=there))).to_pylist())


def _document_ids(fragments: Sequence["LanceFragment"], location: Location) -> Iterator[pa.Array]:
    """Yield the ids of the documents of rows, batch by batch."""
    for fragment in fragments:
        scan = partial(fragment.to_batches, columns=["document_id"], batch_size=_ID_BATCH_ROWS)
        yield from (batch["document_id"] for batch in read_batches(scan, location.name))


def _unique_documents(fragments: Sequence["LanceFragment"], location: Location) -> pa.Array:
    return pc.unique(pa.chunked_array(map(pc.unique, _document_ids(fragments, location)), pa.string()))


def _has_added(newest: "LanceDataset", older: "LanceDataset") -> bool:
    """Return whether a version has a data file that an older one has not."""
    files = [
        {file.path for fragment in dataset.get_fragments() for file in fragment.data_files()}
        for dataset in (newest, older)
    ]
    return not files[0] <= files[1]


def _find_whole(
    location: Location, older: Sequence["LanceDataset"], rows: int, damaged_files: set[str]
) -> "LanceDataset | None":
    """Return the newest of some versions that is whole and has at least a number of rows."""
    for dataset in older:
        fragments = dataset.get_fragments()
        if sum(fragment.metadata.num_rows for fragment in fragments) < max(rows, 1):
            continue
        if damaged_files.isdisjoint(_file_names(dataset)) and not inspect(dataset, location):
            return dataset
    return None


def _file_names(dataset: "LanceDataset", fragments: "dict[int, str] | None" = None) -> set[str]:
    """Return what identifies the data and deletion files of a version, or of some of its fragments."""
    names = set()
    for fragment in dataset.get_fragments():
        if fragments is None or fragment.fragment_id in fragments:
            deleted = fragment.metadata.deletion_file
            names.add(f"{fragment.data_files()[0].path} {deleted.id if deleted else ''}")
    return names


def _count_rows(fragments: Sequence["LanceFragment"], documents: Sequence[str], location: Location) -> int:
    wanted, read = pa.array(documents, type=pa.string()), fragments if documents else ()
    return sum(pc.sum(pc.is_in(ids, value_set=wanted)).as_py() or 0 for ids in _document_ids(read, location))


def _set_versions_aside(plan: _Plan, location: Location) -> list[str]:
    actions = []
    for manifest in plan.broken:
        folder = set_aside(manifest, location)
        version = manifest_version(manifest)
        actions.append(f"version {version} cannot be opened: moved {manifest.name} to {folder}")
    if not location.remote and lost_version(location, int(plan.newest.version)):
        forget_newest(location)
    return actions


def _drop_derived(derived: Path) -> list[str]:
    leftovers = remove_leftovers(derived) + remove_leftovers(derived / "snapshots")
    actions = [f"removed {name}{_LEFT_BEHIND}" for name in leftovers]
    folders = sorted(derived.glob("*"))
    unchecked = [folder for folder in folders if folder.name not in _CHECKED]
    # A snapshot is damaged with any of its segments, which come first.
    for path in [*unchecked, *(part for folder in folders for part in _damaged_parts(folder))]:
        try:
            discard(path)  # at once, so that a kill leaves the old state or the new
        except ProviderError as error:
            raise ProviderError(
                f"{path} cannot be removed ({error.__cause__}): remove it by hand, and repair again"
            ) from error
        name = path.relative_to(derived.parent).as_posix()
        is_unchecked = path in unchecked
        actions.append(_UNCHECKED + name if is_unchecked else f"removed {name}, which is made again when it is needed")
    return actions


def _damaged_parts(path: Path) -> list[Path]:
    """Return which parts of a folder of derived data are not as they were written; none of what nothing can check."""
    if path.name == "vectors.lance":
        return [path] if VectorCache(path).problem() else []
    parts = sorted(path.iterdir()) if path.is_dir() else []
    if path.name in ("segments", "centroids"):
        return [part for part in parts if part.is_dir() or file_problem(part)]
    if path.name == "snapshots":
        return [part for part in parts if not part.is_dir() or snapshot_problems(part)]
    if path.name == "arrays":
        return [part for part in parts if not part.is_dir() or array_problems(part)]
    return []  # the versions that other processes are reading, or what nothing can check


def _format_names(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:_MAX_NAMES]) + (
        f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    )
