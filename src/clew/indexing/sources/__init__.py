"""Source files: discovery, and a reader for each format."""
