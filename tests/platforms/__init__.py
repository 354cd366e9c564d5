"""Clew on other platforms than the one that the tests run on, as far as this one can tell."""
