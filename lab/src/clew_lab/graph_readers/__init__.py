"""Readers of selected subgraphs, trained or not."""
