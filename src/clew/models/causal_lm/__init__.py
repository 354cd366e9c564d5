"""Causal language models of `transformers`: loading, batches and prompt tuning."""
