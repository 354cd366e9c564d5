"""The entities and triples of an index within a filter, numbered from 0, also as objects of networkx and of PyG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clew.arrays import BoolArray, FloatArray, LongArray
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.extras import import_extra, import_package


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A triple."""

    head: int  # numbers of entities of the view
    relation: str
    tail: int
    passages: tuple[str, ...]  # ids of the allowed passages that state it; () for one of an imported graph alone


@dataclass(frozen=True, slots=True, eq=False)
class GraphView:
    """E entities with their names, and T triples of them, in the order of the index."""

    snapshot: Snapshot
    names: Sequence[str]  # of all entities of the index, as the allowed passages write them
    allowed: BoolArray  # passages of the index
    entities: LongArray  # (E,) positions in the index
    triples: LongArray  # (T,) positions in the index

    def labels(self) -> Iterator[str]:
        """Yield the names of the entities; of those with equal names all but the first have a number behind it."""
        taken: set[str] = set()
        for entity in self.entities.tolist():
            name = label = self.names[entity]
            number = 1
            while label in taken:
                number += 1
                label = f"{name} ({number})"
            taken.add(label)
            yield label

    def pairs(self) -> LongArray:
        """Return the head and the tail (2, T) of each triple."""
        number = np.full(len(self.snapshot.entities), -1, dtype=np.int64)
        number[self.entities] = np.arange(len(self.entities))
        ends: LongArray = number[np.asarray(self.snapshot.triples)[self.triples][:, [0, 2]].T]
        return ends

    def edges(self) -> Iterator[GraphEdge]:
        """Yield the triples."""
        s = self.snapshot
        for triple, (head, tail) in zip(self.triples.tolist(), self.pairs().T.tolist(), strict=True):
            stating = (int(p) for p in s.triple_passages.row(triple) if self.allowed[p])
            passages = tuple(s.passage_ids[passage] for passage in stating)
            yield GraphEdge(head, s.relations[int(s.triples[triple, 1])], tail, passages)


def make_networkx(view: GraphView) -> Any:
    """Return a `networkx.MultiDiGraph`: nodes are names, edges have `relation` and the ids of `passages`.

    Raises MissingPackageError without networkx.
    """
    networkx = import_package("networkx", "networkx", "to_networkx")
    graph = networkx.MultiDiGraph()
    labels = list(view.labels())
    graph.add_nodes_from(labels)
    for edge in view.edges():
        head, tail = labels[edge.head], labels[edge.tail]
        graph.add_edge(head, tail, key=edge.relation, relation=edge.relation, passages=edge.passages)
    return graph


def make_pyg(view: GraphView, features: FloatArray | None) -> Any:
    """Return a `torch_geometric.data.Data`.

    It has `edge_index` (2, T), `edge_type` (T,) with the `relation_names` of its numbers, of these triples alone,
    `node_names` (E), and with `features` (E, d) also `x`. Raises MissingPackageError without the extra `train`.
    """
    torch = import_extra("torch", "train", "to_pyg")
    data = import_extra("torch_geometric.data", "train", "to_pyg")
    relations, types = np.unique(np.asarray(view.snapshot.triples)[view.triples][:, 1], return_inverse=True)
    rows = {} if features is None else {"x": torch.from_numpy(np.ascontiguousarray(features))}
    return data.Data(
        edge_index=torch.from_numpy(np.ascontiguousarray(view.pairs())),
        edge_type=torch.from_numpy(types.astype(np.int64)),
        num_nodes=len(view.entities),
        node_names=list(view.labels()),
        relation_names=[view.snapshot.relations[relation] for relation in relations.tolist()],
        **rows,
    )
