"""From files to passages, mentions, triples and links."""
