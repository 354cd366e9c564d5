"""Paths as they are walked: triples show the direction of a fact, and a path may go against it."""

from collections.abc import Sequence

from clew.types import Path


def path_entities(path: Path, topics: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the entities of a path in the order in which it goes through them.

    Args:
        path: At least one triple, each of which shares an entity with the one before it.
        topics: Where it may start; they decide where the triples leave it open.
    """
    from_head, from_tail = _follow_path(path, path[0].head), _follow_path(path, path[0].tail)
    if from_head is None or from_tail is None:
        return from_head or from_tail or (path[0].head, *(triple.tail for triple in path))
    # `A parent B, B child A` may be walked from either: the topics say from which.
    return from_tail if path[0].tail in topics and path[0].head not in topics else from_head


def _follow_path(path: Path, start: str) -> tuple[str, ...] | None:
    """Return the entities from a start on; None where some triple does not go on from there."""
    walked = [start]
    for triple in path:
        if walked[-1] not in (triple.head, triple.tail):
            return None
        walked.append(triple.tail if triple.head == walked[-1] else triple.head)
    return tuple(walked)
