"""The retriever `routed`, which chooses a retriever for each question."""
