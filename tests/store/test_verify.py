import json
import shutil
from collections.abc import Callable
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa
import pytest

from clew.errors import ClewError, IndexFormatError, IndexLockedError
from clew.store.inspection import inspect, verify
from clew.store.integrity import add_integrity_columns, row_checksums
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.repair import ADD_AGAIN, repair
from clew.store.schema import passages_schema, rows_to_table
from clew.store.writer_lock import writer_lock
from tests.faults.commands import run_clew
from tests.store.rows import WIDTH, data_files, make_documents, make_index, make_row

SIZES = (("a", 3), ("b'", 2), ("c", 2))


def manifest_files(folder: Path) -> list[Path]:
    """Return the manifests of all versions, newest first."""
    return sorted((folder / "passages.lance" / "_versions").glob("*.manifest"))


def truncate(file: Path, length: int = 20) -> None:
    file.write_bytes(file.read_bytes()[:length])


def reindex(folder: Path) -> dict[str, str]:
    """Add the documents that are missing, as indexing again does."""
    table = PassageTable.open(folder)
    missing = [(id_, size) for id_, size in SIZES if id_ not in table.document_hashes()]
    table.replace(make_documents(*missing), [id_ for id_, _ in missing])
    return table.document_hashes()


def test_a_sound_index_has_no_problems_and_needs_no_repair(tmp_path: Path) -> None:
    table = make_index(tmp_path, *SIZES)
    assert verify(tmp_path) == []
    table.replace(make_documents(("a", 1), state="2"), ["a"])
    table.delete(["c"])
    assert verify(tmp_path) == []
    assert repair(tmp_path) == []
    assert PassageTable.open(tmp_path).version == table.version


