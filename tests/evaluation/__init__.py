"""Tests of clew.evaluation and clew.arrays."""
