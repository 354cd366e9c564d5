"""Drawings and pages of results: one file each, without scripts and without anything from elsewhere."""
