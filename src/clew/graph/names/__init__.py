"""Names of an index by their spelling."""
