"""Subgraphs of a knowledge graph: textual graphs, neighbourhoods and prize-collecting Steiner trees."""
