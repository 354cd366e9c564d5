"""What is written is read back before it is committed: a write that was lost changes nothing."""

import errno
import os
import re
import struct
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from unittest.mock import patch

import lance
import numpy as np
import pyarrow as pa
import pytest

from clew.errors import IndexFormatError, ProviderError
from clew.store import commits, dataset, deletion_files
from clew.store.deletion_files import count_bitmap, deletion_path, stored_checksums
from clew.store.inspection import verify
from clew.store.integrity import CHECKSUM_BYTES
from clew.store.location import Location, locate
from clew.store.passage_table import PassageTable
from clew.store.repair import repair
from tests.faults.python_process import run_python
from tests.store.rows import SETTINGS, WIDTH, make_documents, make_index


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def fail_writes(monkeypatch: pytest.MonkeyPatch, module: str, name: str, damage: Callable[[Path], None]) -> None:
    """Damage each new file before it is read back by a function, as Lance leaves it whose last write failed."""
    original = getattr(commits, name)

    def damaged(location: Location, fragments: list[lance.FragmentMetadata]) -> object:
        table = Path(location.table)
        for fragment in fragments:
            data = [table / "data" / file.path for file in fragment.files]
            for path in data if name == "check_data_files" else [deletion_path(table, fragment)]:
                damage(path)
        return original(location, fragments)

    monkeypatch.setattr(f"{module}.{name}", damaged)


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
        fail_writes(patch, "clew.store.commits", "check_new_deletions", damage)
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
        cut(dataset.manifest_path(location, version or 0))  # type: ignore[arg-type]
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
    data = deletion_path(tmp_path / "t", changed).read_bytes()
    assert count_bitmap(data) == len(values)
    for length in (0, 3, len(data) // 2, len(data) - 1):
        with pytest.raises((ValueError, struct.error)):
            count_bitmap(data[:length])


def test_a_flipped_bit_that_lance_aborts_on_is_one_line(tmp_path: Path) -> None:
    """Lance takes the size of a block from the file's footer, and aborts where it gets no memory for it."""
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", 1), ("b", 1), ("c", 1)), ["a", "b", "c"])
    table.delete(["a"])
    (file,) = (tmp_path / "passages.lance" / "_deletions").iterdir()
    data = bytearray(file.read_bytes())
    data[-20] ^= 1
    file.write_bytes(data)
    lines = run_python(READS, tmp_path).splitlines()
    assert len(lines) == READS.count("lambda")
    for line in lines:
        assert re.search(r"the file of deleted rows \S+\.arrow is not what was written .*: run `clew repair`", line), (
            line
        )
    assert repair(tmp_path)[0].startswith("undone: the changes since version 2, which is whole (the deletion file of ")
    assert verify(tmp_path) == []


@pytest.mark.parametrize("count", [1, 5_500])
def test_any_flipped_bit_in_a_file_of_deleted_rows_is_found_before_lance_reads_it(tmp_path: Path, count: int) -> None:
    """Lance ended the process on some bits of files that can be parsed."""
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", count), ("b", 1)), ["a", "b"])
    table.delete(["a"])
    location = locate(tmp_path)
    current = dataset.open_existing(location)
    (file,) = (tmp_path / "passages.lance" / "_deletions").iterdir()
    intact = file.read_bytes()
    step = max(1, len(intact) // 150)
    for position in range(0, len(intact), step):
        changed = bytearray(intact)
        changed[position] ^= 1 << position // step % 8
        file.write_bytes(changed)
        with pytest.raises(IndexFormatError, match="its checksum differs"):
            deletion_files.check_stored_deletions(location, current)
    with patch("clew.store.inspection.crashing_fragments", return_value=set()) as probe:
        assert verify(tmp_path)[0].startswith("the deletion file of data file ")
        file.write_bytes(intact)
        assert verify(tmp_path) == []
    assert [call.args[2] for call in probe.call_args_list] == [{0}, {0}]  # no process is started to try them
    assert PassageTable.open(tmp_path).document_hashes() == {"b": "b/1"}


def test_checksums_of_deleted_rows_outlive_commits_that_leave_their_files(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    for first in (0, 10, 20):
        ids = [f"d{number}" for number in range(first, first + 10)]
        table.replace(make_documents(*((id_, 1) for id_ in ids)), ids)
    table.delete(["d1"])
    table.delete(["d11", "d12"])
    table.replace(make_documents(("d30", 1)), ["d30"])
    location = locate(tmp_path)

    def checked_files() -> set[str]:
        current = dataset.open_existing(location)
        stored = stored_checksums(current, "index")
        deleted = [one.metadata for one in current.get_fragments() if one.metadata.deletion_file is not None]
        files = [deletion_path(Path(location.table), fragment) for fragment in deleted]
        assert stored == {
            file.name: blake2b(file.read_bytes(), digest_size=CHECKSUM_BYTES).hexdigest() for file in files
        }
        return set(stored)

    kept = checked_files()
    version = table.version
    assert len(kept) == 2
    table.delete([f"d{number}" for number in range(10)])
    assert len(checked_files()) == 1
    commits.commit_restore(location, version)
    assert checked_files() == kept
    PassageTable.open(tmp_path).compact()
    assert checked_files() == set()


READS = """
import sys
import pyarrow as pa
from clew.errors import ClewError
from clew.store.commits import commit_restore
from clew.store.integrity import CHECKSUM_BYTES
from clew.store.location import Location, locate
from clew.store.passage_table import PassageTable
from clew.store.rewriting import TableRewriter
from tests.store.rows import make_documents

place = sys.argv[1]
table = PassageTable.open(place)
strings = pa.array(["b"], pa.string())
for step in (
    lambda t: t.document_hashes(),
    lambda t: t.stored_documents(),
    lambda t: t.count_rows(),
    lambda t: t.read(["id"]),
    lambda t: list(t.iter_shards()),
    lambda t: t.find_conflicts(strings, strings),
    lambda t: t.read_documents(["b"]),
    lambda t: t.read_fragment(t.fragments()[0]),
    lambda t: t.replace(make_documents(("b", 1), state="2"), ["b"]),
    lambda t: t.delete(["b"]),
    lambda t: t.commit_fragments([], strings),
    lambda t: t.compact(),
    lambda t: commit_restore(locate(place), t.version),
    lambda t: list(TableRewriter(t).blocks(["id"])),
):
    try:
        step(PassageTable.open(place))
    except ClewError as error:
        print(error, flush=True)
"""


@pytest.mark.parametrize("count", [3, 5_500])
def test_a_file_of_deleted_rows_that_may_not_be_read_now_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    table.replace(make_documents(("a", count), ("b", 1)), ["a", "b"])
    table.delete(["a"])

    def fail(_: Path) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "read_bytes", fail)
    for run in (lambda: PassageTable.open(tmp_path).document_hashes(), lambda: verify(tmp_path)):
        with pytest.raises(ProviderError, match="too many files are open"):
            run()
