"""Graph kernels of the methods of this package."""
