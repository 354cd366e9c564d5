"""Agents: retrievers that search in several steps."""
