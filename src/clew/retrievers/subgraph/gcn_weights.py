"""The trained network that selects subgraphs: its weights on disk, and its input batches."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphQuery
from clew.inference.subgraph_network import NodeInput, SubgraphNetwork
from clew.retrievers.subgraph.gcn_features import node_features, node_offsets, walk_prior, walk_shares
from clew.retrievers.subgraph.gcn_settings import ScorerSettings
from clew.retrievers.subgraph.selectors import node_similarity
from clew.store.weights_io import check_layers, read_weights, write_weights


@dataclass(frozen=True, slots=True, eq=False)
class TrainedScorer:
    """A trained network."""

    model: SubgraphNetwork
    settings: ScorerSettings  # its architecture
    encoder: str  # fingerprint of the encoder whose vectors it reads
    dimension: int  # dimension of those vectors
    about: Mapping[str, Any] = field(default_factory=dict)  # training recipe and results

    @property
    def fingerprint(self) -> str:
        """Identifier that changes whenever some score would."""
        digest = blake2b(repr((self.settings, self.encoder)).encode(), digest_size=8)
        for name, array in sorted(self.model.arrays.items()):
            digest.update(name.encode() + array.tobytes())
        return f"subgraph-{digest.hexdigest()}"


def make_node_batch(queries: Sequence[GraphQuery], settings: ScorerSettings) -> NodeInput:
    """Collate at least one question graph to a batch."""
    offsets = node_offsets([len(query.graph.node_vectors) for query in queries])
    walks = [walk_shares(query) for query in queries]
    inputs = [node_features(query, settings.inputs, shares) for query, shares in zip(queries, walks, strict=True)]
    edges = [query.graph.graph.edges.reshape(-1, 2) + shift for query, shift in zip(queries, offsets[:-1], strict=True)]
    return NodeInput(
        np.concatenate(inputs),
        np.concatenate(edges).astype(np.int64),
        np.concatenate([node_similarity(query) for query in queries]),
        np.concatenate([walk_prior(shares) for shares in walks]),
        np.repeat(np.arange(len(queries)), np.diff(offsets)),
        len(queries),
    )


def save_scorer(folder: Path, trained: TrainedScorer) -> None:
    """Write a network into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {
        "settings": asdict(trained.settings),
        "dimension": trained.dimension,
        "encoder": {"fingerprint": trained.encoder},
        "about": dict(trained.about),
    }
    write_weights(folder, config, dict(sorted(trained.model.arrays.items())))


def load_scorer(folder: Path) -> TrainedScorer:
    """Read a folder of `save_scorer`; raises ProviderError where a file is missing, damaged or another network's."""

    def build(config: dict[str, Any], arrays: dict[str, FloatArray]) -> TrainedScorer:
        dimension = int(config["dimension"])
        try:
            settings = ScorerSettings(**config["settings"])
            check_layers(settings.layers, arrays)
            shapes = settings.shapes(dimension)
        except InputError as error:
            raise ValueError(str(error)) from error
        if (seen := {name: array.shape for name, array in arrays.items()}) != shapes:
            raise ValueError(f"arrays {seen}, wanted {shapes}")
        model = settings.network(arrays)
        return TrainedScorer(model, settings, str(config["encoder"]["fingerprint"]), dimension, dict(config["about"]))

    return read_weights(folder, "the network that selects subgraphs", build)
