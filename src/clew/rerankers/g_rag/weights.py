"""The trained reranking network: its folder of weights, and the collation of document graphs into its input."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.nn.document_gnn import DocumentBatch, DocumentGNN, DocumentGNNSettings
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.store.weights_io import read_weights, write_weights

GRAPH_KINDS = ("index", "amr")
"""Sources of document graphs: the index, or AMR graphs."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedDocumentGNN:
    """A trained network and its inputs."""

    model: DocumentGNN  # the network in evaluation mode
    kind: str  # kind of its document graphs, of `GRAPH_KINDS`
    node_features: tuple[str, ...]  # names of the node features it reads, in order
    edge_features: tuple[str, ...]  # names of the edge features it reads, in order
    encoder: str  # fingerprint of the encoder of the graphs' vectors
    about: Mapping[str, Any] = field(default_factory=dict)  # training recipe and figures

    @property
    def fingerprint(self) -> str:
        """Changes whenever a score would."""
        inputs = (asdict(self.model.settings), self.kind, self.node_features, self.edge_features, self.encoder)
        digest = blake2b(repr(inputs).encode(), digest_size=8)
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
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


def collate_graphs(graphs: Sequence[DocumentGraph], columns: FeatureColumns, *, text: bool) -> DocumentBatch:
    """Pad graphs, at least one with a passage, to one batch; `text` adds the text vectors."""
    most = max(len(graph.node_features) for graph in graphs)
    width = graphs[0].vectors.shape[1] if text else 0
    count = len(graphs)
    vectors = np.zeros((count, most, width), dtype=np.float32)
    questions = np.zeros((count, width), dtype=np.float32)
    nodes = np.zeros((count, most, len(columns.node_features)), dtype=np.float32)
    edges = np.zeros((count, most, most, len(columns.edge_features)), dtype=np.float32)
    present = np.zeros((count, most), dtype=bool)
    for place, graph in enumerate(graphs):
        size = len(graph.node_features)
        present[place, :size] = True
        nodes[place, :size] = graph.node_features[:, columns.node_features]
        edges[place, :size, :size] = graph.edge_features[:, :, columns.edge_features]
        if text:
            vectors[place, :size], questions[place] = graph.vectors, graph.question
    return DocumentBatch(*(torch.from_numpy(array) for array in (vectors, nodes, edges, questions, present)))


def save_reranker(folder: Path, trained: TrainedDocumentGNN) -> None:
    """Write a network into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {
        "settings": asdict(trained.model.settings),
        "graph": trained.kind,
        "numbers": list(trained.node_features),
        "edges": list(trained.edge_features),
        "encoder": {"fingerprint": trained.encoder},
        "about": dict(trained.about),
    }
    write_weights(folder, config, {name: t.numpy() for name, t in sorted(trained.model.state_dict().items())})


def load_reranker(folder: Path) -> TrainedDocumentGNN:
    """Read a network of `save_reranker`; raises ProviderError where a file is missing, damaged or another network's."""
    return read_weights(folder, "the network that reranks", _build_model)


def _build_model(config: dict[str, Any], arrays: dict[str, FloatArray]) -> TrainedDocumentGNN:
    nodes, edges = (tuple(map(str, config[name])) for name in ("numbers", "edges"))
    kind = config["graph"]
    try:
        settings = DocumentGNNSettings(**config["settings"])
    except InputError as error:
        raise ValueError(str(error)) from error
    if kind not in GRAPH_KINDS or settings.edges != len(edges) or settings.numbers != len(nodes):
        raise ValueError(f"its graphs are {kind!r} with {len(nodes)} node features and {len(edges)} edge features")
    model = DocumentGNN(settings)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    for name in sorted(arrays.keys() | shapes.keys()):
        shape = arrays[name].shape if name in arrays else None
        if shape != shapes.get(name):
            raise ValueError(f"the array {name!r} has the shape {shape}, wanted {shapes.get(name)}")
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    model.eval()
    return TrainedDocumentGNN(model, kind, nodes, edges, str(config["encoder"]["fingerprint"]), dict(config["about"]))
