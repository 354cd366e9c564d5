"""Indexing: from files to passages, mentions, triples, links and graph snapshots."""
