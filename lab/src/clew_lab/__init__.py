"""The laboratory beside Clew: published forms, rivals, training recipes, and loaders of published data sets."""
