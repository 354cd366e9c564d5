"""The server: HTTP, MCP and the page, over indexes that are opened when they are asked for."""
