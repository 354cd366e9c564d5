"""The arrays of a snapshot whose entities decisions have merged, split, renamed and forgotten.

Only what names an entity is made again; passages, words and relations stay. Entities that no decision touches keep
their order.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import IntArray, LongArray
from clew.graph.csr import Adjacency, build_adjacency, unweighted_rows
from clew.graph.sentence_index import SentenceRows
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.walk_graph import entity_nodes, walk_graph
from clew.graph.string_array import StringArray, StringWriter
from clew.indexing.merging.passage_facts import DistinctTriples, distinct_triples
from clew.indexing.merging.passage_rows import join_by_entities
from clew.indexing.resolution.entity_decisions import CorrectedEntities


def with_corrected_entities(snapshot: Snapshot, corrected: CorrectedEntities) -> Snapshot:
    """Return a snapshot with other entities; with those that it has, the same bytes."""
    renumbering = _Renumbering(len(snapshot.entities), corrected.numbers, corrected.moved)
    count, passages = len(corrected.sources), len(snapshot.passage_ids)
    mentions = _mentions(snapshot, renumbering)
    mentioned_in = mentions.transpose(count)
    titles = _titles(snapshot, renumbering)
    triples = _triples(snapshot, renumbering, count)
    nodes = entity_nodes(titles, mentioned_in)
    return replace(
        snapshot,
        title_entities=titles,
        entities=_labels(snapshot.entities, corrected),
        name_hashes=corrected.name_hashes,
        name_entities=corrected.name_entities,
        triples=triples.triples,
        imported=triples.imported,
        triple_passages=triples.passages,
        passage_triples=triples.passages.transpose(passages),
        mentions=mentions,
        mentioned_in=mentioned_in,
        entity_nodes=nodes,
        walk=walk_graph(nodes, mentions),
        sentence_rows=_sentences(snapshot.sentence_rows, renumbering, mentioned_in.degrees()),
    )


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Renumbering:
    """The new numbers of E entities, and those of mentions that went elsewhere."""

    count: int
    numbers: IntArray  # (E,)
    moved: LongArray  # (m, 3) passage, entity, new number; sorted

    def apply(self, passages: NDArray[np.integer], entities: NDArray[np.integer]) -> IntArray:
        """Return the new number of each entity (n,) in its passage (n,), -1 for one that is forgotten."""
        numbers = self.numbers[entities]
        if len(self.moved):
            known = self.moved[:, 0] * self.count + self.moved[:, 1]
            wanted = passages.astype(np.int64) * self.count + entities
            places = np.minimum(known.searchsorted(wanted), len(known) - 1)
            numbers = np.where(known[places] == wanted, self.moved[places, 2], numbers)
        renumbered: IntArray = numbers.astype(np.int32)
        return renumbered


def _labels(labels: StringArray, corrected: CorrectedEntities) -> StringArray:
    writer = StringWriter(len(corrected.sources))
    rows = np.flatnonzero(corrected.sources >= 0)
    writer.add(labels, corrected.sources[rows], rows)
    positions = np.array(sorted(corrected.labels), dtype=np.int64)
    new = StringArray.pack([corrected.labels[position] for position in positions.tolist()])
    writer.add(new, np.arange(len(new)), positions)
    return writer.finish()


def _mentions(snapshot: Snapshot, renumbering: _Renumbering) -> Adjacency:
    old = snapshot.mentions
    passages = old.row_indices()
    entities = renumbering.apply(passages, old.indices)
    rest = entities >= 0
    return build_adjacency(passages[rest], entities[rest], old.weights[rest], old.row_count)


def _titles(snapshot: Snapshot, renumbering: _Renumbering) -> IntArray:
    titles = np.full(len(snapshot.title_entities), -1, dtype=np.int32)
    passages = np.flatnonzero(snapshot.title_entities >= 0)
    titles[passages] = renumbering.apply(passages, snapshot.title_entities[passages])
    return titles


def _triples(snapshot: Snapshot, renumbering: _Renumbering, count: int) -> DistinctTriples:
    """Return the triples; one whose ends became one entity, or of which one is forgotten, is none any more."""
    stated = snapshot.triple_passages
    rows, passages = stated.row_indices(), stated.indices.astype(np.int64)
    order = np.argsort(passages, kind="stable")
    rows, passages = rows[order], passages[order]
    graph = np.flatnonzero(snapshot.imported)
    old = np.concatenate([snapshot.triples[rows], snapshot.triples[graph]])
    passages = np.concatenate([passages, np.full(len(graph), -1, dtype=np.int64)])
    new = old.astype(np.int32)
    for column in (0, 2):
        new[:, column] = renumbering.apply(passages, old[:, column])
    is_loop = (new[:, 0] == new[:, 2]) & (old[:, 0] != old[:, 2])
    rest = (new[:, 0] >= 0) & (new[:, 2] >= 0) & ~is_loop
    return distinct_triples(new[rest], passages[rest].astype(np.int32), count)


def _sentences(rows: SentenceRows, renumbering: _Renumbering, entity_passages: LongArray) -> SentenceRows:
    named = rows.entities
    sentences = named.row_indices()
    passage_of_sentence = np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))
    entities = renumbering.apply(passage_of_sentence[sentences], named.indices)
    rest = entities >= 0
    ones = np.ones(int(rest.sum()), dtype=np.float32)
    made = build_adjacency(sentences[rest], entities[rest], ones, named.row_count)
    own = unweighted_rows(made.indptr, made.indices)
    return replace(rows, entities=own, entity_sentences=join_by_entities(own, entity_passages))
