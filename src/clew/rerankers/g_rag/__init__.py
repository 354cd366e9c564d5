"""The G-RAG reranker: a graph neural network over the document graph."""
