"""Shared helpers of the tests of reading: write a file, read it, expect one result."""

from collections.abc import Sequence
from pathlib import Path

from clew.indexing.sources.reader import read_documents
from clew.types import Document, Failure


def only_documents(results: Sequence[Document | Failure]) -> list[Document]:
    failures = [result for result in results if isinstance(result, Failure)]
    assert failures == []
    return [result for result in results if isinstance(result, Document)]


def read_single(path: Path) -> Document:
    (document,) = only_documents(list(read_documents([path])))
    return document


def read_failure(path: Path) -> Failure:
    (result,) = read_documents([path])
    assert isinstance(result, Failure)
    return result


def write_file(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return path
