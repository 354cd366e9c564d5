"""Checkpoints of the published form with random weights, for tests that read them."""

import json
from pathlib import Path
from typing import Any

import torch

from clew.index import Index
from clew.inference.query_network import QueryGNNSettings
from clew.nn.query_gnn import QueryGNN
from clew_lab.graph.synonyms import load_synonyms


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


def entity_model(**changes: Any) -> dict[str, Any]:
    """Return the section of a configuration for six layers of width 8."""
    switches = {"message_func": "distmult", "aggregate_func": "sum", "short_cut": "yes", "layer_norm": "yes"}
    target = "gfmrag.models.ultra.models.QueryNBFNet"
    return {"_target_": target, "input_dim": 8, "hidden_dims": [8] * 6, **switches, **changes}


def stated_facts(index: Index) -> list[tuple[str, str, str]]:
    """Return head, relation and tail of the triples between different entities, then of names of one thing."""
    s, synonyms = index.snapshot, load_synonyms(index.context)
    names = list(s.entities)
    facts = [(names[h], s.relations[r], names[t]) for h, r, t in s.triples.tolist() if h != t]
    same = [(a, b) for a in range(len(names)) for b in synonyms.row(a).tolist()]
    return facts + [(names[a], "equivalent", names[b]) for a, b in same]
