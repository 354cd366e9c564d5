"""The files to read: given paths, folders walked in sorted order, each file with the id and the kind it will have."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from clew.types import Document, Failure

PROSE = frozenset({".txt", ".md", ".markdown"})
JSON_LINES = frozenset({".jsonl", ".ndjson"})
TABLES = {".csv": ",", ".tsv": "\t"}
CONVERTED = frozenset({".pdf", ".docx", ".pptx", ".html", ".htm"})
READABLE = PROSE | JSON_LINES | TABLES.keys() | CONVERTED


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read.

    Attributes:
        id: The path relative to the folder that was given, with forward slashes; else the file's name.
        item: How failures name the file: the path as given, joined with the relative one.
    """

    path: Path
    id: str
    item: str

    @property
    def suffix(self) -> str:
        """The suffix in lower case with its dot, "" when there is none."""
        return self.path.suffix.lower()

    @property
    def name(self) -> str:
        """The file's name without its suffix, `-` and `_` as spaces."""
        return " ".join(self.path.stem.replace("-", " ").replace("_", " ").split())


class Found(NamedTuple):
    """A document and the place it was read from, a path or `path:line`."""

    item: str
    document: Document


class _Entry(NamedTuple):
    """A name in a folder; `order` ends in a slash for a folder, so that sorting sorts whole relative paths."""

    order: str
    path: str
    kind: str
    link: bool


def sources(path: Path) -> Iterator[Source | Failure]:
    """Yield the readable files of a path that exists, in the order of their ids, and a failure for each other file.

    Hidden files and folders are skipped. A link to a folder is followed unless its target is read by its own name;
    no folder is entered twice, so that a loop of links ends.
    """
    if path.is_dir():
        yield from (_checked(found) for found in _walk(str(path)))
    else:
        yield _checked(_Entry(path.name, str(path), "file" if path.is_file() else "other", link=False))


def printable(name: str | Path) -> str:
    """Return a path as it can be shown and stored: the lone surrogates of a name that is no UTF-8 are escaped."""
    return str(name).encode("utf-8", "backslashreplace").decode("utf-8")


def _checked(found: _Entry | Failure) -> Source | Failure:
    if isinstance(found, Failure):
        return found
    item = printable(found.path)
    if found.kind != "file":
        return Failure(item, "not a regular file, or a link that leads nowhere")
    source = Source(Path(found.path), found.order, item)
    if source.suffix not in READABLE:
        suffix = printable(source.suffix) or "no suffix"
        return Failure(item, f"not a kind of file that can be read: {suffix} (wanted {', '.join(sorted(READABLE))})")
    if printable(source.id) != source.id:
        return Failure(item, "the file's name is not valid UTF-8, so it cannot be the document's id; rename the file")
    return source


def _walk(root: str) -> Iterator[_Entry | Failure]:
    """Yield the files under `root` in the order of their relative paths."""
    top = os.path.realpath(root)
    entered: set[tuple[int, int]] = set()
    # A stack and not recursion: folders may nest deeper than Python's recursion limit.
    waiting = [_Entry("", root, "folder", link=False)]
    while waiting:
        entry = waiting.pop()
        if entry.kind != "folder":
            yield entry
        elif not (entry.link and _read_by_its_own_name(entry.path, top)):
            try:
                waiting.extend(reversed(_entries(entry, entered)))
            except OSError as error:
                yield Failure(printable(entry.path), f"the folder cannot be opened: {error.strerror or error}")


def _entries(folder: _Entry, entered: set[tuple[int, int]]) -> list[_Entry]:
    status = Path(folder.path).stat()
    if (status.st_dev, status.st_ino) in entered:
        return []
    entered.add((status.st_dev, status.st_ino))
    with os.scandir(folder.path) as listing:
        return sorted(_entry(folder.order, found) for found in listing if not found.name.startswith("."))


def _entry(prefix: str, found: os.DirEntry[str]) -> _Entry:
    try:
        kind = "folder" if found.is_dir() else "file" if found.is_file() else "other"
    except OSError:  # a link that leads to itself
        kind = "other"
    slash = "/" if kind == "folder" else ""
    return _Entry(f"{prefix}{found.name}{slash}", found.path, kind, found.is_symlink())


def _read_by_its_own_name(link: str, top: str) -> bool:
    """Whether the target of a link lies under `top` and not in a hidden folder of it."""
    target = os.path.realpath(link)
    if target != top and not target.startswith(top.rstrip(os.sep) + os.sep):
        return False
    return not any(part.startswith(".") for part in Path(target[len(top) :]).parts)
