"""The index as arrays, and the algorithms on them; numpy, numba and scipy only."""
