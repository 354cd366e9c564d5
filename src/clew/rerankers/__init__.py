"""Rerankers: reorder the passages of evidence, never adding or losing one."""
