"""Runs: the rankings and costs of one retriever on a set of questions, saved as JSON for scoring."""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from clew.datasets.questions import open_text
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
        with open_text(Path(path), "run") as file:
            content = file.read()
        try:
            if (form := json.loads(content).get("format")) != RUN_FORMAT:
                raise InputError(f"{path}: 'format' is {form!r}; wanted {RUN_FORMAT}, a run of this version")
            return TypeAdapter(Run).validate_json(content, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        except (ValueError, AttributeError) as error:
            reason = str(error)
        raise InputError(f"{path}: is no run ({reason}); delete the file, and it is made again")


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
    is_batched = first.usage.calls > 0
    rankings: list[Ranking] = []

    def note(question: Question, evidence: Evidence, seconds: float) -> None:
        rankings.append(_make_ranking(question.id, evidence, k, seconds))
        if on_evidence is not None:
            on_evidence(question, evidence)

    if is_batched:
        note(questions[0], first, first.usage.seconds)
    while len(rankings) < len(questions):
        batch = questions[len(rankings) : len(rankings) + (_BATCH_SIZE if is_batched else 1)]
        start = time.perf_counter()
        found = retriever.retrieve([question.text for question in batch], k, where)
        seconds = time.perf_counter() - start
        for question, evidence in zip(batch, found, strict=True):
            note(question, evidence, evidence.usage.seconds if is_batched else seconds)
        if progress is not None:
            progress(len(rankings), len(questions))
    return Run(name, k, tuple(rankings))


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
