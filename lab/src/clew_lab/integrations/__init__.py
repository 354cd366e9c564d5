"""Adapters for the libraries of researchers."""
