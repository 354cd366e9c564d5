"""Tests of clew.arrays."""
