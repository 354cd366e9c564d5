"""Paths of the parts of an index, on a disk or in an object store."""

import os
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from urllib.parse import urlsplit

from clew.errors import InputError
from clew.plugins.folders import cache_folder

TABLE_FOLDER = "passages.lance"
"""Name of the passages table; a folder that has it is an index."""
INDEX_PARTS = (
    TABLE_FOLDER, "derived", "clew.lock", "calls.sqlite", "sources.jsonl", "watched", "uploads", "damaged",
    "memory.jsonl", "memory.lock",
)  # fmt: skip
"""The names of what an index has in its folder."""


@dataclass(frozen=True, slots=True)
class Location:
    """Paths of the parts of one index."""

    name: str  # path or URI as the user gave it, for messages
    table: str  # path or URI of the passages table
    derived: Path  # local folder of all data that can be recomputed
    lock: Path  # local file that the writer locks
    remote: bool = False  # whether the table lies in an object store
    storage_options: Mapping[str, str] = field(default_factory=dict)  # Lance's; {}: `AWS_*` variables

    def check_links(self) -> None:
        """Raise an InputError where a part of the index on this machine is a symbolic link: none is followed.

        They are looked for in all folders of the index. A link could lead a repair to files of others; that the index's
        folder itself is one is the user's choice.
        """
        if link := next(_links_below(self.derived.parent, INDEX_PARTS), None):
            raise InputError(
                f"{link} is a symbolic link, and links inside an index are not followed: put what it leads to there, "
                "or remove it"
            )

    def derived_in_cache(self) -> "Location":
        """Return a copy whose derived data lie in the user's cache folder, as those of an object store do."""
        return replace(self, derived=_home_in_cache(self.absolute_name) / "derived")

    @property
    def absolute_name(self) -> str:
        """The name by which a process with another working folder finds the index."""
        return self.name if self.remote else str(Path(self.table).parent)


def locate(location: str | Path | Location, storage_options: Mapping[str, str] | None = None) -> Location:
    """Return the paths of the index at a folder or an object-store URI; nothing is read or created.

    The location is a folder, `file://...`, `s3://bucket/prefix` or another URI of Lance; "", or a URI without a bucket,
    is an InputError. `storage_options` are Lance's (keys, region, endpoint), for a URI only.
    """
    if isinstance(location, Location):
        return location
    name = str(location)
    if not name.strip():
        raise InputError('the index location is "": give a folder or an s3://bucket/prefix URI')
    if "://" in name and not name.startswith("file://"):
        if not name.partition("://")[2].strip("/"):
            raise InputError(f"the index location is {name!r}, which names no bucket: give s3://bucket/prefix")
        home = _home_in_cache(name.rstrip("/"))
        table = f"{name.rstrip('/')}/{TABLE_FOLDER}"
        options = dict(storage_options or {})
        return Location(name, table, home / "derived", home / "clew.lock", remote=True, storage_options=options)
    folder = (_path_of_address(name) if name.startswith("file://") else Path(name).expanduser()).absolute()
    return Location(name, str(folder / TABLE_FOLDER), folder / "derived", folder / "clew.lock")


def _home_in_cache(name: str) -> Path:
    return cache_folder() / "indexes" / blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _path_of_address(address: str) -> Path:
    """Return the path that a `file://` address names, with a drive on Windows."""
    from urllib.request import url2pathname  # loads the modules of HTTP

    return Path(url2pathname(urlsplit(address).path))


def _links_below(folder: Path, names: Container[str] | None = None) -> Iterator[str]:
    """Yield the symbolic links in a folder, at any depth; `names` are those in it that are looked at, None for all."""
    folders = []
    with suppress(OSError), os.scandir(folder) as entries:  # where it is missing, who reads it says so
        for entry in entries:
            if names is not None and entry.name not in names:
                continue
            if entry.is_symlink():
                yield entry.path
            elif entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry.path))
    for below in folders:
        yield from _links_below(below)


def reply_cache_path(location: Location) -> Path:
    """Return the file that caches the replies of language models for an index."""
    return location.derived.parent / "calls.sqlite"


def source_register_path(location: Location) -> Path:
    """Return the file that says which files the documents of an index were read from."""
    return location.derived.parent / "sources.jsonl"


def watched_state_path(location: Location, folder: Path) -> Path:
    """Return the file that holds the state of a folder that an index is kept up to date with."""
    key = blake2b(str(folder.resolve()).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return location.derived.parent / "watched" / f"{key}.jsonl"
