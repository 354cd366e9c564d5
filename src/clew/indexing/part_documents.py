"""The documents that a part was compared with: for each its state in the index then, and its state by the part.

They are an Arrow file beside the part. A commit compares them with what the index holds by then: a document may have
been changed, removed or restored since by somebody else, and a part must neither undo that nor rely on what is gone.

The record of a part, a JSON file in a staging folder: its data files, which no version has yet, and its counts.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt, ValidationError

from clew.arrays import BoolArray
from clew.errors import InputError
from clew.indexing.batches import WrittenBatch
from clew.indexing.report import IndexingReport
from clew.store.document_ids import ABSENT, HashPairs, StoredDocuments, state_hash
from clew.store.kg_shards import shards_by_graph
from clew.types import Failure

_ROWS = 1 << 16  # of a batch
_STATE = pa.binary(len(ABSENT))
_SCHEMA = pa.schema([("id", pa.string()), ("before", _STATE), ("after", _STATE)])


class DocumentRecorder:
    """Collects the documents of a part while it is written; some 60 bytes each are in memory."""

    def __init__(self, stored: StoredDocuments) -> None:
        self._stored = stored
        self._batches: list[pa.RecordBatch] = []
        self._rows: list[tuple[str, bytes, bytes]] = []

    def add(self, id_: str, document_hash: str) -> None:
        """Add a document that is new, changed or unchanged, with the hash of its content by the part."""
        self._rows.append((id_, self._stored.find_state(id_), state_hash(document_hash)))
        if len(self._rows) == _ROWS:
            self._store_rows()

    def write(self, file: Path) -> str:
        """Write all documents to a file, and return a hash of it."""
        self._store_rows()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.OSFile(str(file), "wb") as stream, pa.ipc.new_file(stream, _SCHEMA, options=options) as writer:
            for batch in self._batches:
                writer.write_batch(batch)
        return hash_file(file)

    def _store_rows(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            self._batches.append(
                pa.record_batch(
                    [pa.array(column, kind.type) for column, kind in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA
                )
            )
            self._rows = []


@final
@dataclass(slots=True)
class PartComparison:
    """A part beside the documents that the index holds now."""

    is_stored: bool = True  # whether the index has every document as the part has it
    has_stored_change: bool = False  # whether it has one of those that the part adds or replaces
    conflict: str = ""  # the first document that is neither as it was nor as the part has it: "... was changed in"
    conflicts: int = 0


def compare_documents(file: Path, stored: StoredDocuments) -> PartComparison:
    """Compare the documents of a part, in a file from `DocumentRecorder.write`, with those of the index."""
    comparison = PartComparison()
    graphs = pa.array([*shards_by_graph(stored.shards), *stored.shards], pa.string())
    for ids, before, after in _read(file):
        now = stored.find_states(ids.to_pylist())
        is_before, is_after, is_changed = _equal(now, before), _equal(now, after), ~_equal(before, after)
        comparison.is_stored &= bool(is_after.all())
        comparison.has_stored_change |= bool((is_changed & is_after).any())
        taken = np.asarray(pc.is_in(ids, value_set=graphs)) & is_changed
        faults = np.flatnonzero(~(is_before | is_after) | taken)
        if len(faults) and not comparison.conflicts:
            row = int(faults[0])
            fate = "has the name of a graph that was imported into"
            if not taken[row]:
                fate = _describe_change(before[:, row].tobytes(), now[:, row].tobytes())
            comparison.conflict = f"the document {ids[row].as_py()!r} {fate}"
        comparison.conflicts += len(faults)
    return comparison


def hash_file(file: Path) -> str:
    """Return a hash of the bytes of a file, 32 hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, partial(hashlib.blake2b, digest_size=16)).hexdigest()


def _read(file: Path) -> Iterator[tuple[pa.StringArray, HashPairs, HashPairs]]:
    with pa.OSFile(str(file)) as stream, pa.ipc.open_file(stream) as reader:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number)
            yield batch["id"], _pairs(batch["before"]), _pairs(batch["after"])


