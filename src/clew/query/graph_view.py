"""The graph that a filter lets be seen, for exports."""

import numpy as np

from clew.arrays import BoolArray
from clew.graph.graph_view import GraphView
from clew.query.scope import Scope
from clew.query.visible_names import visible_entities
from clew.types import Filter


def view_graph(scope: Scope, where: Filter | None = None) -> GraphView:
    """Return the entities that allowed passages or an imported graph name, and the triples of them that one states.

    Raises InputError where the filter cannot be parsed.
    """
    s, allowed = scope.snapshot, scope.mask(where)
    blocked = scope.blocked_triples(where)
    shown = np.ones(len(s.triples), dtype=np.bool_) if blocked is None else ~blocked
    names = scope.names(allowed)
    seen: BoolArray = np.ones(len(s.entities), dtype=np.bool_)
    if where is not None:
        seen = visible_entities(s, allowed)
        seen[np.asarray(s.triples)[shown][:, [0, 2]].ravel()] = True
        seen &= np.array([bool(name) for name in names.entities], dtype=np.bool_)
        # An end that no allowed passage names has no entry, and the triple none either.
        shown &= seen[np.asarray(s.triples)[:, [0, 2]]].all(axis=1)
    return GraphView(s, names.entities, allowed, np.flatnonzero(seen), np.flatnonzero(shown))
