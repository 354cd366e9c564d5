"""Training of small models without a loop of epochs."""
