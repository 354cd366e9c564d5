"""Locations of trained weights, and the encoders they require, without loading any weights."""

import json
from pathlib import Path

from clew.errors import InputError, ProviderError

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


def existing_weights(given: Path, label: str) -> Path:
    """Return a folder of weights that a user names in a setting; raises InputError where it holds none."""
    folder = given.expanduser()
    if not (folder / CONFIG_FILE).is_file():
        if str(given).startswith("hf:") and label.startswith("gfm"):
            raise InputError(
                f"{label} is {str(given)!r}; wanted a folder: import the checkpoint into one by clew weights import "
                "hf:OWNER/NAME --out FOLDER, and give that"
            )
        raise InputError(f"{label} is {str(given)!r}, which holds no {CONFIG_FILE}; give a folder that clew train made")
    return folder
