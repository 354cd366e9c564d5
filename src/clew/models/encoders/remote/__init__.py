"""Encoders that a server runs: the embeddings of OpenAI's protocol, and Ollama's."""
