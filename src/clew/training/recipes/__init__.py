"""Training recipes, one a trained model: from data to written weights."""
