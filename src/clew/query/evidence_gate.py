"""The last check of evidence under a filter: nothing in it is of a passage that the filter leaves out."""

from collections.abc import Iterable

from clew.arrays import BoolArray
from clew.graph.names.spellings import writes_name
from clew.query.scope import Scope
from clew.text.normalization import key_hash, name_key
from clew.types import Evidence, Filter, Triple


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
