"""Forward passes of the trained networks on numpy and numba, for searches without torch."""
