"""Tests of the merging of segments."""
