"""The retriever `gfm`: a graph neural network over the part of the graph near the question (GFM-RAG)."""
