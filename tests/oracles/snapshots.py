"""The arrays of a snapshot, built from Python objects: one for each passage, name and triple.

Entities ascend by the hash of their key, relations by the hash of their text, passages by id.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from clew.graph.csr import Adjacency
from clew.graph.snapshot.imported_graph import ImportedGraph, empty_graph
from clew.text.normalization import key_hash
from clew.types import Extraction, Mention
from tests.oracles.corpus_facts import PassageFacts, corpus_facts
from tests.oracles.sentences import SENTENCE_ROWS, PlainSentences, plain_sentences
from tests.oracles.title_linking import NamedText

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PlainSnapshot:
    """What the passages and graphs of an index state, in the order of the arrays."""

    passage_ids: list[str]
    title_entities: list[int]
    entities: list[str]
    names: list[tuple[int, int]]  # (hash, entity)
    relations: list[str]
    triples: list[tuple[int, int, int]]
    imported: list[bool]
    triple_passages: list[list[int]]
    passage_triples: list[list[int]]
    mentions: list[dict[int, float]]
    mentioned_in: list[dict[int, float]]
    entity_nodes: list[int]
    walk: list[dict[int, float]]
    sentences: PlainSentences


def plain_snapshot(rows: Sequence[Row], graph: ImportedGraph | None = None, salt: int = 0) -> PlainSnapshot:
    """Return the snapshot of rows of the table, in the form of Python objects."""
    graph = graph or empty_graph()
    in_document_order = sorted(rows, key=lambda row: (row["document_id"].encode(), row["ordinal"]))
    passages = [
        NamedText(r["document_id"], r["title"], r["text"], r["aliases"], r["links"], r["ordinal"] == 0)
        for r in in_document_order
    ]
    corpus = corpus_facts(passages, [_extraction(row) for row in in_document_order], salt)
    order = sorted(range(len(rows)), key=lambda i: in_document_order[i]["id"])
    facts = [corpus.facts[i] for i in order]
    graph_keys, graph_relations = list(graph.keys.texts), list(graph.relations.texts)
    keys = sorted({*corpus.surfaces, *graph_keys}, key=lambda key: key_hash(key, salt))
    number = {key: position for position, key in enumerate(keys)}
    stated = [
        (head, relation, tail, passage) for passage, fact in enumerate(facts) for head, relation, tail in fact.triples
    ]
    relations = sorted(
        {*graph_relations, *(relation for _, relation, _, _ in stated)}, key=lambda text: key_hash(text, salt)
    )
    relation_number = {text: position for position, text in enumerate(relations)}
    passages_of: dict[tuple[int, int, int], set[int]] = {}
    for head, relation, tail, passage in stated:
        passages_of.setdefault((number[head], relation_number[relation], number[tail]), set()).add(passage)
    imported = {
        (number[graph_keys[h]], relation_number[graph_relations[r]], number[graph_keys[t]])
        for h, r, t in graph.triples.tolist()
    }
    triples = sorted({*passages_of, *imported})
    displayed = {key: most_frequent_form(forms) for key, forms in corpus.surfaces.items()}
    displayed |= dict(zip(graph_keys, graph.labels, strict=True))
    mentions = [_mention_row(fact, number) for fact in facts]
    titles = [number[fact.title] if fact.title else -1 for fact in facts]
    mentioned_in = _transposed(mentions, len(keys))
    nodes = _nodes(titles, mentioned_in)
    names = {(hash_, number[key]) for hash_, targets in corpus.names.items() for key in targets}
    own_names = zip(graph.name_hashes.tolist(), graph.name_entities.tolist(), strict=True)
    names |= {(hash_, number[graph_keys[entity]]) for hash_, entity in own_names}
    return PlainSnapshot(
        passage_ids=[in_document_order[i]["id"] for i in order],
        title_entities=titles,
        entities=[displayed[key] for key in keys],
        names=sorted(names),
        relations=relations,
        triples=triples,
        imported=[triple in imported for triple in triples],
        triple_passages=[sorted(passages_of.get(triple, ())) for triple in triples],
        passage_triples=_stated_by(len(facts), [passages_of.get(triple, set()) for triple in triples]),
        mentions=mentions,
        mentioned_in=mentioned_in,
        entity_nodes=nodes,
        walk=_walk(nodes, mentions),
        sentences=plain_sentences(
            [in_document_order[i] for i in order],
            [[(place, number[key]) for place, key in fact.places] for fact in facts],
            titles,
            [len(passages) for passages in mentioned_in],
        ),
    )


def plain_form(arrays: Any) -> PlainSnapshot:
    """Return the arrays of a snapshot in the form of Python objects."""
    return PlainSnapshot(
        passage_ids=list(arrays.passage_ids),
        title_entities=arrays.title_entities.tolist(),
        entities=list(arrays.entities),
        names=list(zip(arrays.name_hashes.tolist(), arrays.name_entities.tolist(), strict=True)),
        relations=list(arrays.relations),
        triples=[(h, r, t) for h, r, t in arrays.triples.tolist()],
        imported=arrays.imported.tolist(),
        triple_passages=_lists(arrays.triple_passages),
        passage_triples=_lists(arrays.passage_triples),
        mentions=_weights(arrays.mentions),
        mentioned_in=_weights(arrays.mentioned_in),
        entity_nodes=arrays.entity_nodes.tolist(),
        walk=_weights(arrays.walk),
        sentences=PlainSentences(
            arrays.sentence_rows.offsets.tolist(),
            *(_lists(getattr(arrays.sentence_rows, name)) for name in SENTENCE_ROWS),
        ),
    )


def most_frequent_form(surface_forms: Counter[str]) -> str:
    """Return the most frequent form of a name; of equally frequent ones the first in code-point order."""
    return min(surface_forms, key=lambda surface: (-surface_forms[surface], surface))


def _extraction(row: Row) -> Extraction:
    mentions = tuple(Mention(m["name"], m["kind"], m["start"], m["end"]) for m in row["mentions"])
    return Extraction(mentions, tuple((t["head"], t["relation"], t["tail"]) for t in row["triples"]))


def _mention_row(fact: PassageFacts, number: Mapping[str, int]) -> dict[int, float]:
    weights = {number[key]: float(np.float32(weight)) for key, weight in fact.mentions}
    if fact.title:
        weights[number[fact.title]] = 1.0
    return dict(sorted(weights.items()))


def _stated_by(count: int, passages: Sequence[set[int]]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(count)]
    for triple, stating in enumerate(passages):
        for passage in stating:
            rows[passage].append(triple)
    return rows


def _transposed(rows: Sequence[Mapping[int, float]], count: int) -> list[dict[int, float]]:
    columns: list[dict[int, float]] = [{} for _ in range(count)]
    for row, weights in enumerate(rows):
        for column, weight in weights.items():
            columns[column][row] = weight
    return columns


def _nodes(titles: Sequence[int], mentioned_in: Sequence[Mapping[int, float]]) -> list[int]:
    titled: dict[int, list[int]] = {}
    for passage, title in enumerate(titles):
        titled.setdefault(title, []).append(passage)
    nodes, next_node = [], len(titles)
    for entity, passages in enumerate(mentioned_in):
        if len(titled.get(entity, ())) == 1:
            nodes.append(titled[entity][0])
        elif len(passages) == 1:
            nodes.append(next(iter(passages)))
        else:
            nodes.append(next_node)
            next_node += 1
    return nodes


def _walk(nodes: Sequence[int], mentions: Sequence[Mapping[int, float]]) -> list[dict[int, float]]:
    rows: list[dict[int, float]] = [{} for _ in range(max([len(mentions), *(node + 1 for node in nodes)]))]
    for passage, weights in enumerate(mentions):
        for entity, weight in weights.items():
            node = nodes[entity]
            if node != passage:
                for one, other in ((passage, node), (node, passage)):
                    rows[one][other] = max(rows[one].get(other, 0.0), weight)
    return [dict(sorted(row.items())) for row in rows]


def _lists(rows: Adjacency) -> list[list[int]]:
    assert (rows.weights == 1).all()
    return [rows.row(i).tolist() for i in range(rows.row_count)]


def _weights(rows: Adjacency) -> list[dict[int, float]]:
    bounds = rows.indptr.tolist()
    return [dict(zip(rows.indices[a:b].tolist(), rows.weights[a:b].tolist(), strict=True)) for a, b in pairwise(bounds)]
