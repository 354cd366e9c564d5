"""Extractions of elsewhere: read, and written for others."""
