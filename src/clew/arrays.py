"""Types of numpy arrays, for modules that import numpy anyway."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
DoubleArray = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]
"""Floats of any precision."""
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
