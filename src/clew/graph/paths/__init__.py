"""Path search over arrays: beam search, likeliest walks, simple and shortest paths, relation paths."""
