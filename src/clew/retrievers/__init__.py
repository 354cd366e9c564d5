"""Questions in, evidence out: one retriever a file."""
