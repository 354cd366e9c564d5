"""Extension by other packages: settings records, their text form, and registries that read entry points."""
