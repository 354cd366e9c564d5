"""Training of every network, as published and in the form that is shipped."""
