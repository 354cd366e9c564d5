"""Decisions on entities without the names and ids that an index has no longer, for the shredding of text."""

from collections.abc import Iterable
from dataclasses import replace

from clew.graph.snapshot.snapshot import Snapshot
from clew.store.entity_decisions import MERGE, SPLIT, UNDO, EntityDecision
from clew.text.normalization import key_hash, name_key


def strip_absent_names(
    snapshot: Snapshot, decisions: Iterable[tuple[EntityDecision, bool]]
) -> tuple[list[EntityDecision], list[int]]:
    """Return the decisions that change, and the numbers of those of which nothing is left.

    Args:
        snapshot: Of the version, with its decisions applied.
        decisions: Each with whether it does all that it says; then its names are there, whatever they became.
    """
    documents = frozenset(snapshot.document_ids)
    passages = frozenset(snapshot.passage_ids)
    changed, dropped = [], []
    for decision, is_whole in decisions:
        names = decision.names if is_whole else tuple(name for name in decision.names if _is_known(snapshot, name))
        left = replace(
            decision,
            names=names,
            documents=tuple(id_ for id_ in decision.documents if id_ in documents),
            passages=tuple(id_ for id_ in decision.passages if id_ in passages),
        )
        if left == decision:
            continue
        if _is_decision(left):
            changed.append(left)
        else:
            dropped.append(decision.number)
    return changed, dropped


def _is_known(snapshot: Snapshot, name: str) -> bool:
    return len(snapshot.entities_with_key(key_hash(name_key(name), snapshot.salt))) > 0


def _is_decision(decision: EntityDecision) -> bool:
    if decision.action == SPLIT and not (decision.documents or decision.passages or decision.form):
        return False
    return decision.action == UNDO or len(decision.names) >= (2 if decision.action == MERGE else 1)
