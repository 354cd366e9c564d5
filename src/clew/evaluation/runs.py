"""A run: what one retriever ranked for each question and what that cost, saved as JSON to be scored later."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from clew.datasets.records import Record, preview, read_records
from clew.errors import InputError
from clew.protocols import Retriever
from clew.store.atomic import write_text
from clew.types import Evidence, Filter, Question, Usage

_BATCH_SIZE = 64
RUN_FORMAT = 2


@dataclass(frozen=True, slots=True)
class Ranking:
    """The passages of one question, best first, and what finding them cost.

    Attributes:
        passage_ids: (n,) best first.
        document_ids: (n,) the document of each passage.
        scores: (n,) finite, as the retriever gave them.
        usage: Seconds measured around the call; calls, tokens and money as the retriever reports them.
        steps: That an agent took; 1 for a retriever of one step.
    """

    question_id: str
    passage_ids: tuple[str, ...]
    document_ids: tuple[str, ...]
    scores: tuple[float, ...]
    usage: Usage
    notes: tuple[str, ...] = ()
    steps: int = 1

    def __post_init__(self) -> None:
        sizes = (len(self.passage_ids), len(self.document_ids), len(self.scores))
        if len(set(sizes)) != 1:
            raise InputError(
                f"question {self.question_id!r} has {sizes[0]} passages, {sizes[1]} documents and {sizes[2]} scores; "
                "give one document and one score a passage"
            )
        for passage, score in zip(self.passage_ids, self.scores, strict=True):
            if not math.isfinite(score):
                raise InputError(
                    f"question {self.question_id!r}: passage {passage!r} has score {score}; wanted a finite number, "
                    "so correct the retriever that made it"
                )


@dataclass(frozen=True, slots=True)
class Run:
    """What one retriever returned for each of some questions.

    Attributes:
        retriever: The name it is reported under.
        k: How many passages were asked for; no measure looks further down.
        rankings: One a question, each question once, in the order they were asked.
    """

    retriever: str
    k: int
    rankings: tuple[Ranking, ...]

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k is {self.k}; ask for at least 1 passage")
        if not self.rankings:
            raise InputError(f"the run of {self.retriever!r} holds no question; ask at least one")
        met: set[str] = set()
        for ranking in self.rankings:
            if ranking.question_id in met:
                raise InputError(
                    f"the run of {self.retriever!r} holds question {ranking.question_id!r} twice; ask it once"
                )
            met.add(ranking.question_id)

    @property
    def question_ids(self) -> tuple[str, ...]:
        """The ids of the questions, in the order they were asked."""
        return tuple(ranking.question_id for ranking in self.rankings)

    def save(self, path: str | Path) -> None:
        """Write the run as JSON; at any moment `path` holds either what it held before or the whole run.

        Raises:
            ProviderError: The file cannot be written.
        """
        content = json.dumps({"format": RUN_FORMAT, **asdict(self)}, ensure_ascii=False, allow_nan=False)
        write_text(Path(path), content + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Run":
        """Read a run that `save` wrote.

        Raises:
            InputError: The file cannot be read or does not hold a run of this format.
        """
        record = next(read_records(Path(path)))
        if record.value("format") != RUN_FORMAT:
            raise record.error(
                f"'format' is {preview(record.fields['format'])}", f"{RUN_FORMAT}, a run of this version"
            )
        rankings = tuple(
            _read_ranking(record.nested(item, f"ranking {number}"))
            for number, item in enumerate(record.items("rankings"))
        )
        return cls(record.text("retriever"), _read_integer(record, "k"), rankings)


def execute(
    retriever: Retriever,
    name: str,
    questions: Sequence[Question],
    k: int,
    where: Filter | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Ask a retriever the questions, one at a time, so that the seconds of each are those a user would wait.

    The first question is asked once before all others, unmeasured: loading and compiling are no part of a question.
    Where that calls a language model, questions are asked many at a time instead, none twice, and seconds are a
    question's share.

    Args:
        retriever: What is measured.
        name: What to call it in the run.
        questions: At least one, with different ids.
        k: How many passages to ask for, at least 1.
        where: Restricts the passages, as in `Retriever.retrieve`.
        progress: Called after each question with the number asked so far and the number of all.

    Raises:
        InputError: There is no question, two have one id, `k` is below 1, or a score is not finite.
    """
    if not questions:
        raise InputError("there are no questions; give at least one")
    first = retriever.retrieve([questions[0].text], k, where)[0]
    if first.usage.calls:
        return Run(name, k, tuple(_run_batched(retriever, questions, k, where, first, progress)))
    rankings = []
    for number, question in enumerate(questions, 1):
        start = time.perf_counter()
        evidence = retriever.retrieve([question.text], k, where)[0]
        rankings.append(_make_ranking(question.id, evidence, k, time.perf_counter() - start))
        if progress is not None:
            progress(number, len(questions))
    return Run(name, k, tuple(rankings))


def _run_batched(
    retriever: Retriever,
    questions: Sequence[Question],
    k: int,
    where: Filter | None,
    first: Evidence,
    progress: Callable[[int, int], None] | None,
) -> list[Ranking]:
    """Ask all questions but the first, whose evidence is known, many at a time."""
    rankings = [_make_ranking(questions[0].id, first, k, first.usage.seconds)]
    while len(rankings) < len(questions):
        asked = questions[len(rankings) : len(rankings) + _BATCH_SIZE]
        found = retriever.retrieve([question.text for question in asked], k, where)
        rankings += [_make_ranking(q.id, e, k, e.usage.seconds) for q, e in zip(asked, found, strict=True)]
        if progress is not None:
            progress(len(rankings), len(questions))
    return rankings


def _make_ranking(question_id: str, evidence: Evidence, k: int, seconds: float) -> Ranking:
    found = evidence.passages[:k]
    spent = evidence.usage
    return Ranking(
        question_id,
        tuple(scored.item.id for scored in found),
        tuple(scored.item.document_id for scored in found),
        tuple(float(scored.score) for scored in found),
        replace(spent, seconds=seconds),
        evidence.notes,
        max(len(evidence.steps), 1),
    )


def _read_ranking(record: Record) -> Ranking:
    usage = record.nested(record.value("usage"), "'usage'")
    return Ranking(
        record.text("question_id"),
        record.texts("passage_ids"),
        record.texts("document_ids"),
        tuple(_read_number(record, "scores", score) for score in record.items("scores")),
        Usage(
            _read_number(usage, "seconds", usage.value("seconds")),
            _read_integer(usage, "calls"),
            _read_integer(usage, "input_tokens"),
            _read_integer(usage, "output_tokens"),
            _read_number(usage, "cost", usage.value("cost")),
        ),
        record.texts("notes"),
        _read_integer(record, "steps"),
    )


def _read_number(record: Record, key: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise record.error(f"{key!r} holds {preview(value)}", "a number")
    return float(value)


def _read_integer(record: Record, key: str) -> int:
    value = record.value(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise record.error(f"{key!r} is {preview(value)}", "a whole number")
    return value
