"""The snapshot of an index version as arrays: how it is built, and its walk graph."""
