"""Walks through the graph as paths of triples, with the passages that state them."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from clew.arrays import BoolArray
from clew.graph.paths.likeliest_walks import likeliest_walks
from clew.graph.snapshot.relational_edges import MENTIONS_RELATION
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import are_tied, find_spelling, label_among
from clew.query.graph_walk import QuestionWalk
from clew.types import Path, Scored, Triple


def mention_triple(snapshot: Snapshot, passage: int, entity: int, allowed: BoolArray | None = None) -> Triple:
    """Return the mention of an entity by a passage as a triple, named as the passage writes it.

    Where it writes none, as where it links to the entity's document, the name is that of the allowed passages (P,).
    """
    id_, label = snapshot.passage_ids[passage], label_among(snapshot, entity, allowed)
    name = find_spelling(snapshot, passage, entity, allowed) or label
    other = label if label != name and are_tied(snapshot, entity, label, name, allowed) else ""
    return Triple(snapshot.titles[passage] or id_, MENTIONS_RELATION, name, (id_,), tail_name=other)


def walk_path(snapshot: Snapshot, nodes: Sequence[int], allowed: BoolArray) -> Path:
    """Return the triple of each step of a walk over nodes, () for one node; allowed passages (P,) state them."""
    return tuple(_edge_triple(snapshot, one, other, allowed) for one, other in pairwise(nodes))


def explain_walk(
    snapshot: Snapshot, found: QuestionWalk, damping: float, passages: Sequence[int], allowed: BoolArray
) -> tuple[Scored[Path], ...]:
    """Return the likeliest walk to each of some passages as triples, likeliest first.

    Without those that end where they start, and those to passages that the walk did not reach. Triples are as allowed
    passages (P,) write them.
    """
    if found.walk is None or found.restart is None:
        return ()
    reached = set(found.nodes[found.scores > 0].tolist())
    targets = [passage for passage in passages if passage in reached]
    walks = likeliest_walks(snapshot.walk, found.walk, found.restart, damping, targets)
    paths = [Scored(walk_path(snapshot, nodes, allowed), probability) for probability, nodes in walks]
    return tuple(sorted((path for path in paths if path.item), key=lambda path: -path.score))


def _edge_triple(s: Snapshot, one: int, other: int, allowed: BoolArray) -> Triple:
    stating = [node for node in (one, other) if node < len(s.passage_ids) and allowed[node]]
    candidates = [_connecting_triple(s, passage, other if passage == one else one) for passage in stating]
    chosen = [position for position in candidates if position >= 0]
    if chosen:
        return s.triple(chosen[0], allowed)
    # An edge without a triple is a mention, by whichever of the two passages mentions the other node.
    passage, entity = next(
        (passage, int(entity))
        for passage in stating
        for entity in s.mentions.row(passage)
        if s.entity_nodes[entity] == (other if passage == one else one)
    )
    return mention_triple(s, passage, entity, allowed)


def _connecting_triple(s: Snapshot, passage: int, node: int) -> int:
    """Return the position of a triple of the passage that has another node as an end, else -1."""
    positions = s.passage_triples.row(passage)
    if not len(positions):
        return -1
    ends = s.triples[positions][:, [0, 2]]
    touches = (s.entity_nodes[ends] == node).any(axis=1)
    # The other end should be the passage's title; failing that, any triple of the passage with the node is taken.
    title = s.title_entities[passage]
    both = touches & ((ends == title).any(axis=1) if title >= 0 else touches)
    best = np.flatnonzero(both if both.any() else touches)
    return int(positions[best[0]]) if len(best) else -1
