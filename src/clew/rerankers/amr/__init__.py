"""Abstract Meaning Representation (AMR): graphs, parsers and PENMAN notation."""
