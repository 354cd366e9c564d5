"""The interface for assistants: tools and resources of the Model Context Protocol."""
