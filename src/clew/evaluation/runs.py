"""Runs: the rankings and costs of one retriever on a set of questions, saved as JSON for scoring."""

import json
import math
import time
from collections import Counter
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
    """The ranked passages of one question, best first, with documents and finite scores, and the cost of the search."""

    question_id: str
    passage_ids: tuple[str, ...]
    document_ids: tuple[str, ...]
    scores: tuple[float, ...]
    usage: Usage  # seconds measured around the call; calls, tokens and money as reported by the retriever
    notes: tuple[str, ...] = ()
    steps: int = 1  # number of steps of an agent; 1 for other retrievers

    def __post_init__(self) -> None:
        sizes = (len(self.passage_ids), len(self.document_ids), len(self.scores))
        if len(set(sizes)) != 1:
            raise InputError(
                f"question {self.question_id!r} has passages: {sizes[0]}, documents: {sizes[1]}, scores: {sizes[2]}; "
                "give one document and one score per passage"
            )
        for passage, score in zip(self.passage_ids, self.scores, strict=True):
            if not math.isfinite(score):
                raise InputError(
                    f"question {self.question_id!r}: passage {passage!r} has score {score}; wanted a finite number, "
                    "so correct the retriever that made it"
                )


@dataclass(frozen=True, slots=True)
class Run:
    """Rankings of one retriever, one per question, with distinct questions, in the order they were asked."""

    retriever: str  # name of the retriever in reports
    k: int  # number of requested passages, the maximum cut-off of measures
    rankings: tuple[Ranking, ...]

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k is {self.k}; ask for at least 1 passage")
        if not self.rankings:
            raise InputError(f"the run of {self.retriever!r} holds no question; ask at least one")
        repeated = [name for name, count in Counter(self.question_ids).items() if count > 1]
        if repeated:
            raise InputError(f"the run of {self.retriever!r} holds question {repeated[0]!r} twice; ask it once")

    @property
    def question_ids(self) -> tuple[str, ...]:
        """Ids of the questions, in order."""
        return tuple(ranking.question_id for ranking in self.rankings)

    def save(self, path: str | Path) -> None:
        """Write the run as JSON, replacing the file atomically; raises ProviderError if it cannot be written."""
        content = json.dumps({"format": RUN_FORMAT, **asdict(self)}, ensure_ascii=False, allow_nan=False)
        write_text(Path(path), content + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "Run":
        """Read a run written by `save`; raises InputError if it cannot be read or is not of this format."""
        record = next(read_records(Path(path)))
        if record.value("format") != RUN_FORMAT:
            raise record.error(
                f"'format' is {preview(record.fields['format'])}", f"{RUN_FORMAT}, a run of this version"
            )
        rankings = tuple(
            _read_ranking(record.nested_record(item, f"ranking {number}"))
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
    on_evidence: Callable[[Question, Evidence], None] | None = None,
) -> Run:
    """Run a retriever on questions, one at a time, so that seconds are the latency of a single question.

    The first question is asked once more beforehand, untimed, as a warm-up. If that calls a language model, questions
    are asked in batches instead, none twice, and seconds are those reported per question. There is at least one
    question, ids are distinct, and `k` passages are retrieved, at least 1. `progress` is called with `(done, total)`,
    `on_evidence` with each question and what was found for it.
    """
    if not questions:
        raise InputError("there are no questions; give at least one")
    first = retriever.retrieve([questions[0].text], k, where)[0]
    if first.usage.calls:
        return Run(name, k, tuple(_run_batched(retriever, questions, k, where, first, progress, on_evidence)))
    rankings = []
    for number, question in enumerate(questions, 1):
        start = time.perf_counter()
        evidence = retriever.retrieve([question.text], k, where)[0]
        rankings.append(_make_ranking(question.id, evidence, k, time.perf_counter() - start))
        if on_evidence is not None:
            on_evidence(question, evidence)
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
    on_evidence: Callable[[Question, Evidence], None] | None,
) -> list[Ranking]:
    """Ask all questions but the first, whose evidence is given, in batches."""
    if on_evidence is not None:
        on_evidence(questions[0], first)
    rankings = [_make_ranking(questions[0].id, first, k, first.usage.seconds)]
    while len(rankings) < len(questions):
        batch = questions[len(rankings) : len(rankings) + _BATCH_SIZE]
        evidence = retriever.retrieve([question.text for question in batch], k, where)
        rankings += [_make_ranking(q.id, e, k, e.usage.seconds) for q, e in zip(batch, evidence, strict=True)]
        if on_evidence is not None:
            for question, found in zip(batch, evidence, strict=True):
                on_evidence(question, found)
        if progress is not None:
            progress(len(rankings), len(questions))
    return rankings


def _make_ranking(question_id: str, evidence: Evidence, k: int, seconds: float) -> Ranking:
    passages = evidence.passages[:k]
    return Ranking(
        question_id,
        tuple(scored.item.id for scored in passages),
        tuple(scored.item.document_id for scored in passages),
        tuple(float(scored.score) for scored in passages),
        replace(evidence.usage, seconds=seconds),
        evidence.notes,
        max(len(evidence.steps), 1),
    )


def _read_ranking(record: Record) -> Ranking:
    usage = record.nested_record(record.value("usage"), "'usage'")
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
