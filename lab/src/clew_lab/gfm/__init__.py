"""GFM-RAG and G-reasoner as published."""
