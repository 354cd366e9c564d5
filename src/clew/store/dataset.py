"""How a Lance dataset of an index is found and opened."""

from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import IndexFormatError
from clew.store.error_mapping import map_errors
from clew.store.integrity import check_schema
from clew.store.location import Location

if TYPE_CHECKING:
    from lance import LanceDataset


def open_dataset(location: Location, version: int | None = None) -> "LanceDataset | None":
    """Return the passages dataset at a version, the newest by default; None when there is none.

    Raises:
        IndexFormatError: There is one and it cannot be read.
        ProviderError: The disk or the object store refused.
    """
    with map_errors(location.name, "opening"):
        if not location.remote and not Path(location.table).is_dir():
            return None
        import lance

        try:
            options = dict(location.storage_options) or None
            dataset = lance.dataset(location.table, version=version, storage_options=options)
            # A damaged list of files opens, and panics when these are asked for: here, where it can be mapped.
            _ = dataset.schema, dataset.get_fragments()
            check_schema(dataset.schema, location.name)
            return dataset
        except ValueError as error:
            if version is None and "was not found" in str(error) and "_versions" in str(error):
                return None
            raise


def no_index_error(location: Location) -> IndexFormatError:
    """Return the error for a place where there is no index."""
    message = f"no Clew index at {location.name}"
    return IndexFormatError(f"{message}: make one with `clew index PATH... --index {location.name}`")
