"""Local causal language models: loading, batching and prompt tuning."""
