"""Columns in, snapshot out: numbers the entities, relations and triples and packs them. Pure and deterministic."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.adjacency import Adjacency, adjacency
from clew.graph.snapshot import Snapshot
from clew.graph.strings import Strings
from clew.graph.walk import entity_nodes, walk_graph

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class PassageColumns:
    """The passages of an index as equally long columns, sorted by document and place."""

    ids: Sequence[str]
    document_ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]
    metadata: Sequence[str]
    starts: Sequence[int]
    ends: Sequence[int]
    vectors: "FloatArray"


@dataclass(frozen=True, slots=True)
class Facts:
    """What one passage says, in entity keys.

    Attributes:
        title: Key of the entity its title names, "" for none.
        mentions: (key, weight) of every entity it mentions.
        triples: (head key, relation text, tail key).
    """

    title: str
    mentions: Sequence[tuple[str, float]]
    triples: Sequence[tuple[str, str, str]]


def build(
    columns: PassageColumns,
    facts: Sequence[Facts],
    surfaces: Mapping[str, Counter[str]],
    names: Mapping[int, Sequence[str]],
) -> Snapshot:
    """Return the snapshot of an index without equivalences (see `with_equivalences`).

    Args:
        columns: P passages.
        facts: P, of each passage.
        surfaces: For each entity key how often it was written in which way.
        names: For each hash of a name's key the entity keys that it stands for.
    """
    order = sorted(range(len(columns.ids)), key=columns.ids.__getitem__)
    facts = [facts[i] for i in order]
    keys = sorted(surfaces)
    number = {key: i for i, key in enumerate(keys)}
    relations = sorted({relation for fact in facts for _, relation, _ in fact.triples})
    triples, triple_passages = _numbered_triples(facts, number, relations)
    mentions = _mentions(facts, number)
    hashes, entities = _names(names, number)
    titles = np.array([number.get(fact.title, -1) for fact in facts], dtype=np.int32)
    mentioned_in = mentions.transposed(len(keys))
    nodes = entity_nodes(titles, mentioned_in)
    equivalences = adjacency([], [], [], len(keys))
    return Snapshot(
        passage_ids=Strings.of(columns.ids[i] for i in order),
        document_ids=Strings.of(columns.document_ids[i] for i in order),
        titles=Strings.of(columns.titles[i] for i in order),
        texts=Strings.of(columns.texts[i] for i in order),
        metadata=Strings.of(columns.metadata[i] for i in order),
        starts=np.array([columns.starts[i] for i in order], dtype=np.int64),
        ends=np.array([columns.ends[i] for i in order], dtype=np.int64),
        title_entities=titles,
        entities=Strings.of(most_written(surfaces[key]) for key in keys),
        name_hashes=hashes,
        name_entities=entities,
        relations=Strings.of(relations),
        triples=triples,
        triple_passages=triple_passages,
        passage_triples=triple_passages.transposed(len(facts)),
        mentions=mentions,
        mentioned_in=mentioned_in,
        equivalences=equivalences,
        entity_nodes=nodes,
        walk=walk_graph(nodes, mentions),
        vectors=np.ascontiguousarray(columns.vectors[order], dtype=np.float32),
    )


def with_equivalences(snapshot: Snapshot, left: "IntArray", right: "IntArray", scores: "FloatArray") -> Snapshot:
    """Return the snapshot with edges between entities of nearly the same name.

    Args:
        snapshot: Made by `build`.
        left: (m,) one entity of each pair.
        right: (m,) the other.
        scores: (m,) their cosine.
    """
    both = np.concatenate([left, right]), np.concatenate([right, left]), np.concatenate([scores, scores])
    equivalences = adjacency(*both, len(snapshot.entities))
    return replace(snapshot, equivalences=equivalences)


def most_written(surfaces: Counter[str]) -> str:
    """Return the way a name is written most often; of equals the first in code-point order."""
    return min(surfaces, key=lambda surface: (-surfaces[surface], surface))


def _numbered_triples(
    facts: Sequence[Facts], number: Mapping[str, int], relations: Sequence[str]
) -> "tuple[IntArray, Adjacency]":
    relation_number = {relation: i for i, relation in enumerate(relations)}
    stated = np.array(
        [
            (number[head], relation_number[relation], number[tail], passage)
            for passage, fact in enumerate(facts)
            for head, relation, tail in fact.triples
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    triples, row = np.unique(stated[:, :3], axis=0, return_inverse=True)
    passages = adjacency(row.ravel(), stated[:, 3], np.ones(len(stated)), len(triples))
    return triples.astype(np.int32).reshape(-1, 3), passages


def _mentions(facts: Sequence[Facts], number: Mapping[str, int]) -> Adjacency:
    rows: list[int] = []
    columns: list[int] = []
    weights: list[float] = []
    for passage, fact in enumerate(facts):
        found = [*fact.mentions, (fact.title, 1.0)] if fact.title else fact.mentions
        for key, weight in found:
            rows.append(passage)
            columns.append(number[key])
            weights.append(weight)
    return adjacency(rows, columns, weights, len(facts))


def _names(names: Mapping[int, Sequence[str]], number: Mapping[str, int]) -> "tuple[NDArray[np.uint64], IntArray]":
    pairs = sorted((hash_, number[key]) for hash_, keys in names.items() for key in keys)
    hashes = np.array([hash_ for hash_, _ in pairs], dtype=np.uint64)
    return hashes, np.array([entity for _, entity in pairs], dtype=np.int32)
