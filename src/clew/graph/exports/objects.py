"""Graphs as objects of networkx and PyTorch Geometric, which are imported when one is made."""

from typing import Any

import numpy as np

from clew.arrays import FloatArray
from clew.graph.exports.view import GraphView
from clew.plugins.extras import import_extra, import_package


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
