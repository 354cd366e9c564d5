"""Checks of `clew doctor`, one module a subject; each returns findings and changes nothing."""
