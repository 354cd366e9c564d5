"""Checks of the folders that a recipe reads and writes, before time is spent on their content."""

from collections.abc import Sequence
from pathlib import Path

from clew.errors import InputError
from clew.training.data.corpora import CORPUS_FILE, DEVELOPMENT_FILE, TRAIN_FILE


def check_out_folder(out: Path) -> None:
    """Raise InputError for a file in the place of the folder for weights."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; the weights need a folder: give another place")


def question_files(data: Sequence[Path], validation: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return the folders of data with the names of their files of questions; they must have these and a corpus."""
    files = [*((folder, TRAIN_FILE) for folder in data), *((folder, DEVELOPMENT_FILE) for folder in validation)]
    for folder, questions in files:
        if missing := next((name for name in (CORPUS_FILE, questions) if not (folder / name).is_file()), ""):
            raise InputError(f"{folder} has no {missing}: give folders with {CORPUS_FILE} and {questions}")
    return files
