"""Folders of data to learn from: what to call them, whether they have changed, and the indexes of their corpora.

A folder holds `corpus.jsonl` {id, title, text} and, for the stage that learns from questions, {id, question, gold:
[passage ids]} in `train.jsonl` to learn from and `dev.jsonl` to choose the epoch by.
"""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b, file_digest
from pathlib import Path

from clew.errors import InputError
from clew.index import create
from clew.index import open as open_index
from clew.query.context import IndexContext
from clew.store.dataset import open_dataset
from clew.store.location import locate
from clew.types import Progress

CORPUS_FILE, TRAIN_FILE, DEVELOPMENT_FILE = "corpus.jsonl", "train.jsonl", "dev.jsonl"


def hash_folders(folders: Sequence[Path], questions: str) -> list[str]:
    """Return a hash of each folder's corpus and questions."""
    return ["".join(map(hash_file, (folder / CORPUS_FILE, folder / questions))) for folder in folders]


def hash_file(path: Path) -> str:
    """Return a hash of a file's bytes; "-" where there is none."""
    if not path.is_file():
        return "-"
    with path.open("rb") as stream:
        return file_digest(stream, lambda: blake2b(digest_size=6)).hexdigest()


def distinct_names(folders: Sequence[Path]) -> dict[Path, str]:
    """Return what to call each folder: its name, with as many of those above it as tell it from all others."""
    places = {folder: folder.resolve() for folder in folders}
    longest = max((len(place.parts) for place in places.values()), default=0)
    ends = [Counter(place.parts[-size:] for place in set(places.values())) for size in range(1, longest + 1)]
    return {
        folder: "/".join(next(place.parts[-size:] for size, end in enumerate(ends, 1) if end[place.parts[-size:]] == 1))
        for folder, place in places.items()
    }


def open_corpus_index(folder: Path, run: Path, progress: Progress) -> IndexContext:
    """Return the index of a folder's corpus, made below `run` where it is not there whole.

    One that is whole is only read, so that several trainings may share it at the same time.

    Raises:
        InputError: A document cannot be read.
        IndexLockedError: Another process is making it.
    """
    # By what is in it: a corpus that has changed, or another one of the same name, gets an index of its own.
    place = run / "indexes" / f"{folder.resolve().name}-{hash_file(folder / CORPUS_FILE)}"
    place.parent.mkdir(parents=True, exist_ok=True)
    whole = place.with_name(f".{place.name}.whole")
    started = open_dataset(locate(place)) is not None
    if started and whole.is_file():
        return open_index(place, progress).context
    if not started:
        whole.unlink(missing_ok=True)  # of one that was removed
        create(place, progress=progress)
    index = open_index(place, progress)
    report = index.add([folder / CORPUS_FILE])
    if report.failures:
        failed = report.failures[0]
        raise InputError(f"{failed.item}: {failed.reason}: correct the corpus, and run the same command again")
    if report.stop_error is not None:
        raise report.stop_error
    whole.touch()
    return index.context
