"""Verification of an index on disk."""

from pathlib import Path

from clew.errors import IndexFormatError
from clew.store.dataset import no_index_error, open_dataset
from clew.store.inspection import inspect
from clew.store.integrity import settings_from_schema
from clew.store.location import Location, locate

_MAX_PROBLEMS = 100


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
