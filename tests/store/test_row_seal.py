"""The set of rows is sealed: rows that come back, are lost, or a lost newest version are noticed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import IndexFormatError
from clew.store.dataset import manifest_path
from clew.store.inspection import verify
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.row_seal import RowSeal, compute_seal, stored_seal
from tests.store.rows import SETTINGS, WIDTH, leave_out_checksums, make_documents, make_index

DELETED = [f"d{number}" for number in range(0, 40, 3)]


def to_array(numbers: list[int]) -> pa.Array:
    return pa.array([number.to_bytes(8, "little") for number in numbers], type=pa.binary(8))


def slow_seal(numbers: list[int]) -> RowSeal:
    """Return the seal by its definition, number by number."""
    mixed = 0
    for number in numbers:
        value = number ^ (number >> 30)
        value = value * 0xBF58476D1CE4E5B9 % 2**64
        value ^= value >> 27
        value = value * 0x94D049BB133111EB % 2**64
        mixed += value ^ (value >> 31)
    return RowSeal(len(numbers), sum(numbers) % 2**64, mixed % 2**64)


NUMBERS = st.lists(st.integers(0, 2**64 - 1), max_size=20)


@given(NUMBERS, NUMBERS)
@settings(max_examples=50)
def test_a_seal_follows_what_is_added_and_removed_in_any_order(some: list[int], others: list[int]) -> None:
    both = RowSeal.of_rows(to_array(others + some))
    assert both == slow_seal(some + others)
    assert both == RowSeal.of_rows(to_array(some)) + RowSeal.of_rows(to_array(others))
    assert both - RowSeal.of_rows(to_array(some)) == slow_seal(others)
    sliced = to_array([1, *some, 2]).slice(1, len(some))
    assert RowSeal.of_rows(pa.chunked_array([sliced, to_array(others)])) == both


def test_sets_of_one_sum_have_different_seals() -> None:
    one, other = (RowSeal.of_rows(to_array(numbers)) for numbers in ([1, 4], [2, 3]))
    assert one.plain == other.plain
    assert one != other


def seals(folder: Path) -> tuple[RowSeal | None, RowSeal]:
    dataset = lance.dataset(str(folder / "passages.lance"))
    return stored_seal(dataset, "index"), compute_seal(dataset, "index")


def test_every_commit_seals_the_rows_that_its_version_has(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, SETTINGS, WIDTH)
    assert seals(tmp_path) == (RowSeal(), RowSeal())
    table.replace(make_documents(("a", 3), ("b", 2)), ["a", "b"])
    table.replace(make_documents(("a", 1), ("c", 4), state="2"), ["a", "c"])
    stored, computed = seals(tmp_path)
    assert stored == computed
    assert computed.rows == 7
    table.delete(["b"])
    records = table.write_fragments(make_documents(("d", 2), ("c", 1)), ["d", "c"]).records
    table.commit_fragments(records, pa.array(["c"]))
    stored, computed = seals(tmp_path)
    assert stored == computed
    table.compact()
    assert seals(tmp_path) == (stored, stored)


def test_an_index_without_a_seal_is_read_and_gets_one_at_its_next_commit(tmp_path: Path) -> None:
    make_index(tmp_path, ("a", 3), ("b", 2))
    lance.dataset(str(tmp_path / "passages.lance")).delete("document_id = 'a'")
    assert seals(tmp_path)[0] is None
    table = PassageTable.open(tmp_path)
    assert table.document_hashes() == {"b": "b/1"}
    assert verify(tmp_path) == []
    table.replace(make_documents(("c", 1)), ["c"])
    stored, computed = seals(tmp_path)
    assert stored == computed
    assert computed.rows == 3


@pytest.fixture(scope="module")
def index_with_deletions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    table = PassageTable.create(folder, SETTINGS, WIDTH)
    ids = [f"d{number}" for number in range(40)]
    table.replace(make_documents(*((id_, 1) for id_ in ids)), ids)
    table.delete(DELETED)
    return folder


def flipped_rows(file: Path, count: int) -> Iterator[bytes]:
    """Yield a file of deleted rows with one bit of one row's number flipped, so that it is that of another row."""
    generator = np.random.default_rng(5)
    with pa.OSFile(str(file)) as source:
        rows = pa.ipc.open_file(source).read_all()
    numbers = rows.column(0).to_numpy()
    for _ in range(count):
        changed = numbers.copy()
        while len(np.unique(changed)) < len(numbers) or (changed == numbers).all() or changed.max() >= 40:
            changed = numbers.copy()
            changed[generator.integers(len(changed))] ^= 1 << int(generator.integers(6))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(pa.table([pa.array(changed)], schema=rows.schema))
        yield sink.getvalue().to_pybytes()


