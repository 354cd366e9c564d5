"""Questions with their evidence, one JSON object a line: {id, question, answers, gold, type, hops, topic, paths}.

Only `id` and `question` are required. `gold` are ids of passages or documents; `topic` is an entity, or a list of
entities, that the question is about; `paths` are lists of [head, relation, tail]. Layouts of published data sets are
read by the package `clew_lab`, whose `clew questions convert` writes this one.
"""

from pathlib import Path

from clew.datasets.records import Record, check_unique, preview, read_records
from clew.errors import InputError
from clew.types import Question

QUESTION_FILE = "questions.jsonl"


def load_questions(path: str | Path) -> list[Question]:
    """Load questions in the order of the file.

    `path` is a file, a JSON list or JSON lines, or a folder with `questions.jsonl`. Raises InputError with file and
    line if the file cannot be read, a key is missing or has the wrong type, or an id repeats.
    """
    source = Path(path)
    if source.is_dir():
        if not (source / QUESTION_FILE).is_file():
            raise InputError(f"{source}: has no {QUESTION_FILE}; give a file of questions")
        source = source / QUESTION_FILE
    return check_unique((record.location, make_question(record)) for record in read_records(source))


def make_question(record: Record) -> Question:
    """Return the question of a record; raises InputError for a missing or wrong field."""
    return Question(
        record.identifier("id"),
        record.text("question"),
        record.texts("answers") if "answers" in record.fields else (),
        tuple(dict.fromkeys(record.texts("gold"))) if "gold" in record.fields else (),
        question_type(record),
        hop_count(record),
        _topics(record),
        _graph_paths(record),
    )


def _topics(record: Record) -> tuple[str, ...]:
    topic = record.fields.get("topic")
    if topic is None:
        return ()
    return (record.text("topic"),) if isinstance(topic, str) else record.texts("topic")


def _graph_paths(record: Record) -> tuple[tuple[tuple[str, str, str], ...], ...]:
    if record.fields.get("paths") is None:
        return ()
    paths = []
    for path in record.items("paths"):
        match path:
            case [*steps] if steps and all(map(_is_triple, steps)):
                paths.append(tuple((str(h), str(r), str(t)) for h, r, t in steps))
            case _:
                raise record.error(f"'paths' holds {preview(path)}", "lists of [head, relation, tail]")
    return tuple(paths)


def _is_triple(step: object) -> bool:
    return isinstance(step, list) and len(step) == 3 and all(isinstance(part, str) for part in step)


def question_type(record: Record) -> str:
    """Return the type that a record states; "" for none."""
    return record.text("type") if record.fields.get("type") is not None else ""


def hop_count(record: Record) -> int:
    """Return the number of hops that a record states; 0 for none."""
    hops = record.fields.get("hops", 0)
    if not isinstance(hops, int) or isinstance(hops, bool) or hops < 0:
        raise record.error(f"'hops' is {preview(hops)}", "a whole number, 0 or more")
    return hops
