"""Evidence in, better-ordered evidence out; a reranker never adds a passage and never loses one."""
