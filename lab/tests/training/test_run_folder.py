"""A run folder records its run, refuses another one, and is removed if the run fails at once."""

from pathlib import Path

import pytest

from clew.errors import InputError
from clew.training.loop import LOG_FILE
from clew_lab.training.run_folder import IDENTITY_FILE, own_run_folder

IDENTITY = {"questions": "3-ab", "network": "small"}


def test_the_same_run_resumes_and_another_is_refused(tmp_path: Path) -> None:
    for _ in range(2):
        with own_run_folder(tmp_path / "run", IDENTITY):
            pass
    before = (tmp_path / "run" / IDENTITY_FILE).read_bytes()
    with (
        pytest.raises(InputError, match=r"holds another run, with questions '3-ab' instead of '4-cd'.*another folder"),
        own_run_folder(tmp_path / "run", IDENTITY | {"questions": "4-cd"}),
    ):
        pass
    assert (tmp_path / "run" / IDENTITY_FILE).read_bytes() == before


@pytest.mark.parametrize("text", ["(settings)", "[]", '{"questions": "3-ab"}'])
def test_an_identity_file_with_other_content_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / IDENTITY_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="give another folder, or remove"), own_run_folder(tmp_path, IDENTITY):
        pass


def fail_in_folder(run: Path, error: BaseException, *, epochs: int = 0) -> None:
    def fail() -> None:
        with own_run_folder(run, IDENTITY):
            (run / "last.safetensors").write_bytes(b"weights")
            if epochs:
                (run / LOG_FILE).write_text("{}\n" * epochs, encoding="utf-8")
            raise error

    with pytest.raises(type(error)):
        fail()


def test_a_run_that_fails_before_its_first_epoch_leaves_nothing(tmp_path: Path) -> None:
    fail_in_folder(tmp_path / "out" / "run", InputError("nothing to learn from"))
    assert not list(tmp_path.iterdir())


def test_existing_files_stay(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").write_text("mine", encoding="utf-8")
    fail_in_folder(tmp_path / "out" / "run", InputError("nothing to learn from"))
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["other"]
    (tmp_path / "run").mkdir()
    fail_in_folder(tmp_path / "run", InputError("nothing to learn from"))
    assert (tmp_path / "run" / "last.safetensors").is_file()


def test_a_run_with_an_epoch_or_a_killed_run_stays(tmp_path: Path) -> None:
    fail_in_folder(tmp_path / "far", InputError("the loss is nan"), epochs=1)
    fail_in_folder(tmp_path / "killed", KeyboardInterrupt())
    assert all((tmp_path / name / IDENTITY_FILE).is_file() for name in ("far", "killed"))
