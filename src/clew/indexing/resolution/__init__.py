"""Entity resolution: decisions of people on entities."""
