"""Networks that torch runs and trains."""
