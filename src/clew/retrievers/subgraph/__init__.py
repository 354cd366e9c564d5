"""Subgraph retrievers: `gcn-subgraph` (GCN-Retriever) and `steiner` (G-Retriever)."""
