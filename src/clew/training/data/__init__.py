"""Training data: corpora, questions and examples."""
