"""The trained reranking network: its folder of weights, and the collation of document graphs into its input."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.inference.document_network import NUMPY_NETWORKS, DocumentGNNSettings, DocumentInput, DocumentNetwork
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.store.weights_io import check_layers, read_weights, write_weights

GRAPH_KINDS = ("index", "amr")
"""Sources of document graphs: the index, or AMR graphs."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedDocumentGNN:
    """A trained network and its inputs."""

    model: DocumentNetwork
    kind: str  # kind of its document graphs, of `GRAPH_KINDS`
    node_features: tuple[str, ...]  # names of the node features it reads, in order
    edge_features: tuple[str, ...]  # names of the edge features it reads, in order
    encoder: str  # fingerprint of the encoder of the graphs' vectors
    about: Mapping[str, Any] = field(default_factory=dict)  # training recipe and figures

    @property
    def fingerprint(self) -> str:
        """Changes whenever a score would."""
        inputs = (
            self.model.settings.stored_settings(),
            self.kind,
            self.node_features,
            self.edge_features,
            self.encoder,
        )
        digest = blake2b(repr(inputs).encode(), digest_size=8)
        for name, array in sorted(self.model.arrays.items()):
            digest.update(name.encode() + array.tobytes())
        return f"g-rag-{digest.hexdigest()}"


@dataclass(frozen=True, slots=True)
class FeatureColumns:
    """Positions of a network's features among those of the graphs, in the network's order."""

    node_features: tuple[int, ...]
    edge_features: tuple[int, ...]

    @classmethod
    def locate(
        cls, wanted: tuple[Sequence[str], Sequence[str]], available: tuple[Sequence[str], Sequence[str]]
    ) -> "FeatureColumns":
        """Locate the wanted features; both arguments are names of node features, then of edge features."""
        columns: list[tuple[int, ...]] = []
        for names, present in zip(wanted, available, strict=True):
            if missing := [name for name in names if name not in present]:
                raise InputError(
                    f"{missing[0]!r} is no feature of these graphs, which have {', '.join(present) or 'none'}: choose "
                    "among these; weights that need it are of another version of Clew, so train them again"
                )
            columns.append(tuple(present.index(name) for name in names))
        return cls(*columns)

    def select(self, graph: DocumentGraph, *, text: bool) -> DocumentInput:
        """Return a network's input of a graph; `text` adds the text vectors."""
        nodes = np.asarray(graph.node_features[:, self.node_features], dtype=np.float32)
        edges = np.asarray(graph.edge_features[:, :, self.edge_features], dtype=np.float32)
        if text:
            return DocumentInput(graph.vectors, nodes, edges, graph.question)
        return DocumentInput(np.zeros((len(nodes), 0), np.float32), nodes, edges, np.zeros(0, np.float32))


def save_reranker(folder: Path, trained: TrainedDocumentGNN) -> None:
    """Write a network into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {
        "settings": trained.model.settings.stored_settings(),
        "graph": trained.kind,
        "numbers": list(trained.node_features),
        "edges": list(trained.edge_features),
        "encoder": {"fingerprint": trained.encoder},
        "about": dict(trained.about),
    }
    write_weights(folder, config, dict(sorted(trained.model.arrays.items())))


Shapes = Callable[[DocumentGNNSettings], Mapping[str, tuple[int, ...]]]
"""Shapes of a network's arrays by name."""


def load_reranker(folder: Path, shapes: Shapes | None = None) -> TrainedDocumentGNN:
    """Read a network of `save_reranker`; `shapes` are those of networks that another package runs.

    Raises ProviderError where a file is missing, damaged or another network's, and InputError for a network that is not
    among `NUMPY_NETWORKS` without `shapes`.
    """
    return read_weights(folder, "the network that reranks", partial(_build_model, shapes))


def _build_model(shapes_of: Shapes | None, config: dict[str, Any], arrays: dict[str, FloatArray]) -> TrainedDocumentGNN:
    nodes, edges = (tuple(map(str, config[name])) for name in ("numbers", "edges"))
    kind = config["graph"]
    try:
        settings = DocumentGNNSettings(**config["settings"])
    except InputError as error:
        raise ValueError(str(error)) from error
    check_layers(settings.layers, arrays)
    if kind not in GRAPH_KINDS or settings.edges != len(edges) or settings.numbers != len(nodes):
        raise ValueError(f"its graphs are {kind!r} with {len(nodes)} node features and {len(edges)} edge features")
    if shapes_of is None and settings.network not in NUMPY_NETWORKS:
        raise InputError(
            f"g-rag: a network of the kind {settings.network!r}; wanted one of {', '.join(NUMPY_NETWORKS)}: use "
            "g-rag-amr, which the package clew-lab adds"
        )
    shapes = settings.shapes() if shapes_of is None or settings.network in NUMPY_NETWORKS else shapes_of(settings)
    for name in sorted(arrays.keys() | shapes.keys()):
        shape = arrays[name].shape if name in arrays else None
        if shape != shapes.get(name):
            raise ValueError(f"the array {name!r} has the shape {shape}, wanted {shapes.get(name)}")
    model = DocumentNetwork(settings, arrays)
    return TrainedDocumentGNN(model, kind, nodes, edges, str(config["encoder"]["fingerprint"]), dict(config["about"]))
