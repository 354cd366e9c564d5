"""The entities along a path, whose triples may be walked in either direction."""

from collections.abc import Sequence

from clew.types import Path


def path_entities(path: Path, topics: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the entities of a path, of at least one triple, in the order in which it visits them.

    `topics` are names of likely starts, which decide the direction where the triples leave it open.
    """
    from_head, from_tail = _follow_path(path, path[0].head), _follow_path(path, path[0].tail)
    if from_head is None or from_tail is None:
        return from_head or from_tail or (path[0].head, *(triple.tail for triple in path))
    # `A parent B, B child A` may be walked from either end: the topics decide.
    return from_tail if path[0].tail in topics and path[0].head not in topics else from_head


def _follow_path(path: Path, start: str) -> tuple[str, ...] | None:
    """Return the entities from a start on; None if some triple does not continue from the entity before it."""
    entities = [start]
    for triple in path:
        if entities[-1] not in (triple.head, triple.tail):
            return None
        entities.append(triple.tail if triple.head == entities[-1] else triple.head)
    return tuple(entities)
