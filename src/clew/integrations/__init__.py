"""Adapters to other libraries, one file a library; each needs the extra of its name and is imported by its users."""
