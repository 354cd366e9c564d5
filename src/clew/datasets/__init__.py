"""Data sets: records, loaders and relevance judgments."""
