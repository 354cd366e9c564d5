"""The BEIR layout: a folder of `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv` (query id, document id, score)."""

from collections.abc import Iterator
from pathlib import Path

from clew.datasets.questions import open_text, preview, read_records
from clew.errors import InputError
from clew.types import Question


def is_beir_path(path: Path) -> bool:
    """Return whether `path` is a BEIR folder, its `queries.jsonl`, or one of its qrels."""
    folder = beir_folder(path)
    return (folder / "queries.jsonl").is_file() and (folder / "qrels").is_dir()


def beir_folder(path: Path) -> Path:
    """Return the BEIR folder that `path`, the folder itself or one of its files, would belong to."""
    if path.suffix == ".tsv" and path.parent.name == "qrels":
        return path.parent.parent
    return path.parent if path.name == "queries.jsonl" else path


def read_questions(path: Path) -> Iterator[tuple[str, Question]]:
    """Yield the questions of one split with a gold document and their locations, in the order of `queries.jsonl`.

    `path` is the folder, or a file of its `qrels`. Raises InputError if a file is missing or malformed, or if there are
    several splits and none is `test`.
    """
    folder = beir_folder(path)
    qrels = path if path.suffix == ".tsv" else _choose_qrels(folder / "qrels")
    gold = _read_qrels(qrels)
    read = set()
    for record in read_records(folder / "queries.jsonl"):
        identifier = record.identifier("_id")
        if identifier in gold:
            read.add(identifier)
            yield record.location, Question(identifier, record.text("text"), gold=tuple(gold[identifier]))
    for identifier, documents in gold.items():
        if identifier not in read:
            location = next(iter(documents.values()))
            raise InputError(f"{location}: query {identifier!r} is not in {folder / 'queries.jsonl'}; add it there")


def _choose_qrels(folder: Path) -> Path:
    splits = sorted(folder.glob("*.tsv"))
    chosen = [path for path in splits if path.name == "test.tsv"] or splits
    if len(chosen) != 1:
        names = ", ".join(path.name for path in splits) or "none"
        raise InputError(f"{folder}: the splits are {names}; wanted test.tsv or a single file. Give the file to use")
    return chosen[0]


def _read_qrels(path: Path) -> dict[str, dict[str, str]]:
    """Return for each query its relevant documents, each with the location of its judgment."""
    with open_text(path, "file") as file:
        lines = file.read().split("\n")
    gold: dict[str, dict[str, str]] = {}
    for number, line in enumerate(lines, 1):
        columns = line.split("\t")
        if not line.strip() or (number == 1 and columns[0].strip() == "query-id"):
            continue
        location = f"{path}: line {number}"
        if len(columns) != 3 or not columns[2].strip().lstrip("-").isdigit():
            raise InputError(
                f"{location}: {preview(line)} is not a judgment; wanted query id, document id and whole number, "
                "separated by tabs"
            )
        if int(columns[2]) > 0:
            gold.setdefault(columns[0], {}).setdefault(columns[1], location)
    if not gold:
        raise InputError(f"{path}: judges no document relevant; wanted at least one line with a score above 0")
    return gold
