"""Looking at a graph: its entities by name, the facts of one, the paths between two, each within a filter.

An entity is seen where an allowed passage mentions it, or a fact that is seen has it as an end. A fact is seen where an
allowed passage states it, or an imported graph holds it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import final

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray
from clew.graph.paths.simple_paths import connecting_paths
from clew.graph.snapshot.relational_edges import MENTIONS_RELATION
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.subgraphs.k_hop import LocalGraph, local_graph, neighbourhood
from clew.graph.subgraphs.textual_graph import FactGraph, fact_graph
from clew.query.scope import Scope
from clew.query.visible_names import NameTable
from clew.text.normalization import key_hash, name_key, token_keys
from clew.text.sentences import sentence_spans
from clew.types import Citation, Filter

_MAX_EDGES = 200_000  # read around the two ends of a path
_MAX_QUOTES = 3  # passages of an edge that are quoted
_TITLE_WORD = 0.25  # worth of a word of the title in the choice of a quote
_PARALLEL = 3  # edges of one step of a path that are shown
_ID = re.compile("[0-9a-f]{16}")
_FILTERS = 32  # of which the entities that are seen are remembered


@dataclass(frozen=True, slots=True)
class EntityMatch:
    """An entity that is seen."""

    position: int  # among the entities of the snapshot
    id: str  # the same in all versions of an index
    name: str
    passages: int  # allowed passages that mention it


@dataclass(frozen=True, slots=True)
class StatedEdge:
    """A fact, or the mention of an entity by a passage, with sentences of the allowed passages that state it."""

    head: int  # positions of entities
    relation: str
    tail: int
    passages: tuple[str, ...]
    imported: bool
    quotes: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class EdgePath:
    """A path between two entities: n entities, and the edges of each of its n - 1 steps, facts first."""

    entities: tuple[int, ...]
    edges: tuple[StatedEdge, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Edges:
    """The facts of a snapshot and its m mentions of an entity by a passage whose title is another one, as one graph."""

    graph: FactGraph  # mentions are numbered after the facts
    passages: IntArray  # (m,) the passage of each mention
    titles: IntArray  # (m,) the entity of its title
    entities: IntArray  # (m,) the entity that it mentions


@dataclass(frozen=True, slots=True, eq=False)
class _Visible:
    """The entities of an index that are seen within a filter."""

    counts: LongArray  # (E,) allowed passages that mention each
    seen: BoolArray  # (E,)


@final
class GraphBrowser:
    """The graph of one index version; the arrays it needs are made at first use."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._visible = lru_cache(maxsize=_FILTERS)(self._find_visible)

    @property
    def _snapshot(self) -> Snapshot:
        return self._scope.snapshot

    @cached_property
    def _keys(self) -> list[str]:
        return [name_key(name) for name in self._snapshot.entities]

    @cached_property
    def _edges(self) -> _Edges:
        s = self._snapshot
        titles = np.repeat(np.asarray(s.title_entities), s.mentions.degrees())
        own = (titles >= 0) & (titles != s.mentions.indices)
        titles, entities = titles[own].astype(np.int32), s.mentions.indices[own].astype(np.int32)
        passages = s.mentions.row_indices()[own].astype(np.int32)
        mentions = np.stack([titles, np.zeros(len(titles), dtype=np.int32), entities], axis=1)
        triples = np.concatenate([np.asarray(s.triples, dtype=np.int32), mentions])
        return _Edges(fact_graph(triples, len(s.entities)), passages, titles, entities)

    @cached_property
    def _position_of_id(self) -> dict[str, int]:
        return {f"{key_hash(key):016x}": position for position, key in enumerate(self._keys)}

    def entity_id(self, position: int, where: Filter | None = None) -> str:
        """Return the id of an entity: 16 hexadecimal digits that depend on its name alone."""
        return f"{key_hash(name_key(self._names(where).entities[position])):016x}"

    def match(self, position: int, where: Filter | None = None) -> EntityMatch:
        """Return an entity with the number of allowed passages that mention it, and the name that these give it."""
        count = int(self._visible(where).counts[position])
        return EntityMatch(position, self.entity_id(position, where), self._names(where).entities[position], count)

    def _names(self, where: Filter | None) -> NameTable:
        return self._scope.names(self._scope.mask(where))

    def count_visible(self, where: Filter | None = None) -> int:
        """Return the number of entities that are seen."""
        return int(self._visible(where).seen.sum())

    def find(self, name: str, where: Filter | None = None) -> int | None:
        """Return the entity of an id or a name, in any case and spelling of spaces; None where none is seen.

        Of several entities of a name the one that most allowed passages mention is taken, ties by position.
        """
        names, visible = self._names(where), self._visible(where)
        found = [int(e) for e in names.entities_with_key(key_hash(name_key(name), names.salt))]
        if not found and (own := self._find_id(name, where)) is not None:
            found = [own]
        seen = [position for position in found if visible.seen[position]]
        return min(seen, key=lambda position: (-visible.counts[position], position)) if seen else None

    def _find_id(self, id_: str, where: Filter | None) -> int | None:
        """Return the entity of an id, which under a filter is that of the name that allowed passages write."""
        own = self._position_of_id.get(id_)
        if self._names(where) is self._snapshot or (own is not None and self.entity_id(own, where) == id_):
            return own
        if not _ID.fullmatch(id_):
            return None
        seen = np.flatnonzero(self._visible(where).seen).tolist()
        return next((position for position in seen if self.entity_id(position, where) == id_), None)

    def search(self, text: str, limit: int, where: Filter | None = None) -> tuple[list[EntityMatch], bool]:
        """Return the entities whose names contain a text, at most `limit`, and whether there are more.

        A name that is the text comes first, then those that begin with it, then those in which a word does, then the
        others; within each those that more allowed passages mention come first, ties by position. An empty text gives
        all.
        """
        wanted, visible = name_key(text) if text.strip() else "", self._visible(where)
        found = [position for position, key in enumerate(self._keys) if wanted in key and visible.seen[position]]
        counts, keys = visible.counts, self._keys
        if wanted and (names := self._names(where)) is not self._snapshot:
            written = {position: name_key(names.entities[position]) for position in found}
            found = [position for position in found if wanted in written[position]]
            found.sort(key=lambda position: (_closeness(written[position], wanted), -counts[position], position))
        else:
            found.sort(key=lambda position: (_closeness(keys[position], wanted), -counts[position], position))
        return [self.match(position, where) for position in found[:limit]], len(found) > limit

    def mentioning(self, position: int, where: Filter | None = None) -> list[str]:
        """Return the ids of the allowed passages that mention an entity, sorted."""
        allowed, names = self._scope.mask(where), self._names(where)
        return [self._snapshot.passage_ids[int(p)] for p in names.passages_of(position) if allowed[p]]

    def facts(
        self, position: int, where: Filter | None = None, limit: int | None = None, *, quotes: bool = False
    ) -> list[StatedEdge]:
        """Return the facts that an entity is an end of, in the order of the index, at most `limit`."""
        return [self._fact(int(t), where, quotes=quotes) for t in self._triples(position, where)[:limit]]

    def count_facts(self, position: int, where: Filter | None = None) -> int:
        """Return the number of facts that an entity is an end of."""
        return len(self._triples(position, where))

    def passage_facts(self, passage: int, where: Filter | None = None) -> list[StatedEdge]:
        """Return the facts that an allowed passage states."""
        triples, blocked = self._snapshot.passage_triples.row(passage), self._scope.blocked_triples(where)
        return [self._fact(int(t), where) for t in (triples if blocked is None else triples[~blocked[triples]])]

    def passage_entities(self, passage: int, where: Filter | None = None) -> list[EntityMatch]:
        """Return the entities that an allowed passage or its title mentions."""
        entities = self._snapshot.mentions.row(passage)
        if (ties := self._scope.hidden_ties(self._scope.mask(where))) is not None:
            entities = entities[~ties.are_hidden(np.full(len(entities), passage), entities)]
        return [self.match(int(entity), where) for entity in entities]

    def paths(
        self, start: int, end: int, where: Filter | None = None, max_hops: int = 4, limit: int = 5
    ) -> tuple[list[EdgePath], bool]:
        """Return the shortest paths between two entities, and whether the search was cut.

        A step is a fact, else the mention of an entity by a passage with the other as its title.
        """
        ends, edges = np.array([start, end], dtype=np.int32), self._edges
        blocked = self._blocked_edges(where)
        around = neighbourhood(edges.graph, ends, (max_hops + 1) // 2, _MAX_EDGES, blocked)
        local = local_graph(edges.graph, around.nodes, blocked)
        first, last = (int(position) for position in local.positions(ends))
        found = connecting_paths(local, first, last, max_hops, limit)
        paths = []
        for nodes in found.nodes:
            steps = (_codes_between(local, one, other) for one, other in pairwise(nodes))
            stated = tuple(edge for codes in steps for edge in self._step(codes, where))
            paths.append(EdgePath(tuple(int(local.nodes[node]) for node in nodes), stated))
        return paths, found.truncated or around.truncated_nodes > 0

    def quote(self, passage: int, names: Sequence[str]) -> Citation:
        """Return the sentence of a passage that holds most words of some names; the first of several.

        Words of the passage's title count a quarter, since its sentences leave them out and its heading repeats them.
        """
        cited = self._snapshot.passage(passage)
        text, title = cited.text, set(token_keys(cited.title))
        worth = {word: _TITLE_WORD if word in title else 1.0 for name in names for word in token_keys(name)}
        spans = sentence_spans(text) or [(0, len(text))]
        scores = [sum(worth.get(word, 0.0) for word in set(token_keys(text[a:b]))) for a, b in spans]
        return cited.cite(*spans[scores.index(max(scores))])

    def _find_visible(self, where: Filter | None) -> _Visible:
        counts = self._scope.mention_counts(self._scope.mask(where))
        seen = counts > 0
        facts = self._scope.visible_triples(where)
        for column in (0, 2):
            seen[self._snapshot.triples[facts, column]] = True
        return _Visible(counts, seen)

    def _blocked_edges(self, where: Filter | None) -> BoolArray | None:
        allowed, edges = self._scope.mask(where), self._edges
        hidden = ~allowed[edges.passages]
        if (ties := self._scope.hidden_ties(allowed)) is not None:
            hidden |= ties.are_hidden(edges.passages, edges.entities)
        blocked = np.concatenate([~self._scope.visible_triples(where), hidden])
        return blocked if blocked.any() else None

    def _triples(self, position: int, where: Filter | None) -> IntArray:
        """Return the facts (n,) of an entity that are seen, ascending."""
        graph = self._edges.graph
        numbers = graph.edges[graph.indptr[position] : graph.indptr[position + 1]] >> 1
        triples: IntArray = np.unique(numbers[numbers < len(self._snapshot.triples)])
        blocked = self._scope.blocked_triples(where)
        return triples if blocked is None else triples[~blocked[triples]]

    def _fact(self, triple: int, where: Filter | None, *, quotes: bool = False) -> StatedEdge:
        s, allowed, labels = self._snapshot, self._scope.mask(where), self._names(where).entities
        head, relation, tail = (int(i) for i in s.triples[triple])
        stating = [int(p) for p in s.triple_passages.row(triple) if allowed[p]]
        names = (labels[head], labels[tail], s.relations[relation])
        quoted = tuple(self.quote(p, names) for p in stating[:_MAX_QUOTES]) if quotes else ()
        ids = tuple(s.passage_ids[p] for p in stating)
        return StatedEdge(head, s.relations[relation], tail, ids, bool(s.imported[triple]), quoted)

    def _step(self, codes: IntArray, where: Filter | None) -> Iterator[StatedEdge]:
        """Yield the facts of one step of a path, three at most; without facts the first mention."""
        s, edges = self._snapshot, self._edges
        numbers = sorted({int(code) >> 1 for code in codes})
        if facts := [number for number in numbers if number < len(s.triples)]:
            yield from (self._fact(number, where, quotes=True) for number in facts[:_PARALLEL])
            return
        mention = numbers[0] - len(s.triples)
        passage, entity = int(edges.passages[mention]), int(edges.entities[mention])
        quoted = (self.quote(passage, [self._names(where).entities[entity]]),)
        title = int(edges.titles[mention])
        yield StatedEdge(title, MENTIONS_RELATION, entity, (s.passage_ids[passage],), imported=False, quotes=quoted)


def _codes_between(local: LocalGraph, one: int, other: int) -> IntArray:
    """Return the codes of the edges from one position to another."""
    first, last = int(local.indptr[one]), int(local.indptr[one + 1])
    row = local.neighbours[first:last]
    codes: IntArray = local.edges[first:last][row == other]
    return codes


def _closeness(key: str, wanted: str) -> int:
    """Return 0 for a name that is the text, 1 if it begins with it, 2 if one of its words does, else 3."""
    if key == wanted:
        return 0
    if key.startswith(wanted):
        return 1
    return 2 if f" {wanted}" in key else 3
