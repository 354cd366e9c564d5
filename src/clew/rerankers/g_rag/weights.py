"""The trained network that reranks, as a folder of weights, and document graphs as what it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clew.errors import InputError
from clew.nn.document_gnn import DocumentBatch, DocumentGNN, DocumentGNNSettings
from clew.rerankers.g_rag.document_graph import DocumentGraph
from clew.store.weights_io import read_weights, write_weights

if TYPE_CHECKING:
    from clew.types import FloatArray

GRAPH_KINDS = ("index", "amr")
"""What connects passages: what an index knows of them, or graphs of meaning."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainedDocumentGNN:
    """A network and what it was trained for.

    Attributes:
        model: In evaluation mode.
        kind: Of the graphs that it reads.
        node_features: Names of what a passage brings, in order; as many as its settings say.
        edge_features: Names of the features of an edge, in order; as many as its settings say.
        encoder: Fingerprint of the encoder whose vectors the graphs were made with.
        about: The recipe and its figures.
    """

    model: DocumentGNN
    kind: str
    node_features: tuple[str, ...]
    edge_features: tuple[str, ...]
    encoder: str
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Changes whenever a score would."""
        told = (asdict(self.model.settings), self.kind, self.node_features, self.edge_features, self.encoder)
        digest = blake2b(repr(told).encode(), digest_size=8)
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
        return f"g-rag-{digest.hexdigest()}"


@dataclass(frozen=True, slots=True)
class FeatureColumns:
    """Which of the numbers and features that graphs have a network reads, by position, in its order.

    Attributes:
        node_features: Positions.
        edge_features: Positions.
    """

    node_features: tuple[int, ...]
    edge_features: tuple[int, ...]

    @classmethod
    def locate(
        cls, wanted: tuple[Sequence[str], Sequence[str]], available: tuple[Sequence[str], Sequence[str]]
    ) -> "FeatureColumns":
        """Return where what is wanted stands among what is present: names of numbers, then of features of edges.

        Raises:
            InputError: Something wanted is not there.
        """
        for names, there in zip(wanted, available, strict=True):
            if missing := [name for name in names if name not in there]:
                raise InputError(
                    f"{missing[0]!r} is no part of these graphs, which have {', '.join(there) or 'none of the kind'}: "
                    "choose among these; weights that read it are of another version of Clew, so train them again"
                )
        found = (tuple(there.index(name) for name in names) for names, there in zip(wanted, available, strict=True))
        return cls(*found)


def collate_graphs(graphs: Sequence[DocumentGraph], columns: FeatureColumns, *, text: bool) -> DocumentBatch:
    """Return graphs, at least one with a passage, side by side as a network reads them.

    Args:
        graphs: Of one or more questions.
        columns: What it reads of them.
        text: Whether it reads vectors.
    """
    most = max(len(graph.node_features) for graph in graphs)
    wide = graphs[0].vectors.shape[1] if text else 0
    count = len(graphs)
    vectors = np.zeros((count, most, wide), dtype=np.float32)
    questions = np.zeros((count, wide), dtype=np.float32)
    numbers = np.zeros((count, most, len(columns.node_features)), dtype=np.float32)
    edges = np.zeros((count, most, most, len(columns.edge_features)), dtype=np.float32)
    present = np.zeros((count, most), dtype=bool)
    for place, graph in enumerate(graphs):
        size = len(graph.node_features)
        present[place, :size] = True
        numbers[place, :size] = graph.node_features[:, columns.node_features]
        edges[place, :size, :size] = graph.edge_features[:, :, columns.edge_features]
        if text:
            vectors[place, :size], questions[place] = graph.vectors, graph.question
    return DocumentBatch(*(torch.from_numpy(array) for array in (vectors, numbers, edges, questions, present)))


def save_reranker(folder: Path, trained: TrainedDocumentGNN) -> None:
    """Write a network into a folder, made when absent.

    Raises:
        ProviderError: The disk refused.
    """
    told = {
        "settings": asdict(trained.model.settings),
        "graph": trained.kind,
        "numbers": list(trained.node_features),
        "edges": list(trained.edge_features),
        "encoder": {"fingerprint": trained.encoder},
        "about": dict(trained.about),
    }
    write_weights(folder, told, {name: t.numpy() for name, t in sorted(trained.model.state_dict().items())})


def load_reranker(folder: Path) -> TrainedDocumentGNN:
    """Read what `save_reranker` wrote.

    Raises:
        ProviderError: A file is missing or damaged, or its arrays are of another network.
    """
    return read_weights(folder, "the network that reranks", _build_model)


def _build_model(config: dict[str, Any], arrays: "dict[str, FloatArray]") -> TrainedDocumentGNN:
    numbers, edges = (tuple(map(str, config[name])) for name in ("numbers", "edges"))
    kind = config["graph"]
    try:
        settings = DocumentGNNSettings(**config["settings"])
    except InputError as error:
        raise ValueError(str(error)) from error
    if kind not in GRAPH_KINDS or settings.edges != len(edges) or settings.numbers != len(numbers):
        raise ValueError(f"it reads {kind} graphs, {len(numbers)} numbers and {len(edges)} features of edges")
    model = DocumentGNN(settings)
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: array.shape for name, array in arrays.items()}
    for name in sorted(found.keys() | shapes.keys()):
        if found.get(name) != shapes.get(name):
            raise ValueError(f"the array {name!r} has the shape {found.get(name)}, wanted {shapes.get(name)}")
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    model.eval()
    return TrainedDocumentGNN(model, kind, numbers, edges, str(config["encoder"]["fingerprint"]), dict(config["about"]))
