"""Questions held out of those made from an index, to choose the epoch."""

from collections.abc import Sequence

import numpy as np

from clew.errors import InputError
from clew.types import Question

HELD_OUT_SHARE = 0.2


def split_holdout(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    """Return the questions to learn from and those held out, drawn by the seed; InputError for fewer than five."""
    if len(questions) < 5:
        raise InputError(f"questions, made or given: {len(questions)}; at least 5 are needed")
    order = np.random.default_rng(seed).permutation(len(questions)).tolist()
    cut = max(1, round(HELD_OUT_SHARE * len(questions)))
    return [questions[i] for i in order[cut:]], [questions[i] for i in order[:cut]]
