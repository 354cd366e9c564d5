"""Making of segments from rows of the table."""
