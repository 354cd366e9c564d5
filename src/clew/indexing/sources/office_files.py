"""Files of kinds that are no plain text as documents: they are read in another process, with limits."""

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents
from clew.indexing.sources.conversion import KINDS
from clew.indexing.sources.converter_process import CONVERTER
from clew.plugins.extras import require_extra


def convert_file(suffix: str, data: bytes) -> list[FileContents]:
    """Return the contents of a file's bytes, those of each message for a mailbox; at least one.

    Raises InputError where it cannot be read within the limits, MissingPackageError where a package for it is missing.
    """
    if not data:
        raise InputError("empty: the file holds no bytes")
    if KINDS[suffix].packages:
        require_extra(KINDS[suffix].packages, "files", f"reading {suffix} files")
    contents = CONVERTER.convert(suffix, data)
    if not any(part.text.strip() for part in contents):
        notes = "; ".join(note for part in contents for note in part.notes)
        raise InputError(f"empty: the file has no text{f' ({notes})' if notes else ''}; leave it out")
    return contents
