"""Locations of trained weights, and the encoders they require, without loading any weights."""

import json
from pathlib import Path

from clew.errors import ProviderError

# Weights shipped with the package, one folder for each retriever.
PRETRAINED_FOLDER = Path(__file__).parents[1] / "weights"
CONFIG_FILE = "config.json"


def read_encoder_fingerprint(folder: Path) -> str:
    """Return the fingerprint of the encoder that weights were trained on; a damaged folder is a ProviderError."""
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        return str(config["encoder"]["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ProviderError(f"the weights in {folder} cannot be read ({error}): install or train them again") from error


def adapted_weights_folder(derived: Path, name: str) -> Path:
    """Return the folder, maybe absent, of weights adapted to an index; unlike `derived` they cannot be recomputed."""
    return derived.parent / "weights" / name
