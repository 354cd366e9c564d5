"""The files of a snapshot: where they lie, their manifest, and whether they are as they were written."""

import json
from collections.abc import Container
from hashlib import blake2b
from pathlib import Path
from typing import Any

from clew.errors import IndexFormatError
from clew.store.array_file import file_problem
from clew.store.atomic import file_hash, file_stamp, read_note, write_note
from clew.store.error_mapping import unreadable_error
from clew.store.passage_table import PassageTable
from clew.store.segment_files import SEGMENT_NAMES_FILE, read_segment_names, segments_folder
from clew.text.bm25 import BM25Index

SNAPSHOT_FORMAT = "snapshot-8"
MANIFEST_FILE = "manifest.json"
CHECKSUM_KEY = "seal"
DECISION_PROBLEMS = "decision_problems"
"""Entry of a manifest: numbers of decisions on entities that changed nothing, or not all, with the reason."""
LOCAL_MANIFEST_FILE = "local.json"
_LISTED_LOCALLY = frozenset({"places.npy", SEGMENT_NAMES_FILE})
LOCAL_FILES = _LISTED_LOCALLY | {LOCAL_MANIFEST_FILE}
"""Files that tell where the passages lie in segments; all others are equal for equal contents."""
_CHECKED_FILE = "checked-snapshot.json"
_MAX_HASHED_BYTES = 1 << 26


def snapshot_folder(table: PassageTable) -> Path:
    """Return the folder of the snapshot of the table's version, which may not exist."""
    # The number alone would match the snapshot of another table, if the table was restored or created again.
    source = f"{SNAPSHOT_FORMAT} {BM25Index.fingerprint()} {table.files_hash}"
    key = blake2b(source.encode(), digest_size=8).hexdigest()
    return table.location.derived / "snapshots" / f"{table.version:08d}-{key}"


def read_manifest(folder: Path, file: str = MANIFEST_FILE) -> dict[str, Any]:
    """Return a snapshot's inputs and the hashes of its files; a missing or damaged manifest is an IndexFormatError."""
    try:
        manifest: dict[str, Any] = json.loads((folder / file).read_text(encoding="utf-8"))
    except OSError as error:
        raise unreadable_error(folder / file, error) from error
    except (ValueError, RecursionError) as error:
        message = f"the manifest of a snapshot is damaged ({error})"
        raise IndexFormatError(f"{message}: run `clew repair`") from error
    if not isinstance(manifest, dict) or manifest.pop(CHECKSUM_KEY, None) != _manifest_checksum(manifest):
        raise IndexFormatError(f"the manifest of {folder.name} is not as it was written: run `clew repair`")
    return manifest


def write_manifest(manifest: dict[str, Any], folder: Path) -> None:
    """Write the manifest of a folder, with the sizes of its files and a checksum, and that of its local files."""
    files = _files(folder)
    local = {name: file_hash(path) for name, path in files.items() if name in _LISTED_LOCALLY}
    sizes = {name: path.stat().st_size for name, path in files.items() if name not in _LISTED_LOCALLY}
    _write_sealed({**manifest, "sizes": sizes}, folder / MANIFEST_FILE)
    if local:
        _write_sealed({"files": local}, folder / LOCAL_MANIFEST_FILE)


