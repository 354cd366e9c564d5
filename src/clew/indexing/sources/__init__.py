"""Source files: discovery, and one reader a format."""
