"""Tests of clew.evaluation and clew.ranks."""
