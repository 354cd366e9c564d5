"""Extractors: mentions and triples from passages."""