def _pairs(states: pa.FixedSizeBinaryArray) -> HashPairs:
    halves = np.frombuffer(states.buffers()[1], dtype=np.uint64).reshape(-1, 2)
    return np.ascontiguousarray(halves[states.offset : states.offset + len(states)].T)


def _equal(one: HashPairs, other: HashPairs) -> BoolArray:
    return np.asarray((one == other).all(axis=0))


def _describe_change(before: bytes, now: bytes) -> str:
    if now == ABSENT:
        return "is gone from"
    return "was added to" if before == ABSENT else "was changed in"


PART_FORMAT = 3


class _DataFile(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")
    path: str


class _Fragment(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")
    files: list[_DataFile]


class _Counts(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", from_attributes=True)
    added: NonNegativeInt
    updated: NonNegativeInt
    unchanged: NonNegativeInt
    passages: NonNegativeInt
    sentences: NonNegativeInt
    remaining: NonNegativeInt


class WrittenPart(BaseModel):
    """The data files of a part, and its counts."""

    model_config = ConfigDict(strict=True, extra="forbid")
    format: int = PART_FORMAT
    part: tuple[PositiveInt, PositiveInt]
    settings: str  # hash of the settings of the index
    version: PositiveInt  # of the table that its documents were compared with
    files: str  # hash of the files of that version
    sources: str  # hash of the files that its documents were read from; "" where all parts come from one run
    documents: str  # hash of the file of its documents (`part_documents`); "" where all parts come from one run
    fragments: list[_Fragment]
    segments: list[str]  # names of the files of their segments
    counts: _Counts
    failures: list[tuple[str, str]]

    @classmethod
    def of_batch(cls, batch: WrittenBatch, **compared: Any) -> "WrittenPart":
        """Return the part of what was written, given the fields that say what it was compared with."""
        failures = [(failure.item, failure.reason) for failure in batch.report.failures]
        return cls(
            fragments=[_Fragment.model_validate_json(fragment) for fragment in batch.fragments],
            segments=batch.segments,
            counts=_Counts.model_validate(batch.report),
            failures=failures,
            **compared,
        )

    @classmethod
    def from_json(cls, text: str, name: str) -> "WrittenPart":
        """Return the part of a text; InputError: it is not one, or that of another version of Clew."""
        content = read_object(text, name, "a part", "write the part again")
        if content.get("format", PART_FORMAT) != PART_FORMAT:
            raise InputError(
                f"{name} has format {content['format']!r:.40}, this version of Clew reads {PART_FORMAT}: write it again"
            )
        try:
            part = cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise InputError(
                f"{name} cannot be read as a part ({place}: {first['msg']}): write the part again"
            ) from error
        return part.model_copy(update={"segments": [Path(segment).name for segment in part.segments]})

    @property
    def report(self) -> IndexingReport:
        """The report of the run that wrote it."""
        return IndexingReport(**self.counts.model_dump(), failures=[Failure(*failure) for failure in self.failures])

    def fragment_records(self) -> list[str]:
        """Return the metadata of its data files as JSON."""
        return [fragment.model_dump_json() for fragment in self.fragments]

    def data_files(self) -> set[str]:
        """Return the names of its data files."""
        return {file.path for fragment in self.fragments for file in fragment.files}

    def describe(self) -> str:
        """Return how messages call the part."""
        return f"part {self.part[0]} of {self.part[1]}"

    def describe_repetition(self, staging: str) -> str:
        """Return how the part is written again."""
        where = f" --staging {staging}" if staging else ""
        return f"run clew index --shard {self.part[0]}/{self.part[1]}{where} again"


def read_object(text: str, name: str, wanted: str, advice: str) -> dict[str, Any]:
    """Return the object of a JSON text; InputError: it is no JSON, or another value, with what is to be done."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} cannot be read as {wanted} ({error}): {advice}") from error
    if not isinstance(content, dict):
        raise InputError(f"{name} holds {text.strip()!r:.40}, which is not {wanted}: {advice}")
    return content
