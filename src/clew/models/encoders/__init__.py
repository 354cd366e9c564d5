"""Text encoders and their registry."""
