"""Edges between entities of nearly the same name."""

from dataclasses import replace

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.graph.csr import build_adjacency
from clew.graph.snapshot.snapshot import Snapshot


def with_equivalences(snapshot: Snapshot, left: IntArray, right: IntArray, scores: FloatArray) -> Snapshot:
    """Return a snapshot with edges between pairs (m,) of entities of nearly one name, weighted by cosines (m,)."""
    both = np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([scores, scores])
    equivalences = build_adjacency(*both, len(snapshot.entities))
    return replace(snapshot, equivalences=equivalences)
