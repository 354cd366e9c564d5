"""The trained network that selects subgraphs, as a folder of weights, and question graphs as what it reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphQuery
from clew.nn.subgraph_policy import PRODUCT, SUM, NodeBatch, SubgraphScorer
from clew.retrievers.subgraph.gcn_features import (
    QUESTION,
    TEXT,
    feature_width,
    node_features,
    node_offsets,
    node_similarities,
    walk_prior,
    walk_shares,
)
from clew.store.weights_io import read_weights, write_weights

if TYPE_CHECKING:
    from clew.types import FloatArray


@dataclass(frozen=True, slots=True)
class ScorerSettings:
    """The shape of a network that selects subgraphs.

    Attributes:
        inputs: `text` (the source's) or `question` (what is known of the node's place to the question, too).
        combination: `product` (the source's) or `sum`.
        width: Of the hidden layers.
        layers: At least 2.
        stops: Whether a selection may end before the budget is spent.
    """

    inputs: str = QUESTION
    combination: str = SUM
    width: int = 64
    layers: int = 2
    stops: bool = False

    def __post_init__(self) -> None:
        """Refuse what no network is made of."""
        for name, seen, known in (
            ("inputs", self.inputs, (TEXT, QUESTION)),
            ("combination", self.combination, (PRODUCT, SUM)),
        ):
            if seen not in known:
                raise InputError(f"{name} is {seen!r}: wanted {' or '.join(known)}")

    def build_network(self, dimension: int, seed: int) -> SubgraphScorer:
        """Return an untrained network for vectors of some dimension; equal seeds give equal ones.

        Raises:
            InputError: There are fewer than 2 layers, or a width below 1.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            inputs = feature_width(self.inputs, dimension)
            return SubgraphScorer(inputs, self.width, self.layers, self.combination, stops=self.stops)


@dataclass(frozen=True, slots=True, eq=False)
class TrainedScorer:
    """A network and what it was trained for.

    Attributes:
        model: In evaluation mode.
        settings: Its shape.
        encoder: Fingerprint of the encoder whose vectors it reads.
        dimension: Of those vectors.
        about: The recipe and its figures.
    """

    model: SubgraphScorer
    settings: ScorerSettings
    encoder: str
    dimension: int
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Changes whenever a score would."""
        digest = blake2b(repr((self.settings, self.encoder)).encode(), digest_size=8)
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
        return f"subgraph-{digest.hexdigest()}"


def make_node_batch(asked: Sequence[GraphQuery], settings: ScorerSettings) -> NodeBatch:
    """Return question graphs, at least one, side by side as the network reads them."""
    begins = node_offsets([len(one.graph.node_vectors) for one in asked])
    walks = [walk_shares(one) for one in asked]
    inputs = [node_features(one, settings.inputs, shares) for one, shares in zip(asked, walks, strict=True)]
    edges = [one.graph.graph.edges.reshape(-1, 2) + begin for one, begin in zip(asked, begins[:-1], strict=True)]
    return NodeBatch(
        torch.from_numpy(np.concatenate(inputs)),
        torch.from_numpy(np.concatenate(edges).astype(np.int64)),
        torch.from_numpy(np.concatenate([node_similarities(one) for one in asked])),
        torch.from_numpy(np.concatenate([walk_prior(shares) for shares in walks])),
        torch.from_numpy(np.repeat(np.arange(len(asked)), np.diff(begins))),
        len(asked),
    )


def save_scorer(folder: Path, trained: TrainedScorer) -> None:
    """Write a network into a folder, made when absent.

    Raises:
        ProviderError: The disk refused.
    """
    told = {
        "settings": asdict(trained.settings),
        "dimension": trained.dimension,
        "encoder": {"fingerprint": trained.encoder},
        "about": dict(trained.about),
    }
    write_weights(folder, told, {name: t.numpy() for name, t in sorted(trained.model.state_dict().items())})


def load_scorer(folder: Path) -> TrainedScorer:
    """Read what `save_scorer` wrote.

    Raises:
        ProviderError: A file is missing or damaged, or its arrays are of another network.
    """

    def made(config: dict[str, Any], arrays: "dict[str, FloatArray]") -> TrainedScorer:
        dimension = int(config["dimension"])
        try:
            settings = ScorerSettings(**config["settings"])
            model = settings.build_network(dimension, 0)
        except InputError as error:
            raise ValueError(str(error)) from error
        shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
        if (found := {name: array.shape for name, array in arrays.items()}) != shapes:
            raise ValueError(f"arrays {found}, wanted {shapes}")
        model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        model.eval()
        return TrainedScorer(model, settings, str(config["encoder"]["fingerprint"]), dimension, dict(config["about"]))

    return read_weights(folder, "the network that selects subgraphs", made)
