"""Discovery of source files: given paths, and the files of folders in sorted order."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from clew.indexing.sources.conversion import KINDS
from clew.store.location import INDEX_PARTS, TABLE_FOLDER
from clew.types import Document, Failure

MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
TEXT_SUFFIXES = frozenset({".txt", ".text", ".log", ".tex", ".org"})
CODE_SUFFIXES = frozenset({
    ".bash", ".bat", ".c", ".cc", ".cfg", ".conf", ".cpp", ".cs", ".css", ".go", ".h", ".hpp",
    ".ini", ".java", ".jl", ".js", ".jsx", ".kt", ".lua", ".pl", ".php", ".ps1", ".py", ".pyi",
    ".r", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".toml", ".ts", ".tsx", ".xml", ".xsd",
    ".xsl", ".yaml", ".yml",
})  # fmt: skip
PLAIN_NAMES = frozenset({
    "authors", "changelog", "contributing", "copying", "install", "license", "licence", "news",
    "notice", "readme", "todo",
})  # fmt: skip
"""The names without a suffix that are texts, in lower case."""
JSON_LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
TABLE_SUFFIXES = frozenset({".csv", ".tsv"})
ARCHIVE_SUFFIXES = frozenset({".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz"})
RECORD_SUFFIXES = JSON_LINES_SUFFIXES | TABLE_SUFFIXES | {".json", ".mbox"} | ARCHIVE_SUFFIXES  # of many documents
READABLE_SUFFIXES = (MARKDOWN_SUFFIXES | TEXT_SUFFIXES | CODE_SUFFIXES | RECORD_SUFFIXES | {*KINDS}) - ARCHIVE_SUFFIXES
_NEWER = {".xls": ".xlsx", ".ppt": ".pptx"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read."""

    path: Path
    id: str  # the path relative to the given folder, with forward slashes; for a given file its name
    item: str  # name of the file in failures: the path as given, joined with the relative one
    label: str = ""  # name without suffix, where the path has another one, as for a file that was sent to a server
    folder: str = ""  # path without links of the folder that the id is relative to, "" for a file that is in none
    real_path: str = ""  # path without links
    registered: tuple[str, str] = ("", "")  # folder and path in it that a register knows the file by

    @property
    def suffix(self) -> str:
        """The suffix in lower case with its dot, "" when there is none."""
        return self.path.suffix.lower()

    def with_id(self, id_: str, registered: tuple[str, str]) -> "SourceFile":
        """Return the file under another id."""
        return replace(self, id=id_, registered=registered)

    @property
    def file_name(self) -> str:
        """The file's name with its suffix, as it is known."""
        return self.id.rpartition("/")[2]

    @property
    def name(self) -> str:
        """The file's name without its suffix, with `-` and `_` as spaces."""
        return " ".join((self.label or self.path.stem).replace("-", " ").replace("_", " ").split())


class SourcedDocument(NamedTuple):
    """A document and the place it was read from, a path or `path:line`."""

    item: str
    document: Document


class _Entry(NamedTuple):
    """A name in a folder; `order` ends in a slash for a folder, so that sorting names sorts whole relative paths."""

    order: str
    path: str
    kind: str
    is_link: bool
    real_path: str


def find_sources(path: Path, outer_links: dict[str, str] | None = None) -> Iterator[SourceFile | Failure]:
    """Yield the readable files of an existing path, in the order of their ids, and a failure for each other file.

    An archive is one where it is the path itself.
    Hidden files and folders are skipped, and so are indexes of Clew, within a folder or beside its files. A link within
    a folder is followed unless its target is itself read, or lies outside of the folder: such links and the paths that
    they lead to are added to `outer_links`. The path itself may be a link to anywhere. No folder is entered twice, so
    that loops of links end.
    """
    if path.is_dir():
        top = os.path.realpath(path)
        skipped = {} if outer_links is None else outer_links
        yield from (_check_entry(entry, top) for entry in _walk_folder(str(path), top, skipped))
    else:
        kind = "file" if path.is_file() else "other"
        entry = _Entry(path.name, str(path), kind, is_link=False, real_path=os.path.realpath(path))
        yield _check_entry(entry, os.path.realpath(path.parent), is_given=True)


