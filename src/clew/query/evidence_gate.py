"""The last check of evidence under a filter: nothing in it is of a passage that the filter leaves out.

Notes on names in evidence that a passage writes as an alias of its document.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from clew.arrays import BoolArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import are_tied, writes_name
from clew.query.scope import Scope
from clew.text.normalization import key_hash, name_key
from clew.types import Evidence, Filter, Path, Triple


def check_evidence(evidence: Evidence, scope: Scope, where: Filter | None) -> None:
    """Check evidence of a search under a filter; without one, or where it allows all, nothing is looked at.

    Raises RuntimeError where a passage is cited that the filter leaves out, or a name shown that no passage which it
    allows writes: that is a fault of the retriever.
    """
    allowed = scope.mask(where)
    if scope.restriction(allowed) is None:
        return
    cited = [scored.item.id for scored in evidence.passages]
    cited += [citation.passage_id for chain in evidence.chains for citation in chain.item.sentences]
    cited += [id_ for step in evidence.steps for id_ in step.new]
    triples = [triple for path in evidence.paths for triple in path.item]
    cited += [id_ for triple in triples for id_ in triple.passages]
    _check_passages(cited, scope, allowed)
    for triple in dict.fromkeys(triples):
        _check_triple(triple, scope, allowed)
    for topic in evidence.topics:
        _check_known(topic, scope, allowed)


def drop_hidden_ties(evidence: Evidence, scope: Scope, where: Filter | None) -> Evidence:
    """Return evidence without the paths in which two names follow that documents left out by the filter alone tie."""
    allowed = scope.mask(where)
    if scope.restriction(allowed) is None:
        return evidence
    paths = tuple(path for path in evidence.paths if not _joins_hidden_names(path.item, scope.snapshot, allowed))
    return evidence if len(paths) == len(evidence.paths) else replace(evidence, paths=paths)


def _joins_hidden_names(path: Path, snapshot: Snapshot, allowed: BoolArray) -> bool:
    """Return whether some triple of a path meets the next one in an entity whose two names the filter does not tie."""
    for one, other in pairwise(path):
        pairs = [(a, b) for a in (one.head, one.tail) for b in (other.head, other.tail)]
        if any(name_key(a) == name_key(b) for a, b in pairs):
            continue
        shared = [(e, a, b) for a, b in pairs for e in _entities(a, snapshot) & _entities(b, snapshot)]
        if shared and not any(are_tied(snapshot, e, a, b, allowed) for e, a, b in shared):
            return True
    return False


def _entities(name: str, snapshot: Snapshot) -> set[int]:
    return set(snapshot.entities_with_key(key_hash(name_key(name), snapshot.salt)).tolist())


def _check_passages(ids: Iterable[str], scope: Scope, allowed: BoolArray) -> None:
    known = scope.snapshot.passage_ids
    for id_ in dict.fromkeys(ids):
        position = scope.snapshot.position(id_)
        if position >= len(known) or known[position] != id_ or not allowed[position]:
            raise RuntimeError("the retriever cites a passage that the filter leaves out; please report this")


def _check_triple(triple: Triple, scope: Scope, allowed: BoolArray) -> None:
    positions = [scope.snapshot.position(id_) for id_ in triple.passages]
    for end in (triple.head, triple.tail):
        if not any(writes_name(scope.snapshot, position, end) for position in positions):
            _check_known(end, scope, allowed)
    for name in filter(None, (triple.head_name, triple.tail_name)):
        _check_known(name, scope, allowed)


def _check_known(name: str, scope: Scope, allowed: BoolArray) -> None:
    """Raise a RuntimeError unless a name is that of an entity, a title or a passage that the filter allows."""
    names, snapshot = scope.names(allowed), scope.snapshot
    if len(names.entities_with_key(key_hash(name_key(name), snapshot.salt))):
        return
    position = snapshot.position(name)
    if position < len(snapshot.passage_ids) and snapshot.passage_ids[position] == name and allowed[position]:
        return
    raise RuntimeError("the retriever shows a name that no allowed passage writes; please report this")
