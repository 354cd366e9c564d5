"""The content of a snapshot, to compare two that have to be equal."""

from clew.index import Index
from clew.store.snapshot_files import LOCAL_FILES, MANIFEST_FILE, snapshot_folder


def snapshot_files(index: Index) -> dict[str, bytes]:
    """Return every file of the snapshot by name, including the manifest, but for what tells where passages lie."""
    assert index.snapshot  # builds the files, even if nothing was added
    folder = snapshot_folder(index.table)
    assert (folder / MANIFEST_FILE).is_file()
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in LOCAL_FILES)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
