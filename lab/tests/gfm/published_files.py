"""Checkpoints of the published form with random weights, for tests that read them."""

import json
from pathlib import Path
from typing import Any

import torch

from clew.inference.query_network import QueryGNNSettings
from clew.nn.query_gnn import QueryGNN


def write_checkpoint(
    folder: Path, config: dict[str, Any], shape: QueryGNNSettings, **changes: Any
) -> dict[str, torch.Tensor]:
    """Write a checkpoint of random weights in the published form, and return its weights."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(3)
    tensors = {name: value.detach().clone() for name, value in QueryGNN(shape).state_dict().items()}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    torch.save({"model": tensors, **changes}, folder / "model.pth")
    return tensors
