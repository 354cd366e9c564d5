"""The imported graphs of a passages table, as a snapshot takes them: their triples and names, and stated mentions."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from clew.arrays import IntArray
from clew.arrays.mapped_files import return_free_memory
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.graph.snapshot.snapshot import Snapshot
from clew.indexing.kg_formats.entities import GraphTexts, build_imported_graph, default_label
from clew.store.kg_shards import DECISION_SHARD, MENTION_SHARD, NAME_SHARD, TRIPLE_SHARD, shard_triples, stored_graphs
from clew.store.passage_table import PassageTable
from clew.types import Progress


def read_imported_graph(table: PassageTable, progress: Progress, salt: int) -> ImportedGraph | None:
    """Return the triples and names of all imported graphs of a table, hashed with a salt; None where it has neither."""
    graphs, done = GraphTexts(), 0
    for rows in table.iter_shards():
        for kind, triples in shard_triples(rows):
            if kind in (MENTION_SHARD, DECISION_SHARD):
                continue
            add = {TRIPLE_SHARD: graphs.add_triples, NAME_SHARD: graphs.add_names}[kind]
            add(triples)
            done += len(triples)
        progress("reading graphs", done, 0)
    if not done:
        return None
    pa.default_memory_pool().release_unused()
    return_free_memory()
    return build_imported_graph(graphs, salt)


class UnmatchedMentions(NamedTuple):
    """Numbers of the mentions that imported graphs state, and that an index cannot place."""

    entities: int  # those whose entity alone it lacks
    places: int  # those whose place alone it lacks
    both: int


def match_mentions(table: PassageTable, snapshot: Snapshot) -> tuple[IntArray, IntArray, UnmatchedMentions]:
    """Return passages and entities (m,) of the mentions that imported graphs state, and how many match nothing.

    A place is the id of a passage, or of a document, which stands for all its passages. An entity is found by its id,
    or by its label where the id is an address.
    """
    places: dict[str, list[int]] = {}
    for position, (id_, document) in enumerate(zip(snapshot.passage_ids, snapshot.document_ids, strict=True)):
        for name in {id_, document}:
            places.setdefault(name, []).append(position)
    entities: dict[str, list[int]] = {}
    passages, mentioned, lacking = [], [], Counter[tuple[bool, bool]]()
    for rows in table.iter_shards():
        for kind, triples in shard_triples(rows):
            for mention in triples.to_pylist() if kind == MENTION_SHARD else ():
                id_, place = mention["head"], mention["tail"]
                if id_ not in entities:
                    found = snapshot.entities_with_name(id_)
                    entities[id_] = (found if len(found) else snapshot.entities_with_name(default_label(id_))).tolist()
                lacking[not entities[id_], place not in places] += 1
                for passage in places.get(place, ()):
                    passages += [passage] * len(entities[id_])
                    mentioned += entities[id_]
    unmatched = UnmatchedMentions(lacking[True, False], lacking[False, True], lacking[True, True])
    return np.array(passages, dtype=np.int32), np.array(mentioned, dtype=np.int32), unmatched


def has_mentions(table: PassageTable) -> bool:
    """Return whether an imported graph of a table states mentions."""
    return any(graph.mentions for graph in stored_graphs(table.iter_shards(["metadata"])))
