"""What the tests of reading share: write a file, read it, expect one result."""

from collections.abc import Sequence
from pathlib import Path

from clew.indexing.sources.reader import read
from clew.types import Document, Failure


def documents(found: Sequence[Document | Failure]) -> list[Document]:
    failures = [one for one in found if isinstance(one, Failure)]
    assert failures == []
    return [one for one in found if isinstance(one, Document)]


def single(path: Path) -> Document:
    (document,) = documents(list(read([path])))
    return document


def failure(path: Path) -> Failure:
    (found,) = read([path])
    assert isinstance(found, Failure)
    return found


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path
