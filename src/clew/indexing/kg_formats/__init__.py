"""File formats of knowledge graphs."""
