"""Tests of clew.evaluation and clew.ranking."""
