"""Relational message passing: the layer, its graph, and its kernels on CPU and GPU."""
