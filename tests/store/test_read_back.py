"""What is written is read back before it is committed: a write that was lost changes nothing."""

import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from clew.errors import ProviderError
from clew.store import commits, dataset, read_back
from clew.store.passage_table import PassageTable
from clew.store.read_back import count_bitmap
from clew.store.verify import verify
from tests.store.rows import SETTINGS, WIDTH, make_documents, make_index


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def fail_writes(monkeypatch: pytest.MonkeyPatch, module: str, name: str, damage: Callable[[Path], None]) -> None:
    """Damage each new file before it is read back by a function, as Lance leaves it whose last write failed."""
    original = getattr(read_back, name)

    def damaged(location: object, fragments: list[lance.FragmentMetadata]) -> None:
        for fragment in fragments:
            for path in files_of(Path(str(vars_of(location)["table"])), fragment, name):
                damage(path)
        original(location, fragments)

    monkeypatch.setattr(f"{module}.{name}", damaged)


def vars_of(location: object) -> dict[str, object]:
    return {"table": getattr(location, "table")}  # noqa: B009


def files_of(table: Path, fragment: lance.FragmentMetadata, name: str) -> list[Path]:
    if name == "check_data_files":
        return [table / "data" / file.path for file in fragment.files]
    return [read_back.deletion_path(table, fragment)]


@pytest.mark.parametrize("damage", [cut, empty, Path.unlink])
def test_a_data_file_that_was_not_written_whole_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    table = make_index(tmp_path, ("a", 3), ("b", 2))
    before = PassageTable.open(tmp_path).document_hashes()
    with monkeypatch.context() as patch:
        fail_writes(patch, "clew.store.passage_table", "check_data_files", damage)
        for write in (
            lambda: table.replace(make_documents(("c", 2)), ["c"]),
            lambda: table.replace(make_documents(("a", 1), state="2"), ["a"]),
            lambda: table.write_fragments(make_documents(("c", 2)), ["c"]),
        ):
            with pytest.raises(ProviderError, match=r"does not read back .* was not committed"):
                write()
    with monkeypatch.context() as patch:
        fail_writes(patch, "clew.store.commits", "check_data_files", damage)
        with pytest.raises(ProviderError, match="was not committed"):
            table.compact()
    assert PassageTable.open(tmp_path).version == table.version
    assert PassageTable.open(tmp_path).document_hashes() == before
    assert verify(tmp_path) == []
    table.replace(make_documents(("c", 2)), ["c"])
    assert sorted(table.document_hashes()) == ["a", "b", "c"]


@pytest.mark.parametrize("damage", [cut, empty, Path.unlink])
@pytest.mark.parametrize("count", [1, 5_500])
def test_a_file_of_deleted_rows_that_was_not_written_whole_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None], count: int
) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    sizes = (("a", count), ("b", 2))
    table.replace(make_documents(*sizes), ["a", "b"])
    with monkeypatch.context() as patch:
        fail_writes(patch, "clew.store.commits", "check_deletion_files", damage)
        for write in (
            lambda: table.delete(["a"]),
            lambda: table.replace(make_documents(("a", 1), state="2"), ["a"]),
        ):
            with pytest.raises(ProviderError, match=r"does not read back .* was not committed"):
                write()
    assert PassageTable.open(tmp_path).version == table.version
    assert verify(tmp_path) == []
    assert table.delete(["a"]) == count
    assert {file.suffix for file in (tmp_path / "passages.lance" / "_deletions").iterdir()} == {
        ".arrow" if count == 1 else ".bin"
    }
    assert PassageTable.open(tmp_path).document_hashes() == {"b": "b/1"}


def test_a_version_that_does_not_read_back_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make_index(tmp_path, ("a", 3))
    original = dataset.open_dataset

    def damaged(location: object, version: int | None = None) -> object:
        cut(read_back.manifest_path(location, version or 0))  # type: ignore[arg-type]
        return original(location, version)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(commits, "open_dataset", damaged)
        with pytest.raises(ProviderError, match=r"version 3, just written .* does not read back .* was taken back"):
            table.replace(make_documents(("b", 1)), ["b"])
    table = PassageTable.open(tmp_path)
    assert (table.version, table.document_hashes()) == (2, {"a": "a/1"})
    table.replace(make_documents(("b", 1)), ["b"])
    assert verify(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no handle to flush")
def test_files_and_versions_are_flushed_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: set[str] = set()
    original = os.fsync

    def note(descriptor: int) -> None:
        flushed.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        original(descriptor)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("no list of open files")
    monkeypatch.setattr(os, "fsync", note)
    table = make_index(tmp_path / "index", ("a", 3), ("b", 2))
    table.replace(make_documents(("a", 1), ("c", 2), state="2"), ["a", "c"])
    table.delete(["c"])
    root = tmp_path / "index" / "passages.lance"
    durable = [*(root / "data").iterdir(), *(root / "_deletions").iterdir(), *(root / "_versions").glob("*.manifest")]
    folders = [root / "data", root / "_versions", root, root.parent]
    assert {str(path) for path in [*durable, *folders]} <= flushed


@pytest.mark.parametrize("stored", ["few", "many", "runs", "none"])
def test_bitmaps_are_counted_as_lance_writes_them(tmp_path: Path, stored: str) -> None:
    generator = np.random.default_rng(3)
    values = {
        "few": generator.choice(200_000, 6_000, replace=False),
        "many": generator.choice(70_000, 60_000, replace=False),
        "runs": np.r_[0:50_000, 70_000:70_010, 131_000:140_000],
        "none": np.arange(5_001),
    }[stored]
    fragment = lance.write_dataset(pa.table({"a": np.arange(200_000)}), str(tmp_path / "t")).get_fragment(0)
    assert fragment is not None
    changed = fragment.delete_rows(values.tolist())
    assert changed is not None
    data = read_back.deletion_path(tmp_path / "t", changed).read_bytes()
    assert count_bitmap(data) == len(values)
    for length in (0, 3, len(data) // 2, len(data) - 1):
        with pytest.raises((ValueError, struct.error)):
            count_bitmap(data[:length])
