"""A retriever whose passages are given beforehand for each question, and such passages as those of an index."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import final

from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.spec import nearest
from clew.retrievers.evidence import check_k
from clew.text.display import format_count
from clew.types import Evidence, Filter, Passage, Scored, Usage

EMPTY_POOL = "the pool of the question is empty: its 'ctxs' hold no passage"
_MAX_COMPARED = 2_000  # questions among which the most similar one is looked for


@final
class GivenPools:
    """Returns the passages of each question as they were given; raises InputError for any other question."""

    def __init__(self, pools: Mapping[str, Evidence]) -> None:
        self._pools = {" ".join(question.split()): evidence for question, evidence in pools.items()}

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question, best first; a filter is an InputError."""
        check_k(k)
        if where is not None:
            raise InputError("a pool of candidates has no metadata to filter by: leave --where out")
        return [self._retrieve_one(question, k) for question in questions]

    def _retrieve_one(self, question: str, k: int) -> Evidence:
        started = time.perf_counter()
        text = " ".join(question.split())
        if text not in self._pools:
            close = nearest(text, self._pools) if len(self._pools) <= _MAX_COMPARED else ""
            hint = f"; did you mean {close!r}?" if close else ""
            seen = format_count(len(self._pools), "question")
            raise InputError(f"the candidates hold no pool for the question {question[:80]!r} ({seen}){hint}")
        found = self._pools[text]
        usage = Usage(seconds=time.perf_counter() - started)
        notes = found.notes if found.passages else (*found.notes, EMPTY_POOL)
        return replace(found, passages=found.passages[:k], notes=notes, usage=usage)


def index_pools(snapshot: Snapshot, pools: Sequence[Evidence]) -> list[Evidence]:
    """Return pools of documents as pools of the passages of an index that has all of them.

    A document of several passages gives all of them in its place, in their order, with its score.
    """
    positions: dict[str, list[int]] = defaultdict(list)
    wanted = {scored.item.id for pool in pools for scored in pool.passages}
    for position, document in enumerate(snapshot.document_ids):
        if document in wanted:
            positions[document].append(position)
    return [replace(pool, passages=_index_passages(snapshot, pool.passages, positions)) for pool in pools]


def _index_passages(
    snapshot: Snapshot, passages: Sequence[Scored[Passage]], positions: Mapping[str, Sequence[int]]
) -> tuple[Scored[Passage], ...]:
    return tuple(
        Scored(snapshot.passage(position), scored.score)
        for scored in passages
        for position in sorted(positions[scored.item.id], key=lambda at: snapshot.starts[at])
    )
