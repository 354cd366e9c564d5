"""Shards of graphs as rows of the table: written, read, counted, verified, and separate from passages."""

from pathlib import Path

import pyarrow as pa
import pytest

from clew.errors import IndexFormatError, InputError
from clew.store.inspection import verify
from clew.store.kg_shards import (
    NAME_SHARD,
    TRIPLE_SHARD,
    KGShard,
    StoredGraph,
    is_shard,
    shard_triples,
    shards_by_graph,
    shards_to_table,
    stored_graphs,
)
from clew.store.passage_table import PassageTable
from clew.store.repair import repair
from clew.store.schema import passages_schema
from tests.store.rows import WIDTH, data_files, make_documents, make_index

SHARDS = [
    KGShard("k#g", 0, TRIPLE_SHARD, [("Fram", "in", "Oslo"), ("Fram", "in", "Oslo 日本")]),
    KGShard("k#g", 1, NAME_SHARD, [("Fram", "alias", "the Fram")]),
    KGShard("other", 0, TRIPLE_SHARD, [("a", "b", "c")]),
]


def write_shards(folder: Path, *parts: KGShard) -> PassageTable:
    table = make_index(folder, ("a", 2))
    table.replace(shards_to_table(parts, [part.hash() for part in parts], WIDTH), [part.id for part in parts])
    return table


def read_shards(table: PassageTable) -> list[tuple[str, list[tuple[str, str, str]]]]:
    shards = [pair for rows in table.iter_shards() for pair in shard_triples(rows)]
    return sorted((holds, [tuple(t.values()) for t in triples.to_pylist()]) for holds, triples in shards)


@pytest.mark.parametrize("dimension", [0, WIDTH])
def test_columns_are_those_of_the_table(dimension: int) -> None:
    rows = shards_to_table(SHARDS, ["x"] * 3, dimension)
    assert rows.schema.equals(passages_schema(dimension))
    rows.validate(full=True)
    assert rows["text"].to_pylist() == ["", "", ""]
    assert rows["id"].to_pylist() == rows["document_id"].to_pylist() == ["k#g#000000", "k#g#000001", "other#000000"]


def test_shards_read_back_and_are_not_passages(tmp_path: Path) -> None:
    table = write_shards(tmp_path, *SHARDS)
    assert table.count_rows() == 2
    assert table.read().equals(make_documents(("a", 2)))
    assert read_shards(PassageTable.open(tmp_path)) == sorted((part.kind, list(part.triples)) for part in SHARDS)
    assert stored_graphs(table.iter_shards(["metadata"])) == [
        StoredGraph("k#g", 2, 1, 2),
        StoredGraph("other", 1, 0, 1),
    ]
    hashes = table.document_hashes()
    assert [id_ for id_, hash_ in hashes.items() if not is_shard(hash_)] == ["a"]
    assert shards_by_graph(hashes) == {"k#g": ["k#g#000000", "k#g#000001"], "other": ["other#000000"]}
    assert verify(tmp_path) == []
    table.compact()
    assert verify(tmp_path) == []
    assert read_shards(table) == sorted((part.kind, list(part.triples)) for part in SHARDS)


def test_a_slice_of_rows_gives_its_own_triples() -> None:
    rows = shards_to_table(SHARDS, ["x"] * 3, 0)
    shards = [(holds, triples.to_pylist()) for holds, triples in shard_triples(rows.slice(1, 2))]
    assert [holds for holds, _ in shards] == [NAME_SHARD, TRIPLE_SHARD]
    assert shards[1][1] == [{"head": "a", "relation": "b", "tail": "c"}]


def test_the_hash_depends_on_everything_in_a_shard() -> None:
    rows = [("a", "b", "c"), ("d", "e", "f")]
    shards = [
        KGShard("g", 0, TRIPLE_SHARD, rows),
        KGShard("g", 1, TRIPLE_SHARD, rows),
        KGShard("h", 0, TRIPLE_SHARD, rows),
        KGShard("g", 0, NAME_SHARD, rows),
        KGShard("g", 0, TRIPLE_SHARD, rows[::-1]),
        KGShard("g", 0, TRIPLE_SHARD, [("ab", "", "c"), rows[1]]),
    ]
    assert len({part.hash() for part in shards}) == len(shards)
    assert shards[0].hash() == KGShard("g", 0, TRIPLE_SHARD, tuple(rows)).hash()


def test_a_changed_letter_is_found_and_costs_its_shard_alone(tmp_path: Path) -> None:
    write_shards(tmp_path, *SHARDS)
    file = next(file for file in data_files(tmp_path) if b"Oslo" in file.read_bytes())
    file.write_bytes(file.read_bytes().replace(b"Oslo", b"Osla", 1))
    assert verify(tmp_path) == ["passage 'k#g#000000' is not what was written: its checksum differs"]
    with pytest.raises(IndexFormatError, match="clew repair"):
        read_shards(PassageTable.open(tmp_path))
    assert "clew kg import" in repair(tmp_path)[-1]
    assert verify(tmp_path) == []
    assert sorted(PassageTable.open(tmp_path).document_hashes()) == ["a", "k#g#000001", "other#000000"]


def test_half_a_character_is_refused() -> None:
    with pytest.raises(InputError, match="a name of the graph 'g' holds a character that UTF-8 cannot encode"):
        shards_to_table([KGShard("g", 0, TRIPLE_SHARD, [("\ud800", "b", "c")])], ["x"], 0)


def test_checksums_do_not_depend_on_how_large_rows_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    from clew.store import integrity as checksums

    rows = pa.concat_tables([shards_to_table(SHARDS, ["x"] * 3, WIDTH), make_documents(("a", 3))])
    expected = checksums.row_checksums(rows)
    monkeypatch.setattr(checksums, "_BATCH_BYTES", 1)
    assert checksums.row_checksums(rows) == expected
