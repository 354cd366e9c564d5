"""Types of numpy arrays, for modules that load numpy anyway."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
DoubleArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
LongArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
