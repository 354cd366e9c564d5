"""Segments: what the passages of one fragment of the table give on their own, as arrays."""
