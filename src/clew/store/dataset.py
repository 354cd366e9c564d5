"""How a Lance dataset of an index is found and opened."""

from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import IndexFormatError
from clew.store.error_mapping import ForeignErrors
from clew.store.integrity import check_schema
from clew.store.location import Location

if TYPE_CHECKING:
    from lance import LanceDataset


def open_dataset(place: Location, version: int | None = None) -> "LanceDataset | None":
    """Return the passages dataset at a version, the newest by default; None when there is none.

    Raises:
        IndexFormatError: There is one and it cannot be read.
        ProviderError: The disk or the object store refused.
    """
    with ForeignErrors(place.name, "opening"):
        if not place.remote and not Path(place.table).is_dir():
            return None
        import lance

        try:
            options = dict(place.storage_options) or None
            dataset = lance.dataset(place.table, version=version, storage_options=options)
            # A damaged list of files opens, and panics when these are asked for: here, where it can be mapped.
            _ = dataset.schema, dataset.get_fragments()
            check_schema(dataset.schema, place.name)
            return dataset
        except ValueError as error:
            if version is None and "was not found" in str(error) and "_versions" in str(error):
                return None
            raise


def no_index(place: Location) -> IndexFormatError:
    """Return the error for a place where there is no index."""
    message = f"no Clew index at {place.name}"
    return IndexFormatError(f"{message}: make one with `clew index PATH... --index {place.name}`")
