"""Abstract meaning representation: graphs, parsers, and G-RAG over them."""
