"""Archives of files (`.zip`, `.tar`, `.tar.gz` and the like), unpacked within limits to a temporary folder."""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from clew.errors import InputError
from clew.text.display import MEBIBYTE

_MAX_RATIO, _RATIO_FROM_BYTES, _MAX_BYTES, _NAME_BYTES = 200, 16 * MEBIBYTE, 1024 * MEBIBYTE, 512
_FAULTS = (EOFError, RuntimeError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
_ADVICE = "unpack it, and give what it holds"


@contextmanager
def unpack_archive(archive: Path) -> Iterator[Path]:
    """Yield a temporary folder with the files of an archive.

    Raises InputError where it is a single packed file, damaged or locked, unpacks to more than documents need, or has a
    name with `..`.
    """
    limit = left = min(_MAX_BYTES, max(_RATIO_FROM_BYTES, _MAX_RATIO * archive.stat().st_size))
    with TemporaryDirectory(prefix="clew-") as folder:
        try:
            for name, size, extract in _members(archive, folder):
                left -= size + _NAME_BYTES
                if left < 0:
                    raise InputError(f"the archive unpacks to more than {limit // MEBIBYTE} MiB: {_ADVICE}")
                if ".." in PurePosixPath(name.replace("\\", "/")).parts:
                    raise InputError(f"the archive has the name {name!r:.80}, which leads out of it: {_ADVICE}")
                extract()
        except _FAULTS as error:
            reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:200]
            raise InputError(
                f"a single packed file, or an archive that is damaged or locked ({reason.rstrip(':')}): {_ADVICE}"
            ) from error
        yield Path(folder)


def _members(archive: Path, folder: str) -> Iterator[tuple[str, int, Callable[[], object]]]:
    """Yield the name and the size of each file, and what puts it into a folder."""
    if archive.suffix.lower() == ".zip":
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                yield info.filename, info.file_size, partial(opened.extract, info, folder)
    else:
        with tarfile.open(archive) as tape:
            for member in tape:
                yield member.name, member.size, partial(tape.extract, member, folder, filter="data")
