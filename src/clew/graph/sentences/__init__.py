"""Sentences of passages, and what joins them."""
