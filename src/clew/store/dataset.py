"""Open the Lance dataset of an index."""

from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import IndexFormatError
from clew.store.error_mapping import map_errors
from clew.store.integrity import check_schema
from clew.store.location import Location

if TYPE_CHECKING:
    from lance import LanceDataset


def open_dataset(location: Location, version: int | None = None) -> "LanceDataset | None":
    """Return the dataset at a version, by default the newest; None without one; errors are as of `map_errors`."""
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


def open_existing(location: Location) -> "LanceDataset":
    """Return the newest version of the passages dataset; as `open_dataset`, but its absence is an IndexFormatError."""
    if (dataset := open_dataset(location)) is None:
        raise no_index_error(location)
    return dataset


def no_index_error(location: Location) -> IndexFormatError:
    """Return the error for a location without an index."""
    message = f"no Clew index at {location.name}"
    return IndexFormatError(f"{message}: make one with `clew index PATH... --index {location.name}`")
