"""Names that a target of an explanation is given by: an id or title of a passage, or a name of an entity.

One rule holds for all of them: a target has the name that it is given by, in any case and spacing. A name that is only
near is never taken for another; the nearest names are proposed instead.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import chain

import numpy as np

from clew.arrays import BoolArray
from clew.graph.similar_names import choose_entities
from clew.query.misspelt_names import UnknownNames
from clew.query.scope import Scope
from clew.text.normalization import key_hash, name_key

_PROPOSED = 3


def find_target_passages(scope: Scope, target: str, allowed: BoolArray) -> list[int]:
    """Return the positions of the allowed passages (P,) with an id, or else of those with a title."""
    s = scope.snapshot
    if target in set(s.passage_ids) and allowed[s.position(target)]:
        return [s.position(target)]
    return [position for position in np.flatnonzero(allowed).tolist() if is_same_name(s.titles[position], target)]


def find_target_entities(scope: Scope, target: str, allowed: BoolArray) -> list[int]:
    """Return the entities with a name: those displayed so, or else those that have it as another name, ascending.

    Names are those that allowed passages (P,) write.
    """
    names = scope.names(allowed)
    found = names.entities_with_key(key_hash(name_key(target), names.salt)).tolist()
    return choose_entities(target, found, lambda entity: names.entities[entity])


def is_same_name(one: str, other: str) -> bool:
    """Whether two names are equal but for case and spacing."""
    return one.casefold() == other.casefold() or name_key(one) == name_key(other)


def propose_targets(scope: Scope, target: str, allowed: BoolArray) -> str:
    """Return the names that are nearest to an unknown one, as a question; or what can be given, where none is near.

    Names, titles and ids are those of allowed passages (P,).
    """
    s = scope.snapshot
    seen, names = np.flatnonzero(allowed).tolist(), scope.names(allowed)
    titles, ids = (s.titles[position] for position in seen), (s.passage_ids[position] for position in seen)
    similar = UnknownNames(s).restrict(names).find(target)
    near = [similar.text] if similar else []
    return propose_names(target, chain(titles, names.entities, ids), near) or (
        "give a passage's id or title, or the name of an entity"
    )


def propose_names(target: str, known: Iterable[str], first: Iterable[str] = ()) -> str:
    """Return "did you mean A, B or C?" of the known names nearest to one, after some that come first; "" for none."""
    by_folded = {name.casefold(): name for name in known if name}
    close = get_close_matches(target.casefold(), by_folded, n=_PROPOSED, cutoff=0.6)
    proposed = list(dict.fromkeys([*first, *(by_folded[folded] for folded in close)]))[:_PROPOSED]
    *others, last = proposed or [""]
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if last else ""
