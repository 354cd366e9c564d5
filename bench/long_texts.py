"""Five long plain texts of different kinds, made of documentation that lies on a machine.

Each is one file without titles: a manual (GNU info pages), a textbook (the Rust book), licences, the documentation
strings of Python's standard library, and release notes (git).
"""

import ast
import gzip
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

_MANUALS = ("coreutils", "find", "gnupg", "sed", "wget")
_BLOCKS = {"p", "li", "tr", "h1", "h2", "h3", "h4", "pre", "div", "blockquote", "dt", "dd", "ul", "ol", "table"}
_HIDDEN = {"script", "style", "nav", "head", "noscript", "button"}


@dataclass(frozen=True, slots=True)
class LongText:
    """One kind of text.

    Attributes:
        name: Name of the kind and of its files.
        source: Folder or file that is read unless another one is given.
        description: What is read there.
    """

    name: str
    source: Path
    description: str


KINDS = {
    kind.name: kind
    for kind in (
        LongText("manual", Path("/usr/share/info"), f"GNU info pages: {', '.join(_MANUALS)}"),
        LongText(
            "textbook", Path.home() / ".rustup", "The Rust Programming Language: the book, as rust-docs installs it"
        ),
        LongText("licences", Path("/usr/share/common-licenses"), "the common licences of a Debian system"),
        LongText("library", Path(sysconfig.get_path("stdlib")), "documentation strings of Python's standard library"),
        LongText("releases", Path("/usr/share/doc/git/RelNotes"), "release notes of git from 2.0 on"),
    )
}


def read_text(kind: str, source: Path) -> str:
    """Return the text of one kind; raises SystemExit, with one line, where the source does not hold it."""
    readers = {
        "manual": read_manuals,
        "textbook": read_book,
        "licences": read_licences,
        "library": read_docstrings,
        "releases": read_release_notes,
    }
    text = "\n\n".join(part for part in readers[kind](source) if part.strip())
    if not text:
        raise SystemExit(
            f"{source} holds no text of the kind {kind} ({KINDS[kind].description}): "
            f"install it, or give another place as --source {kind}=PATH"
        )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def read_manuals(folder: Path) -> Iterator[str]:
    """Yield the nodes of info files in order, without headers, menus and indexes."""
    for name in _MANUALS:
        parts = [folder / f"{name}.info.gz", *sorted(folder.glob(f"{name}.info-*.gz"))]
        for path in parts:
            if path.is_file():
                yield from _info_nodes(gzip.decompress(path.read_bytes()).decode("utf-8", "replace"))


def read_book(folder: Path) -> Iterator[str]:
    """Yield the text of the Rust book from the newest toolchain below a folder, or from a page that holds all of it."""
    pages = [folder] if folder.is_file() else sorted(folder.glob("**/html/book/print.html"))
    for page in pages[-1:]:
        yield _html_text(page.read_text(encoding="utf-8"))


def read_licences(folder: Path) -> Iterator[str]:
    """Yield each licence once."""
    seen: set[Path] = set()
    for path in sorted(folder.glob("*")):
        if path.is_file() and path.resolve() not in seen:
            seen.add(path.resolve())
            yield path.read_text(encoding="utf-8", errors="replace").replace("\x0c", "\n")


def read_docstrings(folder: Path) -> Iterator[str]:
    """Yield the documentation strings of public modules, classes and functions, with names and arguments."""
    for path in sorted(folder.glob("[a-z]*.py")):
        tree = ast.parse(path.read_bytes())
        if module := ast.get_docstring(tree):
            yield f"{path.stem}\n{module}"
        yield from _docstrings(tree.body, path.stem)


def read_release_notes(folder: Path) -> Iterator[str]:
    """Yield the notes of the feature releases from 2.0 on, by version."""
    versions = {tuple(int(part) for part in path.stem.split(".")): path for path in folder.glob("2.*.0.txt")}
    for version in sorted(versions):
        yield versions[version].read_text(encoding="utf-8")


def _info_nodes(text: str) -> Iterator[str]:
    for node in text.split("\x1f")[1:]:
        header, _, body = node.lstrip("\n").partition("\n")
        if header.startswith("File:") and "\x00\x08[index" not in body:
            yield re.sub(r"(?m)^\* (?:Menu:|.*::.*)\n", "", body.replace("\x00", ""))


def _docstrings(body: Sequence[ast.stmt], owner: str) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        arguments = "" if isinstance(node, ast.ClassDef) else f"({ast.unparse(node.args)})"
        if text := ast.get_docstring(node):
            yield f"{owner}.{node.name}{arguments}\n{text}"
        if isinstance(node, ast.ClassDef):
            yield from _docstrings(node.body, f"{owner}.{node.name}")


def _html_text(page: str) -> str:
    reader = _PageText()
    reader.feed(page)
    lines = (line.rstrip() for line in "".join(reader.pieces).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


class _PageText(HTMLParser):
    """Collects what `main` of a page shows; each block has lines of its own, and only listings keep line breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []
        self._hidden = 1  # until `main` begins
        self._listing = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self._hidden += (tag in _HIDDEN) - (tag == "main")
        self._listing += tag == "pre"
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        self._hidden += (tag == "main") - (tag in _HIDDEN)
        self._listing -= tag == "pre"
        if tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data if self._listing else re.sub(r"\s+", " ", data))
