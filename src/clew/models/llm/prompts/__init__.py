"""Prompts of language models, one a file: the instructions, the schema of the reply, and its parsing."""
