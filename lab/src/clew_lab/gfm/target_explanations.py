"""Explanation of the score of one entity or passage: the walks that raise it, with the weight of every edge.

A walk begins at a name of the question. The weight of an edge at a layer is the gradient of the target's logit
(`explanations`); a walk's score is the mean over its edges, as published, or their sum.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 4.8, table 5.
Differs from the source: the search is exact; any node can be the target; walks that lower the score are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.errors import InputError
from clew.graph.paths.likeliest_walks import best_walks
from clew.query.graph_walk import NO_MATCH
from clew.retrievers.gfm.explanations import OVERSAMPLING
from clew.retrievers.gfm.passage_graphs import QuestionGraph
from clew.retrievers.gfm.retriever import GFMRetriever
from clew.types import Filter, Triple
from clew_lab.candidates.explained_targets import (
    find_target_entities,
    find_target_passages,
    propose_targets,
)
from clew_lab.gfm.node_paths import scores_entities
from clew_lab.graph.walks_by_mean import best_walks_by_mean, edge_layers


@dataclass(frozen=True, slots=True)
class WeightedEdge:
    """An edge of a walk."""

    start: str  # name of the node that the walk comes from
    end: str  # name of the node that it goes to
    triple: Triple  # in its own direction
    inverse: bool  # whether the walk goes from the triple's tail to its head
    weight: float  # gradient of the target's logit
    layer: int  # layer at which the edge is taken, from 1


@dataclass(frozen=True, slots=True)
class ExplainedWalk:
    """A walk from a name of the question to the target."""

    score: float  # mean or sum of the weights
    edges: tuple[WeightedEdge, ...]
    has_loop: bool  # whether it meets a node twice


@dataclass(frozen=True, slots=True)
class TargetExplanation:
    """The explanation of one target."""

    question: str
    target: str  # name of the node
    passage: str  # id of the passage that the node is, or whose score it explains; "" for an entity alone
    logit: float  # of the node
    by_mean: bool  # whether walks are scored by the mean of their weights; else by the sum
    walks: tuple[ExplainedWalk, ...]  # best first
    notes: tuple[str, ...] = ()


def explain_target(
    retriever: GFMRetriever,
    question: str,
    target: str,
    count: int = 5,
    *,
    by_mean: bool = True,
    loops: bool = True,
    where: Filter | None = None,
) -> TargetExplanation:
    """Return the `count` best walks to a target: an entity's name, or a passage's id or title.

    With weights that score entities a name is an entity, even where it is the title of a passage, and a passage is
    explained by the entity that counts most in its score. Walks that
    meet a node twice are left out without `loops`. Raises InputError for an empty question, a target that the index
    does not have, and one that the question's graph does not reach.
    """
    if not question.strip():
        raise InputError("the question is empty: give the question whose ranking is to be explained")
    allowed = retriever.scope.mask(where)
    graph, vector = retriever.build_graph(question, allowed)
    if not len(graph.nodes):
        raise InputError(f"{NO_MATCH}: there is nothing to explain")
    batch = retriever.collate(graph, vector())
    logits = retriever.logits(batch)
    node, passage = _find_node(retriever, graph, logits, vector(), target, allowed)
    name = retriever.path_builder.node_name(int(graph.nodes[node]), allowed)
    notes = [*graph.notes]
    if passage and _is_mentioned_alone(retriever, target, passage, allowed):
        notes.append(f"{target} is mentioned in the passage {passage} alone, which stands for it in this graph")
    walks: tuple[ExplainedWalk, ...] = ()
    if graph.seeds[node]:
        notes.append(f"the question starts from {name}: no walk leads to it")
    elif len(graph.edges):
        (importance,) = retriever.edge_importances(batch, [node])
        by_edge = np.empty_like(importance)
        by_edge[:, batch.query.edges.order] = importance
        walks = _find_walks(retriever, graph, by_edge, node, count, allowed, by_mean=by_mean, loops=loops)
    if not walks and not graph.seeds[node]:
        notes.append(f"no walk from the question's names raises the score of {name}")
    return TargetExplanation(question, name, passage, float(logits[node]), by_mean, walks, tuple(notes))


def _is_mentioned_alone(retriever: GFMRetriever, target: str, passage: str, allowed: BoolArray) -> bool:
    """Whether a target is an entity whose node is a passage of another title, the only one that mentions it."""
    if scores_entities(retriever.path_builder) or find_target_passages(retriever.scope, target, allowed):
        return False
    title = int(retriever.scope.snapshot.title_entities[retriever.scope.snapshot.position(passage)])
    return title not in find_target_entities(retriever.scope, target, allowed)


def _find_walks(
    retriever: GFMRetriever,
    graph: QuestionGraph,
    importance: FloatArray,
    node: int,
    count: int,
    allowed: BoolArray,
    *,
    by_mean: bool,
    loops: bool,
) -> tuple[ExplainedWalk, ...]:
    search = best_walks_by_mean if by_mean else best_walks
    starts = np.flatnonzero(graph.seeds)
    wanted = count if loops else OVERSAMPLING * count
    found = search(graph.senders, graph.receivers, importance, starts, node, wanted)
    walks = [_describe(retriever, graph, importance, edges, score, allowed) for score, edges in found if score > 0]
    return tuple(walk for walk in walks if loops or not walk.has_loop)[:count]


def _describe(
    retriever: GFMRetriever,
    graph: QuestionGraph,
    importance: FloatArray,
    edges: Sequence[int],
    score: float,
    allowed: BoolArray,
) -> ExplainedWalk:
    builder = retriever.path_builder
    described = tuple(
        WeightedEdge(
            builder.node_name(int(graph.nodes[graph.senders[edge]]), allowed),
            builder.node_name(int(graph.nodes[graph.receivers[edge]]), allowed),
            builder.build_triple(graph, edge, allowed),
            bool(builder.edges.relations[graph.edges[edge]] < builder.edges.relation_count),
            float(importance[layer, edge]),
            layer + 1,
        )
        for layer, edge in zip(edge_layers(importance, edges), edges, strict=True)
    )
    met = [int(graph.senders[edges[0]]), *(int(graph.receivers[edge]) for edge in edges)]
    return ExplainedWalk(score, described, len(set(met)) < len(met))


def _find_node(
    retriever: GFMRetriever,
    graph: QuestionGraph,
    logits: FloatArray,
    vector: FloatArray,
    target: str,
    allowed: BoolArray,
) -> tuple[int, str]:
    """Return the node of the question's graph that a target is, and the id of the passage that it explains."""
    s, of_entities = retriever.scope.snapshot, scores_entities(retriever.path_builder)
    of_nodes = retriever.path_builder.entity_nodes
    passages = find_target_passages(retriever.scope, target, allowed)
    # A title names an entity as well, which weights of entities score; a passage is then meant by its id.
    is_entity = not passages or (of_entities and all(s.passage_ids[p] != target for p in passages))
    entities = find_target_entities(retriever.scope, target, allowed) if is_entity else []
    passages = [] if entities else passages
    if not passages and not entities:
        hint = propose_targets(retriever.scope, target, allowed)
        raise InputError(f"the target is {target!r}, and no passage or entity of the index is called so; {hint}")
    if of_entities and passages:
        ranked = retriever.ranker.rank(graph, logits, vector, len(allowed), allowed)
        nodes = {position: node for (position, _), node in zip(ranked.passages, ranked.nodes, strict=True)}
        found = [(nodes[p], s.passage_ids[p]) for p in passages if nodes.get(p, -1) >= 0]
        if not found:
            raise InputError(
                f"the target {target!r} is a passage that mentions none of the entities that count, so it has no score "
                f"to explain; give the name of an entity"
            )
    else:
        wanted = passages or (entities if of_entities else [int(of_nodes[e]) for e in entities])
        places = {int(node): place for place, node in enumerate(graph.nodes)}
        found = [
            (places[n], s.passage_ids[n] if not of_entities and n < len(s.passage_ids) else "")
            for n in wanted
            if n in places
        ]
    if not found:
        is_whole = len(graph.nodes) == retriever.graphs.edges.node_count
        advice = "give another target" if is_whole else "try --retriever gfm:nodes=all"
        raise InputError(
            f"the target {target!r} is not among the {len(graph.nodes):,} nodes that the question leads to, so it has "
            f"no score to explain; {advice}"
        )
    return max(found, key=lambda pair: float(logits[pair[0]]))
