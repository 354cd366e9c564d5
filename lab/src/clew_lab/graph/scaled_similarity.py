"""Similarities of passages scaled to 0 to 1, as restarts of a walk."""

import numpy as np

from clew.arrays import BoolArray, FloatArray


def scale_similarities(similarity: FloatArray, allowed: BoolArray) -> FloatArray:
    """Scale allowed scores (P,) to 0 (the lowest) to 1 (the best), all 1 when they are equal; others are 0."""
    if not allowed.any():
        return np.zeros_like(similarity)
    low, high = similarity[allowed].min(), similarity[allowed].max()
    # Equal scores must not be 0: a walk that restarts at passages alone would have nowhere to start.
    scaled = (similarity - low) / (high - low) if high > low else np.ones_like(similarity)
    return np.where(allowed, scaled, np.float32(0.0)).astype(np.float32)
