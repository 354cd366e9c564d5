"""Small real rows for the tests of the store."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from clew.store.passage_table import PassageTable
from clew.store.schema import PassageRow, rows_to_table
from clew.types import Mention

WIDTH = 4
SETTINGS = {"encoder": {"name": "none", "dimension": WIDTH}, "tau": 0.8, "title": "Köln"}


def make_row(document_id: str, ordinal: int, state: str = "1", id_: str | None = None) -> PassageRow:
    text = f"London is passage {ordinal} in state {state}."
    return PassageRow(
        id=f"{document_id}#{ordinal}" if id_ is None else id_,
        document_id=document_id,
        ordinal=ordinal,
        title=f"Title of {document_id}",
        text=text,
        start=ordinal * 100,
        end=ordinal * 100 + len(text),
        metadata={"year": 1990, "lang": "日本"},
        aliases=("alias",) if ordinal else (),
        links=("a.md", "b.md"),
        document_hash=f"{document_id}/{state}",
        mentions=(Mention("London", "name", 0, 6), Mention("elsewhere")),
        triples=(("London", "is", f"passage {ordinal}"),),
        failure=None if ordinal else "no reply",
        extractor="rules",
        vector=np.eye(WIDTH, dtype=np.float32)[ordinal % WIDTH] if ordinal != 1 else None,
    )


def make_documents(*sizes: tuple[str, int], state: str = "1") -> pa.Table:
    return rows_to_table([make_row(id_, n, state) for id_, size in sizes for n in range(size)], WIDTH)


def make_index(folder: Path, *sizes: tuple[str, int]) -> PassageTable:
    """Return an index with one commit for each document."""
    table = PassageTable.create(folder, SETTINGS, WIDTH)
    for id_, size in sizes:
        table.replace(make_documents((id_, size)), [id_])
    return table


def data_files(folder: Path) -> list[Path]:
    return sorted((folder / "passages.lance" / "data").glob("*.lance"), key=lambda file: file.stat().st_mtime_ns)


def leave_out_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read files of deleted rows as those of indexes that were made before they had checksums."""
    for module in ("deletion_files", "inspection"):
        monkeypatch.setattr(f"clew.store.{module}.stored_checksums", lambda *_: {})
