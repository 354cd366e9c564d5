"""What the tests of reading share: write a file, read it, expect one result."""

from collections.abc import Sequence
from pathlib import Path

from clew.indexing.sources.reader import read_documents
from clew.types import Document, Failure


def only_documents(found: Sequence[Document | Failure]) -> list[Document]:
    failures = [one for one in found if isinstance(one, Failure)]
    assert failures == []
    return [one for one in found if isinstance(one, Document)]


def read_single(path: Path) -> Document:
    (document,) = only_documents(list(read_documents([path])))
    return document


def read_failure(path: Path) -> Failure:
    (found,) = read_documents([path])
    assert isinstance(found, Failure)
    return found


def write_file(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path
