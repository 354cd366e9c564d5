"""Answers from evidence: quoted without a language model, or written by one with verified quotes."""
