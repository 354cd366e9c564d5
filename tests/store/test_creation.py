"""A new index is there with all of its first content, or not at all."""

import shutil
from pathlib import Path

import pytest

from clew.errors import IndexFormatError, IndexLockedError, InputError, ProviderError
from clew.store.atomic import new_index_folder
from clew.store.inspection import verify
from clew.store.location import locate
from clew.store.passage_table import PassageTable


def fail(folder: Path, error: Exception) -> None:
    with new_index_folder(locate(folder)) as made:
        PassageTable.create(made, {}, 0)
        raise error


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), InputError("a fault"), KeyError("a bug")])
def test_a_failed_creation_leaves_nothing(tmp_path: Path, error: Exception) -> None:
    wanted = ProviderError if isinstance(error, OSError) else type(error)
    with pytest.raises(wanted):
        fail(tmp_path / "new" / "index", error)
    assert not list(tmp_path.iterdir())
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "notes.txt").write_text("mine")
    with pytest.raises(wanted):
        fail(tmp_path / "own", error)
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["notes.txt"]


def test_an_error_names_the_location(tmp_path: Path) -> None:
    with pytest.raises(IndexFormatError) as caught, new_index_folder(locate(tmp_path / "index")) as made:
        PassageTable.open(made)
    assert str(caught.value).startswith(f"no Clew index at {tmp_path / 'index'}: ")
    assert ".tmp" not in str(caught.value)


def test_a_creation_that_was_killed_is_no_index_and_is_removed_by_the_next(tmp_path: Path) -> None:
    with new_index_folder(locate(tmp_path / "other")) as made:
        PassageTable.create(made, {}, 0)
        name = made.name
    (tmp_path / "index").mkdir()
    shutil.copytree(tmp_path / "other", tmp_path / "index" / name)
    with pytest.raises(IndexFormatError, match="no Clew index at"):
        PassageTable.open(tmp_path / "index")
    PassageTable.create(tmp_path / "index", {}, 0)
    assert not list((tmp_path / "index").glob(".*.tmp"))
    assert verify(tmp_path / "index") == []


def test_an_index_that_another_process_makes_meanwhile_stays(tmp_path: Path) -> None:
    def make_two() -> None:
        with new_index_folder(locate(tmp_path)) as made:
            PassageTable.create(made, {"by": "this one"}, 0)
            PassageTable.create(tmp_path, {"by": "another one"}, 0)

    with pytest.raises(IndexLockedError, match="meanwhile"):
        make_two()
    assert PassageTable.open(tmp_path).settings["by"] == "another one"
    assert not list(tmp_path.glob(".*.tmp"))
