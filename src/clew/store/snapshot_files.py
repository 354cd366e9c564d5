"""The files of a snapshot: where they lie, their manifest, and whether they are as they were written."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

from clew.errors import IndexFormatError, ProviderError
from clew.store.atomic import atomic_file, file_hash
from clew.store.passage_table import PassageTable
from clew.text.bm25 import BM25Index

SNAPSHOT_FORMAT = "snapshot-5"
MANIFEST_FILE = "manifest.json"
CHECKSUM_KEY = "seal"
_CHECKED_FILE = "checked-snapshot.json"


def snapshot_folder(table: PassageTable) -> Path:
    """Return the folder of the snapshot of the table's version, which may not exist."""
    # The number alone would match the snapshot of another table, if the table was restored or created again.
    source = f"{SNAPSHOT_FORMAT} {BM25Index.fingerprint()} {table.files_hash}"
    key = blake2b(source.encode(), digest_size=8).hexdigest()
    return table.location.derived / "snapshots" / f"{table.version:08d}-{key}"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return a snapshot's inputs and the hashes of its files; a missing or damaged manifest is an IndexFormatError."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"the manifest of a snapshot is missing or damaged ({error})"
        raise IndexFormatError(f"{message}: run `clew repair`") from error
    if not isinstance(manifest, dict) or manifest.pop(CHECKSUM_KEY, None) != _manifest_checksum(manifest):
        raise IndexFormatError(f"the manifest of {folder.name} is not as it was written: run `clew repair`")
    return manifest


def write_manifest(manifest: dict[str, Any], folder: Path) -> None:
    """Write the manifest of a folder, with its checksum."""
    content = {**manifest, CHECKSUM_KEY: _manifest_checksum(manifest)}
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False)
    (folder / MANIFEST_FILE).write_text(text + "\n", encoding="utf-8")


def _manifest_checksum(manifest: dict[str, Any]) -> str:
    return blake2b(json.dumps(manifest, sort_keys=True).encode(), digest_size=8).hexdigest()


def snapshot_problems(folder: Path) -> list[str]:
    """Return a line for each missing, unexpected or changed file of a snapshot; [] if intact or not yet built."""
    if not folder.is_dir():
        return []
    try:
        expected = read_manifest(folder)["files"]
        actual = hash_files(folder)
    except IndexFormatError as error:
        return [str(error)]
    except OSError as error:
        return [f"{folder.name} cannot be read ({error}): run `clew repair`"]
    names = sorted(name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name))
    return [f"{folder.name}/{name} is not as it was written: run `clew repair`" for name in names]


def check_snapshot(folder: Path) -> None:
    """Raise an IndexFormatError where a file is not as the manifest says: a flipped bit would give wrong results.

    Files are hashed once, and again when a size or a time of modification has changed; `clew verify` always hashes.
    """
    if not folder.is_dir():
        return  # not built yet
    seal = _manifest_checksum(read_manifest(folder))
    try:
        stamps = {name: [path.stat().st_size, path.stat().st_mtime_ns] for name, path in _files(folder).items()}
    except OSError:
        stamps = {}  # the hashes below tell which file cannot be read
    checked = {"folder": str(folder.resolve()), "seal": seal, "files": stamps}
    note = folder.parent.parent / _CHECKED_FILE
    if _read_note(note) == checked:
        return
    if problems := snapshot_problems(folder):
        raise IndexFormatError(problems[0])
    try:
        with atomic_file(note) as file:
            file.write_text(json.dumps(checked), encoding="utf-8")
    except (OSError, ProviderError):
        return  # a folder that cannot be written is hashed at each start


def _read_note(note: Path) -> Any:
    try:
        return json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def hash_files(folder: Path) -> dict[str, str]:
    """Return the hash of each file in a folder, by its name there; the manifest is left out."""
    return {name: file_hash(path) for name, path in _files(folder).items()}


def _files(folder: Path) -> dict[str, Path]:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path for name, path in files.items() if name != MANIFEST_FILE}
