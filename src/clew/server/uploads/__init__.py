"""Documents that were sent to the server: stored first, indexed by jobs after that."""
