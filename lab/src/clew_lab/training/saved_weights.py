"""Folders of weights that training writes, for `gcn-subgraph` and the path ranker of `frag`."""

from dataclasses import asdict
from pathlib import Path

from clew.retrievers.frag.path_ranking import ARRAY_NAMES, FEATURES, PathRankerWeights
from clew.retrievers.subgraph.gcn import TrainedScorer
from clew.store.weights_io import write_weights


def save_scorer(folder: Path, trained: TrainedScorer) -> None:
    """Write a network into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {
        "settings": asdict(trained.settings),
        "dimension": trained.dimension,
        "encoder": {"fingerprint": trained.encoder},
        "about": dict(trained.about),
    }
    write_weights(folder, config, dict(sorted(trained.model.arrays.items())))


def save_path_ranker(folder: Path, trained: PathRankerWeights) -> None:
    """Write the head into a folder, which is made if absent; raises ProviderError where it cannot be written."""
    config = {"features": list(FEATURES), "encoder": {"fingerprint": trained.encoder}, "about": dict(trained.about)}
    write_weights(folder, config, {name: getattr(trained, name) for name in ARRAY_NAMES})
