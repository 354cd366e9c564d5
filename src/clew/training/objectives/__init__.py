"""Training objectives: each defines the loss that the training loop minimises."""
