"""Places of passages: the number of a segment << `ROW_BITS` | a row in it, as int64."""

ROW_BITS = 32
ROW_MASK = (1 << ROW_BITS) - 1