def _write_sealed(content: dict[str, Any], file: Path) -> None:
    sealed = {**content, CHECKSUM_KEY: _manifest_checksum(content)}
    text = json.dumps(sealed, indent=1, sort_keys=True, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def _manifest_checksum(manifest: dict[str, Any]) -> str:
    return blake2b(json.dumps(manifest, sort_keys=True).encode(), digest_size=8).hexdigest()


def hash_files(folder: Path, known: Container[str] = ()) -> dict[str, str]:
    """Return the hash of each file in a folder, by its name there.

    The manifest, local files and those whose hash is known already are left out.
    """
    files = {name: path for name, path in _files(folder).items() if name not in LOCAL_FILES and name not in known}
    return {name: file_hash(path) for name, path in files.items()}


def folder_state(folder: Path) -> str:
    """Return what tells a snapshot's folder and its segments from others of the same name; "" where it is not there."""
    try:
        stats = [path.stat() for path in (folder, folder / MANIFEST_FILE)]
        return f"{[(stat.st_ino, stat.st_mtime_ns) for stat in stats]} {missing_segments(folder)}"
    except (OSError, IndexFormatError):
        return str(folder.is_dir())


def is_complete(folder: Path) -> bool:
    """Return whether there is a snapshot with all of its segments; its files are not read."""
    try:
        return bool(read_manifest(folder)) and not missing_segments(folder)
    except IndexFormatError:
        return False


def missing_segments(folder: Path) -> list[str]:
    """Return the names of the segments of a snapshot that are not there; all can be made again from the table."""
    names = read_segment_names(folder) if _has_segments(folder) else []
    return [name for name in names if not (_segments(folder) / name).is_file()]


def snapshot_problems(folder: Path) -> list[str]:
    """Return a line for each missing, unexpected or changed file of a snapshot and of its segments; [] if intact.

    A snapshot that is not yet built has no problem.
    """
    if not folder.is_dir():
        return []
    try:
        expected = read_manifest(folder)["files"]
        if _has_segments(folder):
            expected |= read_manifest(folder, LOCAL_MANIFEST_FILE)["files"]
        actual = {name: file_hash(path) for name, path in _files(folder).items()}
        segments = read_segment_names(folder) if _has_segments(folder) else []
    except IndexFormatError as error:
        return [str(error)]
    except OSError as error:
        mapped = unreadable_error(folder, error)
        if not isinstance(mapped, IndexFormatError):
            raise mapped from error
        return [str(mapped)]
    names = sorted(name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name))
    problems = [f"{folder.name}/{name} is not as it was written: run `clew repair`" for name in names]
    return problems + [problem for name in segments if (problem := file_problem(_segments(folder) / name))]


def check_snapshot(folder: Path) -> None:
    """Raise an IndexFormatError where a file is not as the manifest says: a flipped bit would give wrong results.

    Files of up to 64 MB together are hashed once, and again when a size or a time of modification has changed. Of more
    only the sizes are compared, since hashing takes a second for each gigabyte; `clew verify` always hashes.
    """
    if not folder.is_dir():
        return  # not built yet
    manifest = read_manifest(folder)
    paths = {**_files(folder), **_segment_paths(folder)}
    stamps = {name: stamp for name, path in paths.items() if (stamp := file_stamp(path)) is not None}
    if len(stamps) < len(paths):
        stamps = {}  # the hashes below tell which file cannot be read
    checked = {"folder": str(folder.resolve()), "seal": _manifest_checksum(manifest), "files": stamps}
    note = folder.parent.parent / _CHECKED_FILE
    if read_note(note) == checked:
        return
    if not stamps or sum(size for size, _ in stamps.values()) <= _MAX_HASHED_BYTES:
        problems = snapshot_problems(folder)
    else:
        problems = _size_problems(folder, manifest, {name: stamp[0] for name, stamp in stamps.items()})
    if problems:
        raise IndexFormatError(problems[0])
    write_note(note, checked)  # a folder that cannot be written is hashed at each start


def _size_problems(folder: Path, manifest: dict[str, Any], sizes: dict[str, int]) -> list[str]:
    expected = manifest["sizes"]
    names = sorted(expected.keys() | _files(folder).keys() - _LISTED_LOCALLY)
    wrong = [name for name in names if expected.get(name) != sizes.get(name)]
    return [f"{folder.name}/{name} is not as it was written: run `clew repair`" for name in wrong]


def _has_segments(folder: Path) -> bool:
    return any((folder / name).exists() for name in LOCAL_FILES)


def _segments(folder: Path) -> Path:
    return segments_folder(folder.parent.parent)


def _segment_paths(folder: Path) -> dict[str, Path]:
    if not _has_segments(folder):
        return {}
    return {f"segments/{name}": _segments(folder) / name for name in read_segment_names(folder)}


def _files(folder: Path) -> dict[str, Path]:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path for name, path in files.items() if name not in (MANIFEST_FILE, LOCAL_MANIFEST_FILE)}
