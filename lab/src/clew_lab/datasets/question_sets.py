"""Samples and statistics of question sets: equally many questions of each number of hops, and counts.

Source: Gao et al., "FRAG" (2025), tables 2, 5 and 6 (hops and answers of a data set) and A.2 (KG-1000: 250 questions of
each of 1 to 4 hops, drawn from two data sets).
Differs from the source: a number of hops with too few questions is refused, not filled up with others.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from clew.errors import InputError
from clew.text.display import format_count
from clew.types import Question

ANSWER_BINS = ((1, 1), (2, 4), (5, 9), (10, 0))
"""Smallest and largest number of answers of each bin, as in table 6; 0 for no largest."""


@dataclass(frozen=True, slots=True)
class QuestionSetStats:
    """Counts of a question set."""

    questions: int
    hops: Mapping[int, int]  # number of questions by number of hops, ascending; 0 for an unknown number
    answers: Mapping[str, int]  # number of questions by number of answers, in the bins of `ANSWER_BINS`
    topics: int  # questions with a topic
    paths: int  # questions with a gold path


def count_questions(questions: Sequence[Question]) -> QuestionSetStats:
    """Return the counts of a question set; distinct answers count."""
    hops = Counter(question.hops for question in questions)
    sizes = [len(set(question.answers)) for question in questions]
    bins = {_bin_name(low, high): sum(low <= n <= (high or n) for n in sizes) for low, high in ANSWER_BINS}
    without = {"0": sizes.count(0)} if 0 in sizes else {}
    return QuestionSetStats(
        len(questions),
        dict(sorted(hops.items())),
        {**without, **bins},
        sum(bool(question.topics) for question in questions),
        sum(bool(question.paths) for question in questions),
    )


def sample_by_hops(questions: Sequence[Question], hops: Sequence[int], each: int, rng: Generator) -> list[Question]:
    """Return `each` questions of each number of hops, drawn without replacement, in the order of the set.

    Raises InputError where there are fewer of a number of hops.
    """
    chosen: list[int] = []
    for wanted in hops:
        able = [place for place, question in enumerate(questions) if question.hops == wanted]
        if len(able) < each:
            take = format_count(len(able), "question takes", "questions take")
            fewer = f"give --each {len(able)} at most, " if able else ""
            raise InputError(
                f"{take} {format_count(wanted, 'hop')}, and {each:,} are wanted: {fewer}leave that number out of "
                "--hops, or add a file"
            )
        chosen += rng.choice(np.array(able), each, replace=False).tolist()
    return [questions[place] for place in sorted(chosen)]


def question_json(question: Question) -> dict[str, Any]:
    """Return a question as one line of a question set; what is not known is left out."""
    known = {
        "answers": list(question.answers),
        "gold": list(question.gold),
        "type": question.kind,
        "hops": question.hops,
        "topic": list(question.topics),
        "paths": [[list(triple) for triple in path] for path in question.paths],
    }
    return {"id": question.id, "question": question.text, **{name: value for name, value in known.items() if value}}


def _bin_name(low: int, high: int) -> str:
    return f"{low} or more" if not high else str(low) if low == high else f"{low} to {high}"
