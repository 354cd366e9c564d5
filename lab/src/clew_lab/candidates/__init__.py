"""Pools of passages that are given, and why a reranker orders them as it does."""
