"""Losses, with their batches and validation."""
