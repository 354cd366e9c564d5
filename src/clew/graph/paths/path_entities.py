"""The entities along a path, whose triples may be walked in either direction."""

from collections.abc import Sequence

from clew.types import Path


def path_entities(path: Path, topics: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the entities of a path, of at least one triple, in the order in which it visits them, as it writes them.

    `topics` are names of likely starts, which decide the direction where the triples leave it open.
    """
    head, tail = path[0].entities
    from_head, from_tail = _follow_path(path, head), _follow_path(path, tail)
    if from_head is None or from_tail is None:
        return from_head or from_tail or (path[0].head, *(triple.tail for triple in path))
    # `A parent B, B child A` may be walked from either end: the topics decide.
    return from_tail if tail in topics and head not in topics else from_head


def _follow_path(path: Path, start: str) -> tuple[str, ...] | None:
    """Return the entities from a start on; None if some triple does not continue from the entity before it."""
    written, current = [path[0].head if path[0].entities[0] == start else path[0].tail], start
    for triple in path:
        head, tail = triple.entities
        if current not in (head, tail):
            return None
        current, end = (tail, triple.tail) if head == current else (head, triple.head)
        written.append(end)
    return tuple(written)
