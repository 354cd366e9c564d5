"""The snapshot as a merge: arrays of segments joined in a canonical order, without an object a passage or a name."""
