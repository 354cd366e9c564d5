"""Detection of damage in the stored passages of one version."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import IndexFormatError
from clew.store.dataset import no_index_error, open_dataset
from clew.store.deletion_files import check_stored_deletion, deletion_path, fragments_with_deletions, stored_checksums
from clew.store.error_mapping import map_errors, read_batches
from clew.store.integrity import find_damaged_rows, settings_from_schema, vector_dimension
from clew.store.kg_shards import SHARD_EXTRACTOR
from clew.store.location import Location, locate
from clew.store.row_seal import compute_seal, describe_mismatch, stored_seal
from clew.store.schema import SENTENCE_COLUMNS
from clew.text.display import format_count

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.fragment import LanceFragment

_UNIT_TOLERANCE = 1e-3
_MAX_PROBLEMS = 100
_BATCH_ROWS = 64  # a shard of a graph may have several MB
_ROW_COLUMNS = ("id", "document_id", "extractor", "text", "start", "end", "metadata", "mentions")
_DOCUMENT_COLUMNS = ("id", "document_id", "ordinal", "document_hash", "document_rows")


@dataclass(frozen=True, slots=True)
class Problem:
    """A damage that was found."""

    text: str  # description for the user
    documents: tuple[str, ...] = ()  # ids of the documents to index again, if known
    fragment: int | None = None  # id of an unreadable fragment; None for damage within readable rows


def inspect(dataset: "LanceDataset", location: Location) -> list[Problem]:
    """Read every row of a version and return its problems: unreadable files, damaged rows, incomplete documents.

    Only what the content of files shows is a problem: a file that may not be read, too many open files, or an
    input-output error, is a ProviderError.
    """
    problems: list[Problem] = []
    readable: dict[int, list[pa.Table]] = {}
    damaged, whole = _check_deletions(dataset, location)
    crashing = crashing_fragments(dataset, dict(location.storage_options), damaged | whole)
    for fragment in dataset.get_fragments():
        files = _name_files(fragment)
        if fragment.fragment_id in damaged | crashing:
            problems.append(Problem(f"the deletion file of data file {files} is damaged", (), fragment.fragment_id))
            continue
        try:
            row_problems, columns = _read_fragment(fragment, location)
        except IndexFormatError as error:
            cause = str(error.__cause__).split(", /")[0]
            problems.append(Problem(f"data file {files} cannot be read: {cause[:200]}", (), fragment.fragment_id))
            continue
        problems.extend(row_problems)
        readable[fragment.fragment_id] = columns
    if not problems:
        problems.extend(_seal_problems(dataset, location))
    unreadable = {problem.fragment for problem in problems}
    if tables := [table for id_, columns in readable.items() if id_ not in unreadable for table in columns]:
        problems.extend(_document_problems(pa.concat_tables(tables)))
    return problems


def _check_deletions(dataset: "LanceDataset", location: Location) -> tuple[set[int], set[int]]:
    """Return the ids of the fragments whose file of deleted rows is damaged, and of those that have the right checksum.

    All are damaged where the record of their checksums is. Lance reads none of them here.
    """
    damaged, whole = set[int](), set[int]()
    if location.remote:
        return damaged, whole
    deleted = fragments_with_deletions(dataset)
    try:
        checksums = stored_checksums(dataset, location.name) if deleted else {}
    except IndexFormatError:  # nothing tells then whether they are what was written
        return {int(fragment.id) for fragment in deleted}, whole
    for fragment in deleted:
        try:
            check_stored_deletion(location, fragment, checksums)
        except IndexFormatError:
            damaged.add(int(fragment.id))
            continue
        if deletion_path(Path(location.table), fragment).name in checksums:
            whole.add(int(fragment.id))
    return damaged, whole


def _seal_problems(dataset: "LanceDataset", location: Location) -> Iterator[Problem]:
    """Yield a problem for each fragment whose deletion file may be the one that makes the set of rows a wrong one."""
    seal = stored_seal(dataset, location.name)
    if seal is None or (found := compute_seal(dataset, location.name)) == seal:
        return
    yield Problem(describe_mismatch(seal, found, location.name))
    for fragment in dataset.get_fragments():
        if fragment.metadata.deletion_file is not None:
            text = f"the rows deleted from data file {_name_files(fragment)} may not be those that were removed"
            yield Problem(text, (), fragment.fragment_id)


def _name_files(fragment: "LanceFragment") -> str:
    return ", ".join(file.path for file in fragment.data_files())


def _read_fragment(fragment: "LanceFragment", location: Location) -> tuple[list[Problem], list[pa.Table]]:
    problems: list[Problem] = []
    columns: list[pa.Table] = []
    for batch in read_batches(lambda: fragment.to_batches(batch_size=_BATCH_ROWS), location.name):
        rows = pa.Table.from_batches([batch])
        with map_errors(location.name, "reading"):
            rows.validate(full=True)
        problems.extend(_row_problems(rows))
        columns.append(rows.select(list(_DOCUMENT_COLUMNS)))
    return problems, columns


def _row_problems(rows: pa.Table) -> Iterator[Problem]:
    damaged = set(find_damaged_rows(rows))
    lengths = _vector_lengths(rows)
    triple_counts = pc.list_value_length(rows["triples"]).to_pylist()
    values = zip(*(rows[name].to_pylist() for name in _ROW_COLUMNS), strict=True)
    for position, (id_, document_id, extractor, *rest) in enumerate(values):
        if position in damaged:
            yield Problem(f"passage {id_!r} is not what was written: its checksum differs", (document_id,))
            continue
        is_shard = extractor == SHARD_EXTRACTOR and bool(triple_counts[position])
        for fault in _row_faults(*rest, is_shard=is_shard):
            yield Problem(f"passage {id_!r} {fault}", (document_id,))
        if lengths is not None and not abs(lengths[position] - 1) <= _UNIT_TOLERANCE:
            yield Problem(f"passage {id_!r} has a vector of length {lengths[position]:.4g}, not 1", (document_id,))
    yield from _sentence_problems(rows.filter(pa.array([row not in damaged for row in range(rows.num_rows)])))


def _sentence_problems(rows: pa.Table) -> Iterator[Problem]:
    """Yield a problem for each row whose sentences lie outside its text, or are not as many as their vectors."""
    if SENTENCE_COLUMNS[0] not in rows.column_names:
        return
    dimension = vector_dimension(rows.schema)
    columns = (rows[name].to_pylist() for name in ("id", "document_id", "text", *SENTENCE_COLUMNS))
    for id_, document_id, text, bounds, vectors in zip(*columns, strict=True):
        if bounds is None and vectors is None:
            continue
        if bounds is None or vectors is None or 2 * len(vectors) != len(bounds) * dimension:
            size = len(vectors or b"")
            problem = f"has {size} bytes of vectors of sentences, not {len(bounds or ()) // 2} times {dimension}"
            yield Problem(f"passage {id_!r} {problem}", (document_id,))
        elif text is not None and any(a > b for a, b in pairwise([0, *bounds, len(text)])):
            yield Problem(f"passage {id_!r} has sentences outside its text", (document_id,))


def _row_faults(
    text: str, start: int, end: int, metadata: str, mentions: Sequence[dict[str, Any]], *, is_shard: bool
) -> Iterator[str]:
    if None in (text, start, end, metadata, mentions):
        yield "lacks a value in a column that must have one"
        return
    if not text and not is_shard:
        yield "has no text"
    if not 0 <= start <= end:
        yield f"lies at {start}:{end} of its document"
    for mention in mentions:
        if mention["start"] >= 0 and text[mention["start"] : mention["end"]] != mention["name"]:
            yield f"does not hold {mention['name']!r} at {mention['start']}:{mention['end']}"
    try:
        is_object = isinstance(json.loads(metadata), dict)
    except ValueError:
        is_object = False
    if not is_object:
        yield f"has metadata that is not a JSON object: {metadata[:60]!r}"


def _vector_lengths(rows: pa.Table) -> list[float] | None:
    """Return the lengths of the vectors, 1 where a row has none; None without a vector column."""
    if "vector" not in rows.column_names:
        return None
    column = rows["vector"].combine_chunks()
    matrix = column.flatten().to_numpy().reshape(-1, column.type.list_size).astype(np.float64)
    lengths = iter(np.sqrt((matrix * matrix).sum(axis=1)).tolist())
    return [next(lengths) if valid else 1.0 for valid in column.is_valid().to_pylist()]


def _document_problems(rows: pa.Table) -> Iterator[Problem]:
    columns = [rows[name].to_pylist() for name in _DOCUMENT_COLUMNS]
    documents: dict[str, list[tuple[int, str, int]]] = {}
    owners: dict[str, list[str]] = {}
    for id_, document_id, *rest in zip(*columns, strict=True):
        documents.setdefault(document_id, []).append(tuple(rest))
        owners.setdefault(id_, []).append(document_id)
    for id_, count in Counter(columns[0]).items():
        if count > 1:
            yield Problem(f"passage id {id_!r} occurs {count} times", tuple(sorted(set(owners[id_]))))
    for document_id, states in documents.items():
        if len({hash_ for _, hash_, _ in states}) > 1:
            yield Problem(f"document {document_id!r} has passages of more than one state", (document_id,))
        elif (size := states[0][2]) != len(states):
            passages = format_count(len(states), "passage")
            yield Problem(f"document {document_id!r} has {passages}, not {size}", (document_id,))
        elif sorted(ordinal for ordinal, _, _ in states) != list(range(len(states))):
            yield Problem(f"document {document_id!r} has a gap in the order of its passages", (document_id,))


def verify(location: str | Path | Location) -> list[str]:
    """Read every passage of the newest version and return its problems, one sentence each; no index is an error."""
    location = locate(location)
    try:
        dataset = open_dataset(location)
    except IndexFormatError as error:
        return [f"the newest version cannot be opened: {error}"]
    if dataset is None:
        raise no_index_error(location)
    settings_from_schema(dataset.schema, location.name)
    problems = inspect(dataset, location)
    more = [f"... and {len(problems) - _MAX_PROBLEMS} more"] if len(problems) > _MAX_PROBLEMS else []
    return [problem.text for problem in problems[:_MAX_PROBLEMS]] + more


def crashing_fragments(
    dataset: "LanceDataset", storage_options: dict[str, str], known: Container[int] = ()
) -> set[int]:
    """Return the ids of the fragments whose deletion file aborts a process that reads it, but those known already.

    A child process reads them, since Lance aborts on some, beyond any `except`.
    """
    pending = [
        fragment.fragment_id
        for fragment in dataset.get_fragments()
        if fragment.metadata.deletion_file is not None and fragment.fragment_id not in known
    ]
    crashing: set[int] = set()
    while pending:
        task = {"table": dataset.uri, "version": dataset.version, "options": storage_options, "fragments": pending}
        readable = _run_child(json.dumps(task))
        pending = pending[len(readable) :]
        if pending:
            crashing.add(pending.pop(0))
    return crashing


def _run_child(task: str) -> list[str]:
    search_path = os.pathsep.join(entry for entry in sys.path if entry)
    child = subprocess.run(
        [sys.executable, "-m", "clew.store.inspection"],
        input=task,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": search_path},
    )
    return child.stdout.split()


def _probe(task_json: str) -> None:
    import lance

    task = json.loads(task_json)
    dataset = lance.dataset(task["table"], version=task["version"], storage_options=task["options"] or None)
    fragments = {fragment.fragment_id: fragment for fragment in dataset.get_fragments()}
    for id_ in task["fragments"]:
        with suppress(OSError, ValueError, RuntimeError):  # the caller gets these errors itself, and reports them
            fragments[id_].to_table(columns=["ordinal"])
        sys.stdout.write(f"{id_}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _probe(sys.stdin.read())
