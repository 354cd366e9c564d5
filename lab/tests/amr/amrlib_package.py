"""A fake of the package amrlib, whose models have gigabytes: its models read their replies from a file."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

# Only the used part of amrlib: a model is a folder with a file of one notation per text.
AMRLIB = """
import json
import pathlib
from . import defaults

__version__ = "0.8.1"


class Model:
    def __init__(self, folder, device):
        self.notations = json.loads((pathlib.Path(folder) / "notations.json").read_text())
        if self.notations.get("device", device) != device:
            raise RuntimeError(f"no such device: {device}")

    def parse_sents(self, sents, add_metadata=True):
        assert isinstance(sents, list) and not add_metadata
        if "fails" in sents[0]:
            raise RuntimeError("out of memory\\nat layer 3")
        return [self.notations.get(text) for text in sents]


def load_stog_model(model_dir=None, device="cpu"):
    return Model(model_dir if model_dir is not None else pathlib.Path(defaults.data_dir) / "model_stog", device)
"""


def provide_amrlib(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `import amrlib` find the package, whose default model is the folder `model_stog` of `folder`."""
    package = folder / "packages" / "amrlib"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(AMRLIB, encoding="utf-8")
    (package / "defaults.py").write_text(f"data_dir = {str(folder)!r}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    for name in ("amrlib", "amrlib.defaults"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def write_scripted_model(notations: Mapping[str, str], folder: Path) -> Path:
    """Return the folder of a model with a graph in PENMAN notation for each text; none for others."""
    folder.mkdir(exist_ok=True)
    (folder / "notations.json").write_text(json.dumps(notations), encoding="utf-8")
    return folder
