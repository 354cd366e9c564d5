"""The index as arrays and the graph algorithms on them, in numpy and numba."""
