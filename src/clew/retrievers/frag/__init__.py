"""The retrievers `frag`, `frag-simple` and `frag-complex`: reasoning paths by question complexity (FRAG)."""