@pytest.mark.parametrize("damage", [truncate, Path.unlink])
def test_a_data_file_that_cannot_be_read_is_named_dropped_and_indexed_again(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    expected = make_index(tmp_path, *SIZES).document_hashes()
    file = data_files(tmp_path)[1]
    damage(file)
    (problem,) = verify(tmp_path)
    assert problem.startswith(f"data file {file.name} cannot be read")
    actions = repair(tmp_path)
    assert actions[0].startswith(f"dropped 2 passages: data file {file.name}")
    assert "clew index" in actions[-1]
    assert verify(tmp_path) == []
    assert sorted(PassageTable.open(tmp_path).document_hashes()) == ["a", "c"]
    assert reindex(tmp_path) == expected


def test_a_changed_letter_costs_its_document_alone(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, {}, WIDTH)
    table.replace(make_documents(*SIZES), [id_ for id_, _ in SIZES])
    expected = table.document_hashes()
    file = data_files(tmp_path)[0]
    file.write_bytes(file.read_bytes().replace(b"London is", b"Lonfon is", 1))
    assert verify(tmp_path) == ["passage 'a#0' is not what was written: its checksum differs"]
    assert "removed 3 passages of 1 damaged document: 'a'" in repair(tmp_path)
    assert verify(tmp_path) == []
    assert sorted(PassageTable.open(tmp_path).document_hashes()) == ["b'", "c"]
    assert reindex(tmp_path) == expected


@pytest.mark.parametrize("length", [0, 10, 300])
def test_a_damaged_newest_version_falls_back_to_the_one_before(tmp_path: Path, length: int) -> None:
    expected = make_index(tmp_path, *SIZES).document_hashes()
    newest = manifest_files(tmp_path)[0]
    truncate(newest, length)
    assert verify(tmp_path)[0].startswith("the newest version cannot be opened")
    with pytest.raises(IndexFormatError):
        PassageTable.open(tmp_path)
    assert "version 4 cannot be opened" in repair(tmp_path)[0]
    assert (tmp_path / "damaged" / newest.name).exists()
    assert verify(tmp_path) == []
    assert sorted(PassageTable.open(tmp_path).document_hashes()) == ["a", "b'"]
    assert reindex(tmp_path) == expected


def test_a_damaged_older_version_is_set_aside_so_that_compaction_works(tmp_path: Path) -> None:
    make_index(tmp_path, *SIZES)
    truncate(manifest_files(tmp_path)[1])
    with pytest.raises(ClewError):
        PassageTable.open(tmp_path).compact()
    repair(tmp_path)
    table = PassageTable.open(tmp_path)
    assert table.count_rows() == 7
    table.compact()
    assert PassageTable.open(tmp_path).read().equals(make_documents(*SIZES))


def test_without_any_readable_version_nothing_is_moved(tmp_path: Path) -> None:
    make_index(tmp_path, *SIZES)
    for file in manifest_files(tmp_path):
        truncate(file)
    with pytest.raises(IndexFormatError):
        repair(tmp_path)
    assert len(manifest_files(tmp_path)) == 4


def test_a_damaged_deletion_file_is_survived(tmp_path: Path) -> None:
    table = PassageTable.create(tmp_path, {}, WIDTH)
    table.replace(make_documents(*SIZES), [id_ for id_, _ in SIZES])
    table.replace(make_documents(("d", 2)), ["d"])
    table.delete(["c"])
    (file,) = (tmp_path / "passages.lance" / "_deletions").iterdir()
    intact = file.read_bytes()
    huge_length = bytearray(intact)
    huge_length[-19] ^= 8  # Lance 14 tries to allocate 2**59 bytes and aborts the process
    for damaged in (intact[:20], bytes(huge_length)):
        file.write_bytes(damaged)
        (problem,) = verify(tmp_path)
        assert "data file" in problem
    before = table.version
    actions = repair(tmp_path)  # the version before is whole, and has more passages than would be left
    assert actions[0].startswith(f"undone: the changes since version {before - 1}")
    assert sorted(PassageTable.open(tmp_path).document_hashes()) == ["a", "b'", "c", "d"]
    assert verify(tmp_path) == []


def test_derived_data_that_cannot_be_checked_are_dropped(tmp_path: Path) -> None:
    make_index(tmp_path, *SIZES)
    (tmp_path / "derived" / "snapshots" / "key").mkdir(parents=True)
    (tmp_path / "derived" / "vectors.lance").write_text("damaged")
    assert repair(tmp_path) == [
        "removed derived/snapshots/key, which is made again when it is needed",
        "removed derived/vectors.lance, which is made again when it is needed",
    ]


def test_a_sound_index_is_said_to_be_sound(tmp_path: Path) -> None:
    make_index(tmp_path, *SIZES)
    for name in ("checked-segments.json", "checked-snapshot.json"):
        (tmp_path / "derived").mkdir(exist_ok=True)
        (tmp_path / "derived" / name).write_text("{}")
    lines = run_clew("repair", "--index", tmp_path).out.splitlines()
    assert lines == [
        "nothing is damaged",
        "made again when it is needed: derived/checked-segments.json",
        "made again when it is needed: derived/checked-snapshot.json",
    ]
    (tmp_path / "derived" / "checked-segments.json").write_text("{}")
    found = json.loads(run_clew("repair", "--index", tmp_path, "--json").out)
    assert (found["damaged"], found["lost"]) == (False, False)


def test_repair_waits_for_no_writer(tmp_path: Path) -> None:
    make_index(tmp_path, *SIZES)
    with writer_lock(tmp_path), pytest.raises(IndexLockedError):
        repair(tmp_path)


def verify_stored(folder: Path, rows: pa.Table, *, resealed: bool = True) -> list[str]:
    """Write rows without the table's validation and return the problems found."""
    location = locate(folder)
    PassageTable.create(folder, {}, WIDTH)
    ids = sorted(set(rows["document_id"].to_pylist()))
    table = add_integrity_columns(rows, WIDTH, ids) if resealed else rows
    lance.write_dataset(table, location.table, mode="append")
    return [problem.text for problem in inspect(lance.dataset(location.table), location)]


def change_row(**values: object) -> pa.Table:
    rows = make_documents(("a", 1)).to_pylist()
    return pa.Table.from_pylist([{**rows[0], **values}], schema=make_documents().schema)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"text": "", "mentions": []}, "passage 'a#0' has no text"),
        ({"start": 5, "end": 4}, "passage 'a#0' lies at 5:4 of its document"),
        ({"metadata": "[1]"}, "passage 'a#0' has metadata that is not a JSON object: '[1]'"),
        ({"metadata": "{"}, "passage 'a#0' has metadata that is not a JSON object: '{'"),
        (
            {"mentions": [{"name": "Paris", "kind": "name", "start": 0, "end": 6}]},
            "passage 'a#0' does not hold 'Paris' at 0:6",
        ),
        ({"vector": [2, 0, 0, 0]}, "passage 'a#0' has a vector of length 2, not 1"),
        ({"vector": [float("nan"), 0, 0, 0]}, "passage 'a#0' has a vector of length nan, not 1"),
        ({"ordinal": 1}, "document 'a' has a gap in the order of its passages"),
    ],
)
def test_a_row_that_makes_no_sense_is_a_problem(tmp_path: Path, values: dict[str, object], problem: str) -> None:
    assert verify_stored(tmp_path, change_row(**values)) == [problem]


