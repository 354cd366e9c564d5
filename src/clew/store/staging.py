"""A folder in which several machines leave small files for each other: on a disk, or in an object store."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.store.atomic import atomic_file
from clew.store.error_mapping import map_errors

if TYPE_CHECKING:
    from lance.file import LanceFileSession


class StagingFolder:
    """Files of a folder or of `scheme://bucket/prefix`, each written whole or not at all."""

    def __init__(self, location: str, storage_options: Mapping[str, str] | None = None) -> None:
        if not location.strip():
            raise InputError('the staging folder is "": give a folder or an s3://bucket/prefix URI')
        self.name = location
        self._folder = None if "://" in location else Path(location).expanduser().absolute()
        self._options = dict(storage_options or {}) or None

    def names(self) -> list[str]:
        """Return the sorted names of the files directly in the folder, [] where there is none."""
        with map_errors(self.name, "listing"):
            if self._folder is None:
                return sorted(name for name in self._session().list() if "/" not in name)
            if not self._folder.is_dir():
                return []
            return sorted(path.name for path in self._folder.iterdir() if path.is_file() and path.name[0] != ".")

    def write(self, name: str, source: Path) -> None:
        """Put a file of this machine into the folder under a name, replacing one of that name."""
        if self._folder is None:
            with map_errors(self.name, "writing to"):
                self._session().upload_file(str(source), name)
            return
        with atomic_file(self._folder / name) as temporary, map_errors(self.name, "writing to"):
            temporary.write_bytes(source.read_bytes())

    def read(self, name: str, target: Path) -> None:
        """Copy a file of the folder to this machine, whole or not at all."""
        with atomic_file(target) as temporary, map_errors(self.name, "reading"):
            if self._folder is None:
                self._session().download_file(name, str(temporary))
            else:
                temporary.write_bytes((self._folder / name).read_bytes())

    def write_text(self, name: str, text: str) -> None:
        """Write a text under a name, replacing one of that name."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "text"
            source.write_text(text, encoding="utf-8")
            self.write(name, source)

    def read_text(self, name: str) -> str:
        """Return a text."""
        with tempfile.TemporaryDirectory() as folder:
            self.read(name, target := Path(folder) / "text")
            return target.read_text(encoding="utf-8")

    def _session(self) -> "LanceFileSession":
        from lance.file import LanceFileSession

        return LanceFileSession(self.name.rstrip("/"), self._options)
