"""Data sets: records of JSON, and questions."""
