"""A new version of a passages table with other vectors, written fragment by fragment and committed at once."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from clew.arrays import FloatArray
from clew.errors import IndexLockedError
from clew.store.commits import commit_all
from clew.store.dataset import open_existing
from clew.store.deletion_files import check_stored_deletions
from clew.store.error_mapping import map_errors, read_batches
from clew.store.integrity import INTEGRITY_COLUMNS, check_rows, stored_schema, with_checksums
from clew.store.kg_shards import SHARD_EXTRACTOR
from clew.store.location import Location
from clew.store.passage_table import PassageTable
from clew.store.row_seal import RowSeal
from clew.store.schema import SENTENCE_COLUMNS, RowSentences, sentence_cells

if TYPE_CHECKING:
    from lance.fragment import FragmentMetadata, LanceFragment

BLOCK_ROWS = 1024
_MADE_COLUMNS = ("vector", "checksum", *SENTENCE_COLUMNS)
_SCAN_ROWS = 64  # a shard of a graph may have several MB


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Consecutive rows of a fragment."""

    key: str  # names the rows: equal keys, equal rows
    rows: pa.Table


@dataclass(frozen=True, slots=True, eq=False)
class BlockVectors:
    """The vectors of the n rows of a block."""

    vectors: FloatArray  # (n, d), zeros for a row that is no passage
    sentences: Sequence[RowSentences | None]  # n, or none where the table has no vectors of sentences


@dataclass(frozen=True, slots=True)
class TableRewriter:
    """Rewrites one version of a table, opened under the writer lock."""

    table: PassageTable

    def blocks(self, columns: list[str]) -> Iterator[RowBlock]:
        """Yield columns of all rows, `BLOCK_ROWS` of a fragment at a time."""
        dataset = open_existing(self.table.location)
        check_stored_deletions(self.table.location, dataset)
        for fragment in dataset.get_fragments():
            yield from _blocks(fragment, columns, self.table.location)

    def with_vectors(
        self, settings: Mapping[str, Any], dimension: int, read_vectors: Callable[[str], BlockVectors]
    ) -> PassageTable:
        """Return the table at a new version whose vectors and settings are others; rows are verified on the way.

        Args:
            settings: All settings of the index.
            dimension: Width of the new vectors, 0 for none.
            read_vectors: Returns the vectors of the rows of a block, by its key.

        Raises:
            IndexFormatError: A stored row is damaged; nothing was changed.
            IndexLockedError: The table has changed since it was opened; nothing was changed.
        """
        from lance.fragment import write_fragments

        location = self.table.location
        schema = stored_schema(settings, dimension)
        options = dict(location.storage_options) or None
        dataset = open_existing(location)
        self.table.check_rows()
        written: list[FragmentMetadata] = []
        seal = RowSeal()
        for fragment in dataset.get_fragments():
            blocks = _blocks(fragment, [field.name for field in dataset.schema], location)
            checksums: list[pa.Array] = []
            with map_errors(location.name, "writing"):
                reader = pa.RecordBatchReader.from_batches(
                    schema, _new_batches(blocks, schema, dimension, read_vectors, location.name, checksums)
                )
                written += write_fragments(
                    reader, location.table, schema=schema, mode="overwrite", storage_options=options
                )
            seal = sum(map(RowSeal.of_rows, checksums), seal)
        if dataset.latest_version != self.table.version or dataset.version != self.table.version:
            message = f"{location.name} has changed since it was opened at version {self.table.version}"
            raise IndexLockedError(f"{message}: open it again and repeat the step")
        commit_all(dataset, schema, written, seal, location)
        return PassageTable.open(location)


def is_passage(rows: pa.Table) -> list[bool]:
    """Return which rows are passages and not shards of graphs, from the column `extractor`."""
    return [extractor != SHARD_EXTRACTOR for extractor in rows["extractor"].to_pylist()]


def _blocks(fragment: "LanceFragment", columns: list[str], location: Location) -> Iterator[RowBlock]:
    deletions = fragment.metadata.deletion_file
    source = [file.path for file in fragment.data_files()], deletions and [deletions.read_version, deletions.id]
    name = blake2b(json.dumps(source).encode(), digest_size=12).hexdigest()
    waiting: list[pa.RecordBatch] = []
    count = number = 0
    for batch in read_batches(lambda: fragment.to_batches(columns=columns, batch_size=_SCAN_ROWS), location.name):
        waiting.append(batch)
        count += batch.num_rows
        if count >= BLOCK_ROWS:
            yield RowBlock(f"{name}-{number:06d}", pa.Table.from_batches(waiting))
            waiting, count, number = [], 0, number + 1
    if count:
        yield RowBlock(f"{name}-{number:06d}", pa.Table.from_batches(waiting))


def _new_batches(
    blocks: Iterator[RowBlock],
    schema: pa.Schema,
    dimension: int,
    read_vectors: Callable[[str], BlockVectors],
    name: str,
    checksums: list[pa.Array],
) -> Iterator[pa.RecordBatch]:
    """Yield rows with other vectors; their checksums are added to a list."""
    for block in blocks:
        check_rows(block.rows, name)
        rows = block.rows.select([name for name in block.rows.column_names if name not in _MADE_COLUMNS])
        if dimension:
            absent = pa.array([not passage for passage in is_passage(rows)], type=pa.bool_())
            found = read_vectors(block.key)
            values = pa.array(found.vectors.ravel())
            rows = rows.append_column("vector", pa.FixedSizeListArray.from_arrays(values, dimension, mask=absent))
            if SENTENCE_COLUMNS[0] in schema.names:
                for column, cells in zip(SENTENCE_COLUMNS, sentence_cells(found.sentences), strict=True):
                    rows = rows.append_column(column, pa.array(cells, type=schema.field(column).type))
        ordered = rows.select([field for field in schema.names if field != "checksum"])
        for batch in with_checksums(ordered).cast(schema).to_batches():
            checksums.append(batch[INTEGRITY_COLUMNS[1]])
            yield batch
