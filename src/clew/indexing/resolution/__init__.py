"""Entity resolution: synonyms and links between titles."""
