"""Text processing for any script: names, sentences, BM25."""