def is_readable(path: Path) -> bool:
    """Return whether a file is of a kind that can be read, by its name."""
    return path.suffix.lower() in READABLE_SUFFIXES or path.name.lower() in PLAIN_NAMES


def printable_path(name: str | Path) -> str:
    """Return a path that can be printed and stored: lone surrogates of names that are not UTF-8 are escaped."""
    return str(name).encode("utf-8", "backslashreplace").decode("utf-8")


def _check_entry(entry: _Entry | Failure, folder: str, *, is_given: bool = False) -> SourceFile | Failure:
    if isinstance(entry, Failure):
        return entry
    item = printable_path(entry.path)
    if entry.kind != "file":
        return Failure(item, "not a regular file, or a link that leads nowhere")
    source = SourceFile(Path(entry.path), entry.order, item, folder=folder, real_path=entry.real_path)
    is_archive = source.suffix in ARCHIVE_SUFFIXES
    if is_archive and not is_given:
        return Failure(item, "an archive is read where it is given by itself, as a path of clew index; or unpack it")
    if not (is_readable(source.path) or is_archive):
        suffix = printable_path(source.suffix) or "no suffix"
        wanted = _NEWER.get(suffix, ".md, .txt, .html, .docx, .pdf, .csv or the like")
        return Failure(item, f"not a kind of file that can be read: {suffix}; leave it out, or save it as {wanted}")
    if printable_path(source.id) != source.id:
        return Failure(item, "the file's name is not valid UTF-8, so it cannot be the document's id; rename the file")
    return source


def _walk_folder(root: str, top: str, outer_links: dict[str, str]) -> Iterator[_Entry | Failure]:
    entered: set[tuple[int, int]] = set()
    # A stack instead of recursion: folders may nest deeper than Python's recursion limit.
    waiting = [_Entry("", root, "folder", is_link=False, real_path=top)]
    while waiting:
        entry = waiting.pop()
        if entry.is_link and entry.kind != "other" and not _is_below(entry.real_path, top):
            outer_links[printable_path(entry.path)] = printable_path(entry.real_path)
        elif entry.kind != "folder":
            if not (entry.is_link and _is_read_directly(entry, top)):
                yield entry
        elif not (entry.is_link and _is_walked_directly(entry.path, top)):
            try:
                waiting.extend(reversed(_list_folder(entry, entered)))
            except OSError as error:
                yield Failure(printable_path(entry.path), f"the folder cannot be opened: {error.strerror or error}")


def _list_folder(folder: _Entry, entered: set[tuple[int, int]]) -> list[_Entry]:
    status = Path(folder.path).stat()
    if (status.st_dev, status.st_ino) in entered:
        return []
    entered.add((status.st_dev, status.st_ino))
    with os.scandir(folder.path) as listing:
        found = [listed for listed in listing if not listed.name.startswith(".")]
    if any(listed.name == TABLE_FOLDER and listed.is_dir() for listed in found):  # an index, which is no document
        found = [] if folder.order else [listed for listed in found if listed.name not in INDEX_PARTS]
    return sorted(_make_entry(folder, listed) for listed in found)


def _make_entry(parent: _Entry, listed: os.DirEntry[str]) -> _Entry:
    try:
        kind = "folder" if listed.is_dir() else "file" if listed.is_file() else "other"
    except OSError:  # a link that leads to itself
        kind = "other"
    slash = "/" if kind == "folder" else ""
    is_link = listed.is_symlink()
    real_path = os.path.realpath(listed.path) if is_link else f"{parent.real_path.rstrip(os.sep)}{os.sep}{listed.name}"
    return _Entry(f"{parent.order}{listed.name}{slash}", listed.path, kind, is_link, real_path)


def _is_read_directly(link: _Entry, top: str) -> bool:
    """Return whether a link to a file leads to one that is read from the same folder."""
    return link.kind == "file" and is_readable(Path(link.real_path)) and _is_walked_directly(link.path, top)


def _is_walked_directly(link: str, top: str) -> bool:
    """Return whether the target of a link lies under `top` outside of hidden folders."""
    target = os.path.realpath(link)
    return _is_below(target, top) and not any(part.startswith(".") for part in Path(target[len(top) :]).parts)


def _is_below(target: str, top: str) -> bool:
    """Return whether a path without links is a folder or lies in it."""
    return target == top or target.startswith(top.rstrip(os.sep) + os.sep)
