"""Names, sentences and known names in text of any script."""
