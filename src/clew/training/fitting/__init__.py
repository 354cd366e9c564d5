"""Small models that are fitted without the training loop."""