def test_a_flipped_bit_in_a_file_of_deleted_rows_never_gives_other_documents(
    index_with_deletions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seal finds it in an index whose files of deleted rows have no checksums, as one of before."""
    leave_out_checksums(monkeypatch)
    expected = PassageTable.open(index_with_deletions).document_hashes()
    index = tmp_path / "index"
    shutil.copytree(index_with_deletions, index)
    (file,) = (index / "passages.lance" / "_deletions").iterdir()
    intact = file.read_bytes()
    for changed in flipped_rows(file, 20):
        file.write_bytes(changed)
        for read in (PassageTable.document_hashes, PassageTable.stored_documents, PassageTable.read):
            with pytest.raises(IndexFormatError, match=r"removed are read again.*clew repair"):
                read(PassageTable.open(index))
        with pytest.raises(IndexFormatError, match="clew repair"):
            PassageTable.open(index).delete(["d1"])
    with patch("clew.store.inspection.crashing_fragments", return_value=set()):
        assert verify(index)
    file.write_bytes(intact)
    assert PassageTable.open(index).document_hashes() == expected
    assert verify(index) == []


def test_an_older_file_of_deleted_rows_is_noticed(tmp_path: Path) -> None:
    table = make_index(tmp_path)
    ids = [f"d{number}" for number in range(10)]
    table.replace(make_documents(*((id_, 1) for id_ in ids)), ids)
    table.delete(["d3"])
    (older,) = (tmp_path / "passages.lance" / "_deletions").iterdir()
    table.delete(["d5"])
    (newer,) = set((tmp_path / "passages.lance" / "_deletions").iterdir()) - {older}
    newer.write_bytes(older.read_bytes())
    with pytest.raises(IndexFormatError, match=r"its checksum differs\): run `clew repair`"):
        PassageTable.open(tmp_path).read()
    with (
        patch("clew.store.deletion_files.stored_checksums", return_value={}),
        pytest.raises(IndexFormatError, match=r"it names 1 rows .*, and 2 were removed\): run `clew repair`"),
    ):
        PassageTable.open(tmp_path).read()


def test_a_lost_newest_version_is_noticed(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 1), ("b", 1))
    manifest_path(locate(tmp_path), table.version).unlink()
    with pytest.raises(
        IndexFormatError, match=r"version 3 of .* was committed and is gone, .* is 2: run `clew repair`"
    ):
        PassageTable.open(tmp_path)
    assert "is gone" in verify(tmp_path)[0]


def test_a_version_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    table = make_index(tmp_path, ("a", 1), ("b", 1))
    location = locate(tmp_path)
    newest, older = (manifest_path(location, version) for version in (table.version, table.version - 1))
    newest.write_bytes(older.read_bytes())
    with pytest.raises(IndexFormatError):
        PassageTable.open(tmp_path)


def test_a_wrong_digit_in_the_hint_is_no_lost_version(tmp_path: Path) -> None:
    make_index(tmp_path, ("a", 1))
    hint = tmp_path / "passages.lance" / "_versions" / "latest_version_hint.json"
    for text in ('{"version":92}', '{"version":', '["version"]', ""):
        hint.write_text(text)
        assert PassageTable.open(tmp_path).document_hashes() == {"a": "a/1"}
