"""The reranker that this package adds to Clew, as its entry point of the group `clew.rerankers` names it."""

from clew.rerankers.registry import RerankerEntry

G_RAG_AMR = RerankerEntry(
    "G-RAG as published: a graph neural network over graphs of AMR, and networks that torch runs",
    "clew_lab.amr.reranker:GRagAMR",
    "clew_lab.amr.reranker:build_g_rag_amr",
    "g-rag-amr:weights=FOLDER",
    "clew_lab.amr.reranker:reads_index",
)
