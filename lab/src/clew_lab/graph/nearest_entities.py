"""Entities nearest to the names in a question, by embeddings of names."""

from collections.abc import Callable, Sequence

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.models.validation import replace_surrogates
from clew.query.linking import link_question
from clew.query.visible_names import NameTable

NO_NAME = "no name in the question: dense ranking"


def find_nearest_entities(
    snapshot: Snapshot,
    table: NameTable,
    question: str,
    allowed: BoolArray | None,
    entity_vectors: Callable[[], FloatArray],
    encode_names: Callable[[Sequence[str]], FloatArray],
) -> dict[int, float]:
    """Return for each name in a question the entity with the nearest name, and their cosine; the higher of two.

    `table` has the names that are known. Only entities that an allowed passage (P,) mentions are found, None for all.
    `entity_vectors` returns unit rows (E, d), `encode_names` those of n names (n, d).
    """
    linked = link_question(table, question)
    names = dict.fromkeys(replace_surrogates(linked.text_of(n)).lower() for n in linked.names)
    if not names:
        return {}
    cosines = entity_vectors() @ encode_names(list(names)).T
    cosines[~_mentioned_entities(snapshot, allowed)] = -np.inf
    starts: dict[int, float] = {}
    for best, column in zip(cosines.argmax(axis=0).tolist(), cosines.T, strict=True):
        if np.isfinite(column[best]):
            starts[best] = max(float(column[best]), starts.get(best, -1.0))
    return starts


def _mentioned_entities(snapshot: Snapshot, allowed: BoolArray | None) -> BoolArray:
    """Return which entities (E,) an allowed passage (P,) mentions; an imported graph may have others."""
    if allowed is None:
        return snapshot.mentioned_in.degrees() > 0
    found = np.zeros(snapshot.mentioned_in.row_count, dtype=bool)
    found[snapshot.mentions.indices[allowed[snapshot.mentions.row_indices()]]] = True
    return found
