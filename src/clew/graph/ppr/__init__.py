"""Personalised PageRank: forward push, power iteration, and local ranking of entities."""
