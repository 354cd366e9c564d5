"""The index on disk: one Lance table that is the truth, and a folder of derived data that can be thrown away."""
