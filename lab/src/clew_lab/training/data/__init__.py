"""What training learns from."""
