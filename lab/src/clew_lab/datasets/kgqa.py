"""Questions on one large graph of triples, each on the neighbourhood of its topics.

Source: He et al., "G-Retriever" (2024), which uses WebQSP in this form: a question, and the facts within some hops of
its topics.
Differs from the source: questions with the same topics share a graph, which is cut out on access; the number of nodes
is bounded, nearest first.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import final

import numpy as np

from clew.arrays import IntArray
from clew.errors import InputError
from clew.graph.subgraphs.k_hop import MAX_HOPS, local_graph, neighbourhood
from clew.graph.subgraphs.textual_graph import TextualGraph, fact_graph
from clew.indexing.kg_formats.files import graph_file
from clew.indexing.kg_formats.tables import MalformedStatement, RawTriple
from clew.text.display import format_count
from clew.types import Question
from clew_lab.datasets.graph_datasets import TOPIC_SEPARATOR, GraphDataset, GraphQuestion, LazyGraphs
from clew_lab.datasets.loaders import load_questions

EntityIds = tuple[int, ...]
"""Numbers of entities, ascending."""


def load_kgqa(kg: str | Path, questions: str | Path, hops: int = 3, max_nodes: int = 1000) -> GraphDataset:
    """Load questions on the neighbourhoods of their topics.

    A graph holds the entities within some hops of any topic, from 0 to 127, over facts in either direction, and all
    facts among them: the topics first, then nearest first, each sorted by name, `max_nodes` of them, at least 1, or all
    topics. Topics are matched by exact name; a question without a topic in the graph gets an empty one, but one at
    least names a topic. A path with an entity outside the graph is not gold. The `notes` of the data set count these
    cases. `kg` is a file of triples (see `graph_file`), of which duplicates count once; questions have `topic` and, if
    known, `paths`.
    """
    if max_nodes < 1 or not 0 <= hops <= MAX_HOPS:
        raise InputError(
            f"graphs of {max_nodes} nodes within {hops} hops: wanted at least 1 node, and 0 to {MAX_HOPS} hops"
        )
    loaded = load_questions(questions)
    builder = _TopicGraphs(_read_triples(Path(kg)), hops, max_nodes)
    topics = [builder.find_topics(question.topics) for question in loaded]
    if not any(topics):
        raise InputError(
            f"{questions}: none of {format_count(len(loaded), 'question')} names a topic of {kg}; wanted the names of "
            "entities as they are written there, under 'topic'"
        )
    distinct = list(dict.fromkeys(topics))
    graph_of = {starts: number for number, starts in enumerate(distinct)}
    made = tuple(
        _make_question(question, starts, graph_of[starts], builder)
        for question, starts in zip(loaded, topics, strict=True)
    )
    graphs = LazyGraphs(len(distinct), lambda number: builder.build_graph(distinct[number]))
    return GraphDataset(graphs, made, notes=_note_losses(loaded, topics, made))


def _read_triples(path: Path) -> list[RawTriple]:
    """Return the distinct triples of a file, sorted."""
    distinct: set[RawTriple] = set()
    for statement in graph_file(path).statements():
        if isinstance(statement, MalformedStatement):
            raise InputError(f"{statement}; wanted head, relation and tail on each line. Correct it or leave it out")
        if isinstance(statement, tuple):
            distinct.add(statement)
    if not distinct:
        raise InputError(f"{path.name} states no triple; give a file with head, relation and tail on each line")
    return sorted(distinct)


@final
class _TopicGraphs:
    def __init__(self, triples: list[RawTriple], hops: int, max_nodes: int) -> None:
        self._hops, self._max_nodes = hops, max_nodes
        self._entities = sorted({end for head, _, tail in triples for end in (head, tail)})
        self._relations = sorted({relation for _, relation, _ in triples})
        entity_of = self._entity_of = {name: number for number, name in enumerate(self._entities)}
        relation_of = {name: number for number, name in enumerate(self._relations)}
        numbers = [(entity_of[head], relation_of[relation], entity_of[tail]) for head, relation, tail in triples]
        self._triples = np.array(numbers, dtype=np.int32)
        self._graph = fact_graph(self._triples, len(self._entities))
        self.nodes = lru_cache(maxsize=4096)(self._find_nodes)

    def find_topics(self, names: tuple[str, ...]) -> EntityIds:
        return tuple(sorted({self._entity_of[name] for name in names if name in self._entity_of}))

    def path_positions(self, path: Sequence[RawTriple], starts: EntityIds) -> tuple[int, ...]:
        """Return the positions of a path's entities in a graph, in their order; none if one is missing."""
        entities = dict.fromkeys(self._entity_of.get(end, -1) for head, _, tail in path for end in (head, tail))
        positions = [np.flatnonzero(self.nodes(starts) == entity) for entity in entities]
        return tuple(int(found[0]) for found in positions) if all(map(len, positions)) else ()

    def build_graph(self, starts: EntityIds) -> TextualGraph:
        nodes = self.nodes(starts)
        local = local_graph(self._graph, nodes)
        forward = np.flatnonzero(local.edges & 1 == 0)
        forward = forward[np.argsort(local.edges[forward], kind="stable")]
        sources = np.repeat(np.arange(len(nodes), dtype=np.int32), local.degrees())[forward]
        relations = self._triples[local.edges[forward] >> 1, 1].tolist()
        return TextualGraph(
            tuple(self._entities[node] for node in nodes.tolist()),
            np.stack([sources, local.neighbours[forward]], axis=1),
            tuple(self._relations[relation] for relation in relations),
        )

    def _find_nodes(self, starts: EntityIds) -> IntArray:
        reached = neighbourhood(self._graph, np.array(starts, dtype=np.int32), self._hops, len(self._graph.edges))
        return reached.nodes[: max(self._max_nodes, len(starts))]


def _make_question(question: Question, starts: EntityIds, graph: int, builder: _TopicGraphs) -> GraphQuestion:
    gold = [positions for path in question.paths if (positions := builder.path_positions(path, starts))]
    group = TOPIC_SEPARATOR.join(sorted(set(question.topics)))
    topics = tuple(range(len(starts)))
    return GraphQuestion(question.id, graph, question.text, question.answers, topics, tuple(dict.fromkeys(gold)), group)


def _note_losses(loaded: list[Question], topics: list[EntityIds], made: tuple[GraphQuestion, ...]) -> tuple[str, ...]:
    notes = []
    if empty := sum(not starts for starts in topics):
        notes.append(f"{empty:,} of {len(loaded):,} questions name no topic of the graph; their graphs are empty")
    if missing := sum(len(set(q.topics)) > len(starts) > 0 for q, starts in zip(loaded, topics, strict=True)):
        notes.append(f"{missing:,} of {len(loaded):,} questions also name topics that the graph does not have")
    if lost := sum(len(_entity_chains(q)) - len(own.gold) for q, own in zip(loaded, made, strict=True)):
        total = sum(len(_entity_chains(q)) for q in loaded)
        without = sum(bool(q.paths) and not own.gold for q, own in zip(loaded, made, strict=True))
        notes.append(
            f"{lost:,} of {total:,} paths are not gold, because one of their entities is too far away or not in the "
            f"graph; {format_count(without, 'question has', 'questions have')} none left"
        )
    return tuple(notes)


def _entity_chains(question: Question) -> set[tuple[str, ...]]:
    """Return the distinct entity chains of a question's paths, as in its gold."""
    return {tuple(dict.fromkeys(end for head, _, tail in path for end in (head, tail))) for path in question.paths}
