"""Readers of files that are no plain text, one kind each: bytes -> contents, in a process that is limited."""
