"""Snapshots in memory for tests, from entities, triples and names given one by one; all is ordered by text."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.graph.csr import Adjacency, build_adjacency, run_starts, unweighted_rows
from clew.graph.segments.passage_columns import PassageColumns, StoredPassages
from clew.graph.segments.sentence_columns import StoredSentences
from clew.graph.sentence_index import SentenceRows
from clew.graph.snapshot.imported_graph import ImportedGraph, empty_graph
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.walk_graph import entity_nodes, walk_graph
from clew.graph.string_array import StringArray


@dataclass(frozen=True, slots=True, eq=False)
class MergedPositions:
    """Positions of the texts of two sorted lists in their sorted union."""

    count: int  # size of the union
    first: LongArray  # (a,) positions of the first list's texts
    second: LongArray  # (b,) positions of the second list's texts


@dataclass(frozen=True, slots=True)
class PassageTexts:
    """The passages of an index as columns of equal length, in any order."""

    ids: Sequence[str]
    document_ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    vectors: FloatArray

    def take(self, order: Sequence[int]) -> PassageColumns:
        """Return the columns in another order."""
        stored = StoredPassages(
            document_ids=StringArray.pack(self.document_ids),
            titles=StringArray.pack(self.titles),
            texts=StringArray.pack(self.texts),
            metadata=StringArray.pack(self.metadata),
            starts=np.array(self.starts, dtype=np.int64),
            ends=np.array(self.ends, dtype=np.int64),
            vectors=np.ascontiguousarray(self.vectors, dtype=np.float32),
            sentences=stored_sentences(len(self.ids)),
        )
        return PassageColumns([stored], np.array(order, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class PassageFacts:
    """The facts of one passage, by entity keys."""

    title: str  # key of the entity that the title names, "" for none
    mentions: Sequence[tuple[str, float]]  # (key, weight) of every mentioned entity
    triples: Sequence[tuple[str, str, str]]  # (head key, relation text, tail key) of every stated triple


def build_snapshot(
    columns: PassageTexts,
    facts: Sequence[PassageFacts],
    surface_forms: Mapping[str, Counter[str]],
    names: Mapping[int, Sequence[str]],
    graph: ImportedGraph | None = None,
) -> Snapshot:
    """Return the snapshot of an index of P passages and their facts.

    `surface_forms` counts for each entity key its written forms; `names` has for each hash of a name key the keys of
    the entities with this name. The labels of the imported graphs, if any, take precedence as displayed names.
    """
    graph = graph or empty_graph()
    order = sorted(range(len(columns.ids)), key=columns.ids.__getitem__)
    facts = [facts[i] for i in order]
    keys = sorted(surface_forms)
    entity = merge_sorted(keys, graph.keys.texts)
    number = dict(zip(keys, entity.first.tolist(), strict=True))
    relations = sorted({relation for fact in facts for _, relation, _ in fact.triples})
    relation = merge_sorted(relations, graph.relations.texts)
    heads, relation_numbers, tails = graph.triples.T
    triples, triple_passages, imported = _merge_triples(
        _fact_triples(facts, number, dict(zip(relations, relation.first.tolist(), strict=True))),
        np.column_stack([entity.second[heads], relation.second[relation_numbers], entity.second[tails]]),
    )
    mentions = _mention_rows(facts, number)
    hashes, entities = _name_table(names, number, graph, entity)
    titles = np.array([number.get(fact.title, -1) for fact in facts], dtype=np.int32)
    mentioned_in = mentions.transpose(entity.count)
    nodes = entity_nodes(titles, mentioned_in)
    return Snapshot(
        passage_ids=StringArray.pack(columns.ids[i] for i in order),
        columns=columns.take(order),
        title_entities=titles,
        entities=merge_texts([most_frequent_form(surface_forms[key]) for key in keys], graph.labels, entity),
        name_hashes=hashes,
        name_entities=entities,
        relations=merge_texts(relations, graph.relations.texts, relation),
        triples=triples,
        imported=imported,
        triple_passages=triple_passages,
        passage_triples=triple_passages.transpose(len(facts)),
        mentions=mentions,
        mentioned_in=mentioned_in,
        entity_nodes=nodes,
        walk=walk_graph(nodes, mentions),
        sentence_rows=no_sentences(len(facts), entity.count),
    )


def stored_sentences(passages: int) -> StoredSentences:
    """Return the stored columns of passages without sentences."""
    none = np.zeros((0, 2), dtype=np.int32)
    return StoredSentences(np.zeros(passages + 1, dtype=np.int64), none, np.zeros((0, 0), dtype=np.int8))


def most_frequent_form(surface_forms: Counter[str]) -> str:
    """Return the most frequent form of a name; of equally frequent ones the first in code-point order."""
    return min(surface_forms, key=lambda surface: (-surface_forms[surface], surface))


def _fact_triples(facts: Sequence[PassageFacts], number: Mapping[str, int], relations: Mapping[str, int]) -> LongArray:
    """Return (m, 4): numbers of head, relation and tail of each stated triple, and the passage that states it."""
    return np.array(
        [
            (number[head], relations[relation], number[tail], passage)
            for passage, fact in enumerate(facts)
            for head, relation, tail in fact.triples
        ],
        dtype=np.int64,
    ).reshape(-1, 4)


def _merge_triples(stated: LongArray, graph: LongArray) -> tuple[IntArray, Adjacency, BoolArray]:
    """Return the distinct triples (T, 3), the passages of each, and whether each is in the graph."""
    triples, row = np.unique(np.concatenate([stated[:, :3], graph]), axis=0, return_inverse=True)
    row = row.ravel()
    passages = build_adjacency(row[: len(stated)], stated[:, 3], np.ones(len(stated)), len(triples))
    imported = np.zeros(len(triples), dtype=bool)
    imported[row[len(stated) :]] = True
    return triples.astype(np.int32).reshape(-1, 3), passages, imported


def _mention_rows(facts: Sequence[PassageFacts], number: Mapping[str, int]) -> Adjacency:
    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    for passage, fact in enumerate(facts):
        for key, weight in [*fact.mentions, (fact.title, 1.0)] if fact.title else fact.mentions:
            rows.append(passage)
            columns.append(number[key])
            weights.append(weight)
    return build_adjacency(rows, columns, weights, len(facts))


def _name_table(
    names: Mapping[int, Sequence[str]], number: Mapping[str, int], graph: ImportedGraph, entity: MergedPositions
) -> tuple[NDArray[np.uint64], IntArray]:
    pairs = [(hash_, number[key]) for hash_, keys in names.items() for key in keys]
    hashes = np.concatenate([np.array([hash_ for hash_, _ in pairs], dtype=np.uint64), graph.name_hashes])
    own = np.array([entity_ for _, entity_ in pairs], dtype=np.int64)
    entities = np.concatenate([own, entity.second[graph.name_entities]])
    order = np.lexsort((entities, hashes))
    hashes, entities = hashes[order], entities[order]
    first = run_starts(hashes, entities)
    return hashes[first], entities[first].astype(np.int32)


def merge_sorted(first: Sequence[str], second: Sequence[str]) -> MergedPositions:
    """Return the positions of the texts of two lists, each sorted and distinct, in their sorted union.

    The first should be the shorter one: each of its texts is searched for in the other.
    """
    found = [bisect_left(second, text) for text in first]
    new = np.array([p == len(second) or second[p] != text for p, text in zip(found, first, strict=True)], bool)
    positions = np.array(found, dtype=np.int64)
    before = np.cumsum(new) - new  # texts only in the first list that precede this one
    inserted = np.cumsum(np.bincount(positions[new], minlength=len(second) + 1))[: len(second)]
    return MergedPositions(len(second) + int(new.sum()), positions + before, np.arange(len(second)) + inserted)


def merge_texts(first: Sequence[str], second: StringArray, positions: MergedPositions) -> StringArray:
    """Return the texts of the union in order; where both lists have an entry, the second one's text."""
    if not len(first):
        return second
    texts = [""] * positions.count
    for numbers, source in ((positions.first, first), (positions.second, second)):
        for position, text in zip(numbers.tolist(), source, strict=True):
            texts[position] = text
    return StringArray.pack(texts)


def no_sentences(passages: int, entities: int) -> SentenceRows:
    """Return the rows of passages whose sentences are not known."""
    none = np.zeros(0, dtype=np.int32)
    empty = unweighted_rows(np.zeros(1, dtype=np.int64), none)
    of_entities = unweighted_rows(np.zeros(entities + 1, dtype=np.int64), none)
    return SentenceRows(np.zeros(passages + 1, dtype=np.int64), empty, empty, of_entities, empty)
