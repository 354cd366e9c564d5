"""Loaders of published data sets."""
