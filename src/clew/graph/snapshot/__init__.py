"""The snapshot of an index version as arrays: building, saving, comparing, and the graphs derived from it."""
