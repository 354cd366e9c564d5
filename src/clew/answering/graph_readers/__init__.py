"""Readers of subgraphs: local rules, causal language models and soft prompts."""
