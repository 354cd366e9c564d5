"""Questions on one big graph of triples, each on what lies around its topics.

Source: He et al., "G-Retriever" (2024), who take WebQSP in this form: a question, and the facts within some hops of its
topics. Differs from the source: questions on the same topics share a graph, which is cut out when it is asked for; the
number of nodes is bounded, nearest first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np

from clew.datasets.graph_datasets import TOPIC_SEPARATOR, GraphDataset, GraphQuestion, LazyGraphs
from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.graph.subgraphs.fact_graph import FactGraph, fact_graph
from clew.graph.subgraphs.induced import local_graph
from clew.graph.subgraphs.k_hop import MAX_HOPS, neighbourhood
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.indexing.kg_formats.files import graph_file
from clew.indexing.kg_formats.statements import MalformedStatement, RawTriple, no_triples_message
from clew.types import Question

if TYPE_CHECKING:
    from clew.types import IntArray

EntityIds = tuple[int, ...]
"""Entities, ascending."""


def load_kgqa(kg: str | Path, questions: str | Path, hops: int = 3, max_nodes: int = 1000) -> GraphDataset:
    """Return questions on the surroundings of their topics.

    A graph holds the entities within some hops of any topic, over facts in either direction, and all facts among them:
    the topics first, then nearest first, each by name. Topics are found by their exact names; a question none of whose
    topics is in the graph is on an empty one. A path some of whose entities were left out is no gold. All this is told
    in the set's `notes`.

    Args:
        kg: A file of triples (see `graph_file`); each fact counts once.
        questions: In Clew's form, with `topic` and, where they are known, `paths`.
        hops: How far, 0 to 127.
        max_nodes: Nodes of a graph, at least 1; topics stay, however many they are.

    Raises:
        InputError: A file cannot be read or is malformed, no question names a topic of the graph, or a number is out of
            range.
    """
    if max_nodes < 1 or not 0 <= hops <= MAX_HOPS:
        raise InputError(
            f"graphs of {max_nodes} nodes within {hops} hops: wanted at least 1 node, and 0 to {MAX_HOPS} hops"
        )
    asked = load_questions(questions)
    around = _TopicGraphs(_read_graph(Path(kg)), hops, max_nodes)
    topics = [around.find_topics(question.topics) for question in asked]
    if not any(topics):
        raise InputError(
            f"{questions}: none of {len(asked)} questions names a topic of {kg}; wanted the names of entities as they "
            "are written there, under 'topic'"
        )
    distinct = list(dict.fromkeys(topics))
    place_of = {starts: place for place, starts in enumerate(distinct)}
    made = tuple(
        _make_question(question, starts, place_of[starts], around)
        for question, starts in zip(asked, topics, strict=True)
    )
    graphs = LazyGraphs(len(distinct), lambda place: around.build_graph(distinct[place]))
    return GraphDataset(graphs, made, notes=_describe_losses(asked, topics, made))


@dataclass(frozen=True, slots=True, eq=False)
class _KnowledgeGraph:
    """T distinct triples in the order of their names: E entities and R relations by name.

    Attributes:
        triples: (T, 3).
    """

    entities: list[str]
    relations: list[str]
    triples: "IntArray"
    graph: FactGraph


def _read_graph(path: Path) -> _KnowledgeGraph:
    stated: set[RawTriple] = set()
    for statement in graph_file(path).statements():
        if isinstance(statement, MalformedStatement):
            raise InputError(f"{statement}; wanted head, relation and tail on each line. Correct it or leave it out")
        if isinstance(statement, tuple):
            stated.add(statement)
    if not stated:
        raise InputError(
            f"{no_triples_message(path.name, 0, None)}; give a file with head, relation and tail on each line"
        )
    entities = sorted({end for head, _, tail in stated for end in (head, tail)})
    relations = sorted({relation for _, relation, _ in stated})
    entity_of, relation_of = ({name: place for place, name in enumerate(names)} for names in (entities, relations))
    triples = np.array([(entity_of[h], relation_of[r], entity_of[t]) for h, r, t in sorted(stated)], dtype=np.int32)
    return _KnowledgeGraph(entities, relations, triples, fact_graph(triples, len(entities)))


@final
class _TopicGraphs:
    def __init__(self, facts: _KnowledgeGraph, hops: int, most: int) -> None:
        self._facts, self._hops, self._max_nodes = facts, hops, most
        self._entity_of = {name: entity for entity, name in enumerate(facts.entities)}
        self.nodes = lru_cache(maxsize=4096)(self._find_nodes)

    def find_topics(self, names: tuple[str, ...]) -> EntityIds:
        return tuple(sorted({self._entity_of[name] for name in names if name in self._entity_of}))

    def entity_id(self, name: str) -> int:
        """Return -1 for one that the graph does not know."""
        return self._entity_of.get(name, -1)

    def build_graph(self, starts: EntityIds) -> TextualGraph:
        nodes = self.nodes(starts)
        local = local_graph(self._facts.graph, nodes)
        forward = np.flatnonzero(local.edges & 1 == 0)
        forward = forward[np.argsort(local.edges[forward], kind="stable")]
        sources = np.repeat(np.arange(len(nodes), dtype=np.int32), local.degrees())[forward]
        names = self._facts.relations
        return TextualGraph(
            tuple(self._facts.entities[node] for node in nodes.tolist()),
            np.stack([sources, local.neighbours[forward]], axis=1),
            tuple(names[row] for row in self._facts.triples[local.edges[forward] >> 1, 1].tolist()),
        )

    def _find_nodes(self, starts: EntityIds) -> "IntArray":
        graph = self._facts.graph
        found = neighbourhood(graph, np.array(starts, dtype=np.int32), self._hops, len(graph.edges))
        return found.nodes[: max(self._max_nodes, len(starts))]


def _make_question(question: Question, starts: EntityIds, graph: int, around: _TopicGraphs) -> GraphQuestion:
    gold = [
        places for path in question.paths if (places := _path_positions(path, around.nodes(starts), around.entity_id))
    ]
    group = TOPIC_SEPARATOR.join(sorted(set(question.topics)))
    topics = tuple(range(len(starts)))
    return GraphQuestion(question.id, graph, question.text, question.answers, topics, tuple(dict.fromkeys(gold)), group)


def _path_positions(path: Sequence[RawTriple], nodes: "IntArray", entity: Callable[[str], int]) -> tuple[int, ...]:
    """Return the positions of a path's entities, in its order; none when one of them is not there."""
    needed = dict.fromkeys(entity(end) for head, _, tail in path for end in (head, tail))
    places = [np.flatnonzero(nodes == one) for one in needed]
    return tuple(int(place[0]) for place in places) if all(len(place) for place in places) else ()


def _describe_losses(
    asked: list[Question], topics: list[EntityIds], made: tuple[GraphQuestion, ...]
) -> tuple[str, ...]:
    notes = []
    if empty := sum(not starts for starts in topics):
        notes.append(f"{empty:,} of {len(asked):,} questions name no topic of the graph; theirs are empty")
    if missing := sum(len(set(q.topics)) > len(starts) > 0 for q, starts in zip(asked, topics, strict=True)):
        notes.append(f"{missing:,} of {len(asked):,} questions also name topics that the graph does not know")
    lost = sum(len(_entity_chains(q)) - len(own.gold) for q, own in zip(asked, made, strict=True))
    if lost:
        without = sum(bool(q.paths) and not own.gold for q, own in zip(asked, made, strict=True))
        notes.append(
            f"{lost:,} of {sum(len(_entity_chains(q)) for q in asked):,} paths are no gold, since an entity of theirs "
            f"is too "
            f"far or not in the graph; {without:,} questions keep none"
        )
    return tuple(notes)


def _entity_chains(question: Question) -> set[tuple[str, ...]]:
    """Return what entities the paths name, each chain once, as in a question's gold."""
    return {tuple(dict.fromkeys(end for head, _, tail in path for end in (head, tail))) for path in question.paths}
