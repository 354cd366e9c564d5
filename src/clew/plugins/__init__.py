"""Open seams: settings records, their text form, and registries that other packages extend by entry points."""
