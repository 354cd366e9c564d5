"""Query processing before ranking: context, filters, entity linking and the graph walk."""
