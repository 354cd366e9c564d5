"""Creation of an index that is there with all of its first content, or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from clew.errors import ClewError, IndexLockedError
from clew.store.atomic import flush_folder, remove_leftovers, temporary_folder
from clew.store.location import Location, locate


@contextmanager
def new_index_folder(location: Location) -> Iterator[Path]:
    """Yield a folder for an index that becomes the one at a location on a disk when the block ends.

    It lies in the folder of the location, whose other files stay; its table is moved last, by one rename. If the block
    raises, nothing is left; what a killed process leaves is no index, and is removed when one is made. Errors name the
    location.

    Raises:
        IndexLockedError: Another process has made an index there meanwhile.
        ProviderError: The disk failed.
    """
    folder = Path(location.table).parent
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    is_made = False
    remove_leftovers(folder)
    try:
        with temporary_folder(folder / "new") as temporary:
            try:
                yield temporary
            except ClewError as error:
                error.args = tuple(str(part).replace(str(temporary), location.name) for part in error.args)
                raise
            _move(temporary, location)
            is_made = True
    finally:
        for made in () if is_made else missing:
            with suppress(OSError):  # another process has put something there
                made.rmdir()


def _move(temporary: Path, location: Location) -> None:
    """Move the parts of an index to a location, the table last, and flush what was moved."""
    made, folder = locate(temporary), Path(location.table).parent
    flush_folder(temporary)
    for part in sorted(temporary.iterdir()):
        if part not in (Path(made.table), made.lock) and not (folder / part.name).exists():
            part.rename(folder / part.name)
    try:
        Path(made.table).rename(location.table)
    except OSError as error:
        if not Path(location.table).exists():
            raise
        raise IndexLockedError(
            f"another process has made an index at {location.name} meanwhile: run the same command again"
        ) from error
    flush_folder(folder, below=False)
