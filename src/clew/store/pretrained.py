"""Where trained weights lie, and which indexes they fit; nothing heavy is loaded to know that."""

import json
from pathlib import Path

from clew.errors import ProviderError

PRETRAINED_FOLDER = Path(__file__).parents[1] / "weights"
"""The weights of the package, a folder a retriever."""

CONFIG_FILE = "config.json"


def read_encoder_fingerprint(folder: Path) -> str:
    """Return the fingerprint of the encoder whose vectors a folder of weights reads.

    Raises:
        ProviderError: The folder's configuration is missing or damaged.
    """
    try:
        config = json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        return str(config["encoder"]["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProviderError(f"the weights in {folder} cannot be read ({error}): install or train them again") from error


def adapted_weights_folder(derived: Path, name: str) -> Path:
    """Return the folder of the weights that were adapted to an index, whether they are there or not.

    Args:
        derived: The index's folder of what is derived; the weights lie beside it, for they cannot be made again.
        name: Of the retriever.
    """
    return derived.parent / "weights" / name
