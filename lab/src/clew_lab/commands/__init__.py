"""Commands that this package adds to `clew`."""
