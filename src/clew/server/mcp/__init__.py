"""The interface for assistants: tools of the Model Context Protocol."""
