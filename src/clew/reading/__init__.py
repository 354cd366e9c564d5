"""Who reads for an agent: the local parts, or a language model."""
