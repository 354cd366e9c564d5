"""Models of `transformers`: causal language models, sequence to sequence, DPR."""
