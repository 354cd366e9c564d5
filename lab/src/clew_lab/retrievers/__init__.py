"""Rival retrievers and published forms of Clew's own, by the entry points of `entries`."""
