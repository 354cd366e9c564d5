"""Encoders: the only code that meets weights and the network."""
