"""Evidence from ranked passages and paths, and checks that all retrievers share."""

import time
from collections.abc import Sequence

from clew.errors import InputError
from clew.types import Evidence, Passage, Path, Scored, Usage

EMPTY_QUESTION = "the question is empty: nothing was searched"
NO_TOPIC = "the question names no entity of the graph; name one in [brackets], or give --topic"


def check_k(k: int) -> None:
    """Refuse a `k` below 1.

    Raises:
        InputError: `k` is below 1.
    """
    if k < 1:
        raise InputError(f"k is {k}: ask for at least 1 passage")


def make_evidence(
    passages: Sequence[Scored[Passage]], paths: Sequence[Scored[Path]], notes: Sequence[str], started: float
) -> Evidence:
    """Return evidence with the seconds since `started` (a `time.perf_counter`)."""
    usage = Usage(seconds=time.perf_counter() - started)
    return Evidence(tuple(passages), tuple(paths), tuple(notes), usage)
