"""The graph of an index in the forms of other libraries: its entities and triples, as a filter lets them be seen."""
