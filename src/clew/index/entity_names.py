"""Names of entities as people give them: each has to stand for one entity, and a new one for none."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, final

from clew.errors import InputError
from clew.graph.similar_names import choose_entities
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.scope import Scope
from clew.store.entity_decisions import FORGET, MERGE, RENAME, SPLIT, UNDO, EntityDecision
from clew.text.display import format_count
from clew.text.normalization import key_hash, name_key

if TYPE_CHECKING:
    from clew.query.entity_candidates import MentionGroup

_MAX_NAME = 500  # characters
_NEAR_NAMES = 3
_SHOWN_NAMES = 5


@final
class EntityNames:
    """The names of the entities of one version, with the decisions that are in force."""

    def __init__(self, scope: Scope, decisions: Sequence[EntityDecision]) -> None:
        self._scope = scope
        self._snapshot = scope.snapshot
        self._decisions = decisions

    def label(self, entity: int) -> str:
        """Return the name that an entity is displayed by."""
        return self._snapshot.entities[entity]

    def _with_name(self, name: str) -> list[int]:
        found = self._snapshot.entities_with_key(key_hash(name_key(name), self._snapshot.salt)).tolist()
        return choose_entities(name, found, self.label)

    def resolve(self, name: str) -> int:
        """Return the entity of a name; none, or several, are an InputError that says which there are."""
        found = self._with_name(clean_name(name))
        if len(found) == 1:
            return found[0]
        if not found:
            raise InputError(f"no entity is called {name!r}{self._hint(name)}")
        shown = list_names([self.label(entity) for entity in found[:_SHOWN_NAMES]])
        entities = format_count(len(found), "entity")
        raise InputError(f"{name!r} is a name of {entities}: give the whole name of one: {shown}")

    def _hint(self, name: str) -> str:
        """Return what to do about a name that no entity has: undo what took it away, or write one that is near."""
        from clew.query.graph_browsing import GraphBrowser
        from clew.query.misspelt_names import UnknownNames

        key = name_key(name)
        for decision in reversed(self._decisions):
            if decision.action == FORGET and key in map(name_key, decision.names):
                return f": decision {decision.number} forgot it; undo that first"
        similar = UnknownNames(self._snapshot).find(name)
        near = [self.label(entity) for entity in similar.entities] if similar else []
        words = [m.name for m in GraphBrowser(self._scope).search(name, _NEAR_NAMES)[0]]
        near = list(dict.fromkeys([*near, *words]))[:_NEAR_NAMES]
        return f": did you mean {' or '.join(map(repr, near))}?" if near else ": `clew entities --name` finds names"

    def find_displayed(self, name: str) -> int | None:
        """Return the entity that is displayed under a name, in any case and spacing."""
        found = [e for e in self._with_name(name) if name_key(self.label(e)) == name_key(name)]
        return found[0] if found else None

    def clean_new_name(self, name: str) -> str:
        """Return a new name, cleaned; one that an entity is displayed by is an InputError."""
        new = clean_name(name)
        if self.find_displayed(new) is not None:
            raise InputError(f"{new!r} is the name of an entity already: choose another, and merge the two after that")
        return new

    def for_groups(self, label: str, groups: "Sequence[MentionGroup]") -> list[str]:
        """Return a name for each group of mentions, told apart by what stands beside it, else by a number."""
        names: list[str] = []
        for number, group in enumerate(groups, 1):
            candidates = [f"{label} ({word})" for word in (*group.neighbours, *group.documents[:1], str(number))]
            free = (n for n in candidates if n not in names and self.find_displayed(n) is None)
            names.append(next(free, f"{label} (group {number})"))
        return names


def separate_names(decisions: Sequence[EntityDecision]) -> set[frozenset[str]]:
    """Return the pairs of keys of names that decisions in force declare different."""
    groups: dict[str, set[str]] = {}
    for decision in decisions:
        if decision.action == SPLIT:
            key = name_key(decision.names[0])
            groups.setdefault(key, {key}).add(name_key(decision.new_name))
        elif decision.action == RENAME and (own := groups.get(name_key(decision.names[0]))):
            own.add(name_key(decision.new_name))
    return {frozenset((one, other)) for own in groups.values() for one in own for other in own if one != other}


def clean_name(name: str) -> str:
    """Return a name without white space around it; one that cannot be an entity's is an InputError."""
    text = " ".join(name.split())
    if not any(map(str.isalnum, text)) or not name_key(text) or not text.isprintable() or len(text) > _MAX_NAME:
        raise InputError(f"{name!r:.80} cannot be an entity's name: give letters or digits, {_MAX_NAME} at most")
    return text


def list_names(names: Sequence[str]) -> str:
    """Return names in quotes, by commas."""
    return ", ".join(map(repr, names))


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
