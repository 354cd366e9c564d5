"""Whole trainings, from data to weights."""
