"""Open the Lance dataset of an index."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import IndexFormatError
from clew.store.error_mapping import map_errors
from clew.store.integrity import check_schema
from clew.store.location import Location
from clew.store.row_seal import check_row_count, stored_seal

if TYPE_CHECKING:
    from lance import LanceDataset


_MAX_MANIFEST_NAME = (1 << 64) - 1  # Lance names the manifest of version v so that the newest sorts first
_VERSION_HINT = "latest_version_hint.json"  # Lance writes it after the file of a version


def open_dataset(location: Location, version: int | None = None) -> "LanceDataset | None":
    """Return the dataset at a version, by default the newest; None without one; errors are as of `map_errors`.

    A symbolic link in the index's folder is an InputError. A version whose number of rows is not that of its seal, or
    a newest one that is gone, is an IndexFormatError.
    """
    # Read first: a version that is committed in between is newer than the hint.
    hint = 0 if location.remote or version is not None else _hinted_version(location)
    dataset = _open_version(location, version)
    if dataset is None:
        return None
    if dataset.version < hint and _has_transaction(location, hint):  # as of `lost_version`
        raise IndexFormatError(
            f"version {hint} of {location.name} was committed and is gone, and the newest one there is "
            f"{dataset.version}: run `clew repair`, then the commands since {dataset.version} again"
        )
    check_row_count(dataset, stored_seal(dataset, location.name), location.name)
    return dataset


def _open_version(location: Location, version: int | None) -> "LanceDataset | None":
    location.check_links()
    with map_errors(location.name, "opening"):
        if not location.remote and not Path(location.table).is_dir():
            return None
        import lance

        try:
            options = dict(location.storage_options) or None
            dataset = lance.dataset(location.table, version=version, storage_options=options)
            # A damaged manifest opens, and panics when these are read: they are read here, where errors are mapped.
            _ = dataset.schema, dataset.get_fragments()
            check_schema(dataset.schema, location.name)
            return dataset
        except ValueError as error:
            if version is None and "was not found" in str(error) and "_versions" in str(error):
                return None
            raise


def _hinted_version(location: Location) -> int:
    """Return the number of the newest version by Lance's hint, which is no part of the data, 0 without one."""
    try:
        return int(json.loads((Path(location.table) / "_versions" / _VERSION_HINT).read_bytes())["version"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0


def lost_version(location: Location, newest: int) -> int:
    """Return the number of a version of a table on a disk that was committed after the newest there, 0 for none."""
    hint = _hinted_version(location)
    return hint if hint > newest and _has_transaction(location, hint) else 0


def forget_newest(location: Location) -> None:
    """Take the newest version that is there for the newest that was committed."""
    (Path(location.table) / "_versions" / _VERSION_HINT).unlink(missing_ok=True)  # Lance lists the versions then


def _has_transaction(location: Location, version: int) -> bool:
    """Return whether the record of a commit that made a version is there: else the hint has a wrong digit."""
    return any((Path(location.table) / "_transactions").glob(f"{version - 1}-*.txn"))


def open_existing(location: Location) -> "LanceDataset":
    """Return the newest version of the passages dataset; as `open_dataset`, but its absence is an IndexFormatError."""
    if (dataset := open_dataset(location)) is None:
        raise no_index_error(location)
    return dataset


def no_index_error(location: Location) -> IndexFormatError:
    """Return the error for a location without an index."""
    message = f"no Clew index at {location.name}"
    return IndexFormatError(f"{message}: make one with `clew index PATH... --index {location.name}`")


def manifest_path(location: Location, version: int) -> Path:
    """Return the file of a version of a table on a disk."""
    return Path(location.table) / "_versions" / f"{_MAX_MANIFEST_NAME - version:020d}.manifest"


def manifest_version(manifest: Path) -> int:
    """Return the version whose file this is."""
    return _MAX_MANIFEST_NAME - int(manifest.stem)


def newest_version(location: Location) -> int:
    """Return the newest version whose file is there; 0 where there is none, or the table is in an object store."""
    if location.remote:
        return 0
    with map_errors(location.name, "opening"):
        names = [file.stem for file in (Path(location.table) / "_versions").glob("*.manifest")]
    return max((_MAX_MANIFEST_NAME - int(name) for name in names if name.isdecimal() and len(name) == 20), default=0)
