"""Evaluation on graphs, on pools, and by the measures of the papers."""
