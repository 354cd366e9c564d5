"""Encoders, text scorers and language models: the only code that loads their weights or uses the network."""
