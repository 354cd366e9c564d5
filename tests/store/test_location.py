import os
import sys
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.plugins.folders import cache_folder
from clew.store.location import locate
from clew.store.passage_table import PassageTable
from clew.store.repair import repair
from clew.store.writer_lock import writer_lock
from tests.faults.commands import folder_hash
from tests.store.rows import make_index


def test_a_folder_holds_everything(tmp_path: Path) -> None:
    for path in (tmp_path / "x", str(tmp_path / "x"), (tmp_path / "x").as_uri()):
        location = locate(path)
        assert (location.table, location.remote) == (str(tmp_path / "x" / "passages.lance"), False)
        assert (location.derived, location.lock) == (tmp_path / "x" / "derived", tmp_path / "x" / "clew.lock")
    assert locate(location) is location

    with pytest.raises(InputError, match="give a folder"):
        locate("")


def test_a_relative_folder_stays_where_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate("x").table == str(tmp_path / "x" / "passages.lance")
    assert locate("x").name == "x"


def test_an_object_store_has_its_local_part_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path))
    location = locate("s3://bucket/prefix/", {"aws_region": "eu"})
    assert (location.table, location.remote) == ("s3://bucket/prefix/passages.lance", True)
    assert location.storage_options == {"aws_region": "eu"}
    assert location.derived.is_relative_to(tmp_path)
    assert location.lock.parent == location.derived.parent == locate("s3://bucket/prefix").derived.parent
    assert location.derived != locate("s3://bucket/other").derived


@pytest.mark.skipif(sys.platform != "linux", reason="where Linux keeps caches")
def test_the_cache_is_the_platforms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLEW_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "clew"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "clew"


@pytest.mark.parametrize("name", ["sp ace", "per%20cent", "ha#sh", "q?m", "émoji🙂", "co:lon", "br[ac]ket", "it's"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    if os.name == "nt" and set(name) & set("?:"):
        pytest.skip("Windows forbids the name")
    PassageTable.create(tmp_path / name, {"name": name}, 0)
    assert PassageTable.open(tmp_path / name).settings == {"name": name}
    assert sorted(path.name for path in (tmp_path / name).iterdir()) == ["derived", "passages.lance"]


@pytest.mark.parametrize(
    "part",
    [
        "derived", "derived/snapshots", "clew.lock", "passages.lance/data",
        "passages.lance/data/?", "passages.lance/_versions/?", "derived/snapshots/1-a/?", "derived/segments/?",
        "uploads/a/b/c/?",
    ],
)  # fmt: skip
def test_a_link_at_any_depth_of_an_index_is_not_followed(tmp_path: Path, part: str) -> None:
    """A repair removed what `derived` led to, and the next writer emptied what `clew.lock` led to."""
    index, elsewhere = tmp_path / "index", tmp_path / "elsewhere"
    make_index(index, ("a", 1))
    (index / "derived" / "snapshots").mkdir(parents=True)
    place = index / part
    if place.name == "?":  # a file of that folder
        place.parent.mkdir(parents=True, exist_ok=True)
        place = next((path for path in place.parent.iterdir() if path.is_file()), place.parent / "vectors.npy")
    if place.is_dir():
        place.rename(elsewhere)
        (elsewhere / "keep.txt").write_text("text of others", encoding="utf-8")
    else:
        elsewhere.write_bytes(place.read_bytes() if place.exists() else b"text of others")
        place.unlink(missing_ok=True)
    before = folder_hash(tmp_path)
    place.symlink_to(elsewhere)
    for act in (PassageTable.open, repair, lambda at: writer_lock(at).__enter__()):
        with pytest.raises(InputError, match=f"{place.name} is a symbolic link"):
            act(index)
    place.unlink()
    assert folder_hash(tmp_path) == before


def test_the_folder_of_an_index_may_be_a_link(tmp_path: Path) -> None:
    make_index(tmp_path / "index", ("a", 1))
    (tmp_path / "index" / "notes").symlink_to(tmp_path)  # not a part of the index
    (tmp_path / "link").symlink_to(tmp_path / "index")
    assert PassageTable.open(tmp_path / "link").document_hashes() == {"a": "a/1"}


@pytest.mark.parametrize("name", ["a" * 300, "a" * 200 + "/" + "b/" * 3000])
def test_a_name_that_is_too_long_for_a_path_is_one_line(name: str) -> None:
    with pytest.raises(InputError, match="is too long for a path: choose another place"):
        PassageTable.open(name)


def test_a_cache_that_is_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("CLEW_CACHE", str(file))
    with pytest.raises(InputError, match=r"CLEW_CACHE is '.*file', which is no folder"):
        cache_folder()
    monkeypatch.setenv("CLEW_CACHE", str(file / "new"))
    with pytest.raises(InputError, match=r"new', below .*file, which is no folder"):
        cache_folder()
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path / "new" / "newer"))
    assert cache_folder() == tmp_path / "new" / "newer"
