"""Folders of training data: their names, the hashes of their content, and the indexes of their corpora.

A folder holds `corpus.jsonl` {id, title, text} and, for training on questions, {id, question, gold: [passage ids]} in
`train.jsonl`, and in `dev.jsonl` for selecting the epoch.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b, file_digest
from pathlib import Path

from clew.errors import InputError
from clew.index import create, hash_new_index_settings
from clew.index import open as open_index
from clew.query.context import IndexContext
from clew.settings import Settings
from clew.store.dataset import open_dataset
from clew.store.location import locate
from clew.types import Progress

QUESTIONS_PER_BATCH = 64  # of those asked of a retriever, between two reports of progress
CORPUS_FILE, TRAIN_FILE, DEVELOPMENT_FILE = "corpus.jsonl", "train.jsonl", "dev.jsonl"


@dataclass(frozen=True, slots=True)
class IndexedQuestions:
    """An index that exists, and a file of questions on it; None where none are needed."""

    index: Path
    questions: Path | None = None

    @classmethod
    def parse(cls, text: str) -> "IndexedQuestions":
        """Return what `INDEX` or `INDEX=QUESTIONS` means."""
        index, _, questions = text.partition("=")
        return cls(Path(index), Path(questions) if questions else None)

    def check_no_questions(self, stage: str) -> None:
        """Raise InputError for questions that are given to a stage that makes its own, or learns from facts."""
        if self.questions is not None:
            raise InputError(
                f"--stage {stage} reads no questions, and {self.questions} was given: give the index {self.index} alone"
            )

    def question_file(self) -> Path:
        """Return the file of questions; none, or one that does not exist, is an InputError."""
        if self.questions is None or not self.questions.is_file():
            fault = (
                "has no questions" if self.questions is None else f"has questions in {self.questions}, which is no file"
            )
            raise InputError(
                f"the index {self.index} {fault}: give it as INDEX=QUESTIONS, with a file of questions and their gold"
            )
        return self.questions


def is_data_folder(place: str, *, or_index: bool) -> bool:
    """Return whether a place of validation is a folder of data; `or_index`: without a corpus it is an index."""
    path = Path(place)
    return (path / CORPUS_FILE).is_file() or (not or_index and ("=" not in place or path.is_dir()))


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


def hash_folders(folders: Sequence[Path], questions: str, settings: Settings | None = None) -> list[str]:
    """Return a hash of each folder's question file, its corpus, and the settings that its index is made with."""
    return [f"{corpus_key(folder, settings=settings)}{hash_file(folder / questions)}" for folder in folders]


def corpus_key(folder: Path, device: str | None = None, settings: Settings | None = None) -> str:
    """Return a hash of a folder's corpus and of the settings that its index is made with, among them the encoder."""
    return f"{hash_file(folder / CORPUS_FILE)}-{hash_new_index_settings(settings, device)}"


def hash_file(path: Path) -> str:
    """Return a hash of a file's bytes; "-" if there is no such file."""
    if not path.is_file():
        return "-"
    with path.open("rb") as stream:
        return file_digest(stream, lambda: blake2b(digest_size=6)).hexdigest()


def distinct_names(folders: Sequence[Path]) -> dict[Path, str]:
    """Return a distinct name for each folder: its own, preceded by as many parents as needed."""
    paths = {folder: folder.resolve() for folder in folders}
    longest = max((len(path.parts) for path in paths.values()), default=0)
    counts = [Counter(path.parts[-size:] for path in set(paths.values())) for size in range(1, longest + 1)]
    return {
        folder: "/".join(next(path.parts[-n:] for n, count in enumerate(counts, 1) if count[path.parts[-n:]] == 1))
        for folder, path in paths.items()
    }


def open_corpus_index(
    folder: Path, run: Path, progress: Progress, device: str | None = None, settings: Settings | None = None
) -> IndexContext:
    """Open the index of a folder's corpus below `run`; it is made or completed first if necessary.

    A complete index is only read, so that several training runs may share it at the same time; one of another encoder
    or extractor than the settings name is never taken. `device` is as `clew.open` takes it; None for `settings` are
    the user's. Raises InputError if a document cannot be read, and IndexLockedError while another process makes the
    index.
    """
    # Named by content and settings: a changed corpus, another one of the same name, another encoder or another
    # extractor gets an index of its own.
    location = run / "indexes" / f"{folder.resolve().name}-{corpus_key(folder, device, settings)}"
    location.parent.mkdir(parents=True, exist_ok=True)
    complete = location.with_name(f".{location.name}.whole")
    exists = open_dataset(locate(location)) is not None
    if exists and complete.is_file():
        return open_index(location, progress, device=device).context
    if not exists:
        complete.unlink(missing_ok=True)  # left from an index that was removed
        create(location, settings, progress, device=device)
    index = open_index(location, progress, device=device)
    report = index.add([folder / CORPUS_FILE])
    if report.failures:
        failure = report.failures[0]
        raise InputError(f"{failure.item}: {failure.reason}: correct the corpus, and run the same command again")
    if report.stop_error is not None:
        raise report.stop_error
    complete.touch()
    return index.context


def open_empty_index(
    run: Path, progress: Progress, device: str | None = None, settings: Settings | None = None
) -> IndexContext:
    """Open an index without documents below `run`, which is made if absent, for its encoder and models."""
    location = run / "indexes" / f"empty-{hash_new_index_settings(settings, device)}"
    location.parent.mkdir(parents=True, exist_ok=True)
    if open_dataset(locate(location)) is None:
        create(location, settings, progress, device=device)
    return open_index(location, progress, device=device).context