@pytest.mark.parametrize(
    ("spans", "vectors", "problem"),
    [
        ([0, 5, 6, 9], b"x" * 2 * WIDTH, None),
        (None, None, None),
        ([], b"", None),
        ([0, 5, 6, 900], b"x" * 2 * WIDTH, "has sentences outside its text"),
        ([4, 2], b"x" * WIDTH, "has sentences outside its text"),
        ([0, 5], b"x" * 2 * WIDTH, "has 8 bytes of vectors of sentences, not 1 times 4"),
        ([0, 5], None, "has 0 bytes of vectors of sentences, not 1 times 4"),
    ],
)
def test_sentences_that_make_no_sense_are_a_problem(
    tmp_path: Path, spans: list[int] | None, vectors: bytes | None, problem: str | None
) -> None:
    location = locate(tmp_path)
    PassageTable.create(tmp_path, {"sentences": "vectors"}, WIDTH)
    rows = make_documents(("a", 1))
    schema = passages_schema(WIDTH, sentences=True)
    for name, value in (("sentence_spans", spans), ("sentence_vectors", vectors)):
        rows = rows.append_column(name, pa.array([value], type=schema.field(name).type))
    lance.write_dataset(add_integrity_columns(rows, WIDTH, ["a"], sentences=True), location.table, mode="append")
    found = [found.text for found in inspect(lance.dataset(location.table), location)]
    assert found == ([] if problem is None else [f"passage 'a#0' {problem}"])


def test_a_row_without_values_is_a_problem(tmp_path: Path) -> None:
    rows = add_integrity_columns(make_documents(("a", 1)), WIDTH, ["a"])
    empty = rows.set_column(rows.column_names.index("start"), "start", pa.nulls(1, pa.int64()))
    seal = pa.array(row_checksums(empty.drop_columns(["checksum"])), type=pa.binary(8))
    empty = empty.set_column(empty.column_names.index("checksum"), "checksum", seal)
    problem = "passage 'a#0' lacks a value in a column that must have one"
    assert verify_stored(tmp_path, empty, resealed=False) == [problem]


def test_a_lost_row_is_a_problem_and_its_document_incomplete(tmp_path: Path) -> None:
    rows = add_integrity_columns(make_documents(("a", 3), ("b", 1)), WIDTH, ["a", "b"])
    remaining = rows.take([0, 1, 3])
    assert verify_stored(tmp_path, remaining, resealed=False) == ["document 'a' has 2 passages, not 3"]
    assert PassageTable.open(tmp_path).document_hashes() == {"b": "b/1"}
    repair(tmp_path)
    assert PassageTable.open(tmp_path).read(["id"])["id"].to_pylist() == ["b#0"]


def test_an_id_twice_and_two_states_of_a_document_are_problems(tmp_path: Path) -> None:
    one = add_integrity_columns(make_documents(("a", 1)), WIDTH, ["a"])
    two = add_integrity_columns(make_documents(("a", 1), state="2"), WIDTH, ["a"])
    other = add_integrity_columns(rows_to_table([make_row("b", 0, id_="a#0")], WIDTH), WIDTH, ["b"])
    assert verify_stored(tmp_path, pa.concat_tables([one, two, other]), resealed=False) == [
        "passage id 'a#0' occurs 3 times",
        "document 'a' has passages of more than one state",
    ]
    assert PassageTable.open(tmp_path).document_hashes() == {"b": "b/1"}
    repair(tmp_path)
    assert PassageTable.open(tmp_path).count_rows() == 0


def test_a_long_list_of_problems_is_cut(tmp_path: Path) -> None:
    rows = add_integrity_columns(make_documents(("a", 120)), WIDTH, ["a"])
    texts = pa.array(["Paris is changed"] * 120)
    verify_stored(tmp_path, rows.set_column(rows.column_names.index("text"), "text", texts), resealed=False)
    assert verify(tmp_path)[99:] == ["passage 'a#99' is not what was written: its checksum differs", "... and 20 more"]


def test_whatever_byte_is_changed_repair_and_indexing_bring_everything_back(tmp_path: Path) -> None:
    make_index(tmp_path / "sound", *SIZES)
    expected = make_documents(*SIZES)
    generator = np.random.default_rng(7)
    for number in range(25):
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "sound", folder)
        file = data_files(folder)[int(generator.integers(3))]
        data = bytearray(file.read_bytes())
        for offset in generator.integers(len(data), size=int(generator.integers(1, 40))).tolist():
            data[offset] ^= 1 << int(generator.integers(8))
        file.write_bytes(data)
        repair(folder)
        assert verify(folder) == []
        reindex(folder)
        assert PassageTable.open(folder).read().equals(expected)


def test_the_command_says_whether_a_repair_lost_something(tmp_path: Path) -> None:
    make_index(tmp_path, *SIZES)
    assert run_clew("repair", "--index", tmp_path).out == "nothing is damaged\n"
    data_files(tmp_path)[1].write_bytes(b"")
    lines = run_clew("repair", "--index", tmp_path, "--yes").out.splitlines()
    assert lines[-2:] == [ADD_AGAIN, "done"]
