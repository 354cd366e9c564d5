"""Occurrences of the entities of each passage in its title and text."""

import numpy as np

from clew.arrays import IntArray
from clew.graph.snapshot.snapshot import Snapshot


def count_mentions(snapshot: Snapshot) -> IntArray:
    """Return for each entry (m,) of `snapshot.mentions` how often the passage's title and text have the entity's name.

    Capitals do not count. A mention in another form of the name counts once.
    """
    names = [name.lower() for name in snapshot.entities]
    counts = np.ones(len(snapshot.mentions.indices), dtype=np.int32)
    entry = 0
    for passage, (title, text) in enumerate(zip(snapshot.titles, snapshot.texts, strict=True)):
        whole = f"{title}\n{text}".lower()
        for entity in snapshot.mentions.row(passage).tolist():
            counts[entry] = max(whole.count(names[entity]), 1)
            entry += 1
    return counts
