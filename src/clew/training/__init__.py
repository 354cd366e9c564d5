"""Training: one loop, and one file an objective."""
