"""Archives are read where they are given by themselves, within limits, as a folder of their name."""

import io
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

from clew.indexing.sources.archives import unpack_archive
from clew.indexing.sources.reader import read_documents
from clew.indexing.sources.register import SourceRegister
from clew.types import Document, Failure
from tests.indexing.sources.reading import read_failure, read_ids, write_file

FILES = {
    "a.txt": "One.",
    "sub/t.csv": "id,text\nx,one\n",
    "sub/b.md": "# Crew\n\nBo Hale.",
    "e.txt": "",
}


def pack(path: Path, files: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return path
    with tarfile.open(path, "w:gz") as archive_file:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive_file.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_an_archive_is_read_where_it_is_given_by_itself(tmp_path: Path, name: str) -> None:
    files = {key: text.encode() for key, text in FILES.items()} | {".hidden.txt": b"no", "p.png": b"\x89PNG"}
    path = pack(tmp_path / name, files)
    results = list(read_documents([path]))
    documents = [result for result in results if isinstance(result, Document)]
    assert [document.id for document in documents] == [f"{name}/a.txt", f"{name}/sub/b.md", "x"]
    assert (documents[1].title, documents[1].origin) == ("Crew", {"path": f"{name}/sub/b.md"})
    assert [result.item for result in results if isinstance(result, Failure)] == [f"{path}/p.png"]
    failure = read_failure(write_file(tmp_path / "folder" / name, path.read_bytes()).parent)
    assert "given by itself" in failure.reason


def test_documents_of_an_archive_keep_their_ids(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.zip", {"a.txt": b"one", "b.txt": b"two"})
    first = SourceRegister(tmp_path / "register")
    ids = read_ids(path, register=first)
    first.close()
    pack(path, {"a.txt": b"one"})
    second = SourceRegister(tmp_path / "register")
    again = read_ids(path, register=second)
    second.close()
    assert (ids, again) == (["a.zip/a.txt", "a.zip/b.txt"], ["a.zip/a.txt"])


@pytest.mark.parametrize("name", ["a.zip", "a.tgz"])
def test_what_no_document_needs_is_refused(tmp_path: Path, name: str) -> None:
    bomb = pack(tmp_path / name, {"a.txt": b"a", "b.txt": b" " * (17 << 20)})
    results = list(read_documents([bomb]))
    assert "unpacks to more than 16 MiB" in getattr(results[-1], "reason", "")
    for wrong in ("../b.txt", "c/../../b.txt", "..\\b.txt"):
        assert "leads out of it" in read_failure(pack(tmp_path / name, {wrong: b"a"})).reason
    assert not (tmp_path / "b.txt").exists()
    reason = read_failure(write_file(tmp_path / name, b"words")).reason
    assert re.search(r"damaged or locked \(\w+: [^\n\\]+\): unpack it", reason)


def test_the_folder_of_an_archive_goes(tmp_path: Path) -> None:
    with unpack_archive(pack(tmp_path / "a.zip", {"a.txt": b"a"})) as folder:
        assert (folder / "a.txt").read_bytes() == b"a"
    assert not folder.exists()
