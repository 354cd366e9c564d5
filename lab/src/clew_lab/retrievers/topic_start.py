"""The start of a search of paths: the entities that a question is about, and all facts around them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, IntArray
from clew.graph.subgraphs.k_hop import LocalGraph, explored_graph, neighbourhood
from clew.graph.subgraphs.textual_graph import FactGraph
from clew.query.linking import TopicEntities
from clew.query.scope import Scope
from clew.retrievers.evidence import NO_TOPIC
from clew.text.display import format_count


@dataclass(frozen=True, slots=True, eq=False)
class TopicStart:
    """Where a search starts."""

    topics: TopicEntities  # with the text of the question
    entities: IntArray  # (s,) the topic entities
    notes: list[str]  # explanations for the user


def find_start(scope: Scope, question: str, names: Sequence[str], allowed: BoolArray) -> TopicStart:
    """Return the start for a question about names, () for those in it; allowed passages (P,) alone are known."""
    topics = scope.linker_among(allowed).find_topics(question, names)
    notes = [*topics.notes]
    if topics.unknown_names:
        notes.append(f"no entity is called {', '.join(map(repr, topics.unknown_names))}")
    starts = np.array(topics.entities, dtype=np.int32)
    notes.insert(0, topics.describe_starts(scope.names(allowed)) if len(starts) else NO_TOPIC)
    return TopicStart(topics, starts, notes)


def explore(
    graph: FactGraph, start: TopicStart, hops: int, max_edges: int, blocked_triples: BoolArray | None
) -> LocalGraph:
    """Return the facts within some hops of the topic entities, without blocked ones (T,)."""
    near = neighbourhood(graph, start.entities, hops, max_edges, blocked_triples)
    if near.truncated_nodes:
        start.notes.append(f"of {format_count(near.truncated_nodes, 'entity')} of many facts not all were looked at")
    return explored_graph(graph, near, blocked_triples)
