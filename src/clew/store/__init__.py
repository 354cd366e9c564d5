"""The index on disk: a Lance table with the primary data, and a folder of derived data that can be recomputed."""
