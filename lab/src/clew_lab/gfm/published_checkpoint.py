"""Conversion of published checkpoints of GFM-RAG and G-reasoner, `config.json` and `model.pth`, to our weights.

Two generations of the configuration are read: one has `rel_emb_dim` and `text_emb_model_config`, the other `feat_dim`
and `dataset_config`. A G-reasoner is of the second, names the class `GraphReasoner`, and says by `use_ent_emb` where
the texts of nodes enter; it scores documents, and its named entities all start alike. Names of classes are looked up in
a table here and never imported; the tensors are read without running any code. The encoder, its normalisation and its
prompts come from the configuration.

Source: the authors' code of GFM-RAG and G-reasoner, for keys and shapes. Differs from the source: rankers that weigh
entities by their score add up probabilities, and not logits; without a ranker in the configuration ours is taken.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from pickle import UnpicklingError  # raised for files that hold more than tensors; nothing is unpickled here
from typing import Any

import torch

from clew.errors import InputError
from clew.inference.query_network import QueryGNNSettings, QueryNetwork
from clew.retrievers.gfm.settings import EntityForm, Seeds
from clew.retrievers.gfm.weights import TextEncoder, TrainedGNN
from clew_lab.gfm.entity_graphs import PUBLISHED_ENTITIES
from clew_lab.models.hub_files import fetch_files

CONFIG, TENSORS = "config.json", "model.pth"
HUB = "hf:"
_MODEL_CLASSES = ("GNNRetriever", "QueryGNN", "UltraQuery")
_REASONER_CLASS = "GraphReasoner"
_FUSIONS = {"early-fusion": "early", "late-fusion": "late", "early-late-fusion": "early-late"}
_ENTITY_MODEL_CLASSES = ("QueryNBFNet",)
_SEED_SWITCHES = ("init_entities_weight", "init_nodes_weight")  # of the first and of the second generation
# Whether only the best entities count, all the same, and whether rare ones count more.
_RANKERS = {
    "SimpleRanker": (False, False),
    "IDFRanker": (False, True),
    "IDFWeightedRanker": (False, True),
    "TopKRanker": (True, False),
    "IDFWeightedTopKRanker": (True, True),
}
_ON, _OFF = ("yes", "True", "1"), ("no", "False", "0")
# Other values of these options of `entity_model` compute another function than ours; the first is that of the source.
_SUPPORTED = {
    "short_cut": _ON,
    "layer_norm": _ON,
    "message_func": ("distmult", "transe"),
    "aggregate_func": ("sum", "mean"),
    "activation": ("relu",),
}


def locate_checkpoint(place: str) -> Path:
    """Return the folder of a checkpoint: a folder, or `hf:owner/name`, `hf:owner/name@revision` on the hub.

    Raises as `fetch_files`.
    """
    name = place.removeprefix(HUB)
    return fetch_files(name, (CONFIG, TENSORS), "GFM-RAG checkpoint") if name != place else Path(place)


def load_published_checkpoint(folder: Path) -> TrainedGNN:
    """Return the network of a published checkpoint, to score entities or documents of the whole graph.

    Raises InputError where the folder holds no such checkpoint, its model is not supported, its tensors do not fit, or
    a file is damaged.
    """
    config = _read_config(folder)
    model_config = _read_section(config, "model_config", folder)
    settings = _parse_settings(model_config, folder)
    tensors = _read_tensors(folder)
    _check_tensors(tensors, settings.shapes(), folder)
    model = QueryNetwork(settings, {name: value.float().numpy() for name, value in tensors.items()})
    _check_dataset(config, settings, folder)
    encoder = _parse_encoder(config, folder)
    if settings.fusion:
        return TrainedGNN(model, "documents", encoder, None, "", form=EntityForm("plain"))
    form = _parse_form(config, model_config, folder)
    return TrainedGNN(model, "entities", encoder, None, "", form=form)


def _read_config(folder: Path) -> dict[str, Any]:
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{folder} has no {CONFIG}: give the folder of a GFM-RAG checkpoint") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{folder / CONFIG} cannot be read ({error}): fetch the checkpoint again") from error
    if not isinstance(config, dict):
        raise InputError(f"{folder / CONFIG} holds a {type(config).__name__}; wanted an object with 'model_config'")
    return config


def _read_section(config: dict[str, Any], name: str, folder: Path) -> dict[str, Any]:
    section = config.get(name)
    if not isinstance(section, dict):
        raise InputError(f"{folder / CONFIG} has no {name!r}: give the folder of a GFM-RAG checkpoint")
    return section


def _parse_settings(config: dict[str, Any], folder: Path) -> QueryGNNSettings:
    inner = _read_section(config, "entity_model", folder)
    fusion = _parse_fusion(config, inner, folder)
    for part, supported in (
        (config, (_REASONER_CLASS,) if fusion else _MODEL_CLASSES),
        (inner, _ENTITY_MODEL_CLASSES),
    ):
        target = str(part.get("_target_", supported[0]))
        if target.rpartition(".")[2] not in supported:
            raise InputError(f"{folder / CONFIG} names the class {target!r}; wanted {' or '.join(supported)}")
    for name, values in _SUPPORTED.items():
        _check_value(inner, name, values, folder)
    hidden = inner.get("hidden_dims")
    width = inner.get("input_dim")
    text_width = config.get("feat_dim", config.get("rel_emb_dim"))
    is_uniform = isinstance(hidden, list) and hidden and all(h == width for h in hidden)
    if not is_uniform or not _is_count(width) or not _is_count(text_width):
        raise InputError(
            f"{folder / CONFIG} has input_dim {width!r}, hidden_dims {hidden!r} and a text width of {text_width!r}; "
            "wanted whole numbers, all hidden_dims equal to input_dim"
        )
    assert isinstance(hidden, list)
    assert isinstance(width, int)
    assert isinstance(text_width, int)
    message = str(inner.get("message_func", "distmult"))
    aggregate = "mean-code" if inner.get("aggregate_func") == "mean" else "sum"
    return QueryGNNSettings(width, text_width, len(hidden), message=message, aggregate=aggregate, fusion=fusion)


def _check_value(section: dict[str, Any], name: str, supported: Sequence[str], folder: Path) -> None:
    """Raise InputError where a section has another value than those supported; without one it has the first."""
    if str(section.get(name, supported[0])) not in supported:
        raise InputError(
            f"{folder / CONFIG} has {name} = {section[name]!r}, which is not read; wanted {' or '.join(supported)}"
        )


def _parse_fusion(config: dict[str, Any], inner: dict[str, Any], folder: Path) -> str:
    """Return where the texts of nodes enter, "" for a model that does not read them."""
    given = config.get("use_ent_emb")
    is_reasoner = str(config.get("_target_", "")).rpartition(".")[2] == _REASONER_CLASS
    if given is None and not is_reasoner:
        return ""
    _check_value({"use_ent_emb": given}, "use_ent_emb", tuple(_FUSIONS), folder)
    fusion = _FUSIONS[str(given)]
    _check_value({"return_hidden": False, **inner}, "return_hidden", _ON if "late" in fusion else _OFF, folder)
    return fusion


def _check_dataset(config: dict[str, Any], settings: QueryGNNSettings, folder: Path) -> None:
    """Raise InputError where a configuration makes its inputs in another way than we do."""
    wanted = {"inverse_relation_feat": ("text", "None"), "use_relation_feat": ("True", "1", "None")}
    if settings.fusion:
        wanted["use_node_feat"] = ("True", "1", "None")
    for section in _nested_objects([config.get("dataset_config")]):
        for name, supported in wanted.items():
            _check_value(section, name, supported, folder)


def _parse_form(config: dict[str, Any], model_config: dict[str, Any], folder: Path) -> EntityForm:
    """Return the weights of seeds and the ranking of passages that a configuration names, or ours where it names none.

    Theirs add up logits where ours add up probabilities, in the rankers that weigh entities by their score.
    """
    switches = {name: model_config[name] for name in _SEED_SWITCHES if name in model_config}
    if wrong := [name for name, value in switches.items() if type(value) is not bool]:
        raise InputError(f"{folder / CONFIG} has {wrong[0]} = {switches[wrong[0]]!r}; wanted true or false")
    if len(set(switches.values())) > 1:
        raise InputError(f"{folder / CONFIG} has {switches}: wanted the same for both")
    seeds: Seeds = "rarity" if all(switches.values()) else "plain"
    given = next((s["ranker"] for s in (model_config, config) if s.get("ranker") is not None), None)
    if given is None:
        return EntityForm(seeds)
    ranker = given if isinstance(given, dict) else {"_target_": given}
    name = str(ranker.get("_target_", "")).rpartition(".")[2]
    if name not in _RANKERS:
        raise InputError(f"{folder / CONFIG} has the ranker {given!r}; wanted one of {', '.join(_RANKERS)}")
    best, rarity = _RANKERS[name]
    top = ranker.get("top_k", PUBLISHED_ENTITIES)
    if not _is_count(top):
        raise InputError(f"{folder / CONFIG} has a ranker with top_k = {top!r}; wanted a whole number of at least 1")
    return EntityForm(seeds, "paper" if best else "weighted", top if best else None, rarity)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _read_tensors(folder: Path) -> dict[str, torch.Tensor]:
    path = folder / TENSORS
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InputError(f"{folder} has no {TENSORS}: give the folder of a GFM-RAG checkpoint") from error
    except (OSError, RuntimeError, EOFError, ValueError, KeyError, UnpicklingError) as error:
        reason = str(error) if isinstance(error, OSError) else "it is damaged, or holds more than tensors"
        raise InputError(f"{path} cannot be read as plain tensors ({reason}): fetch the checkpoint again") from error
    tensors = state.get("model") if isinstance(state, dict) else None
    if not isinstance(tensors, dict) or not all(isinstance(value, torch.Tensor) for value in tensors.values()):
        raise InputError(f"{path} holds no tensors under the key 'model': give the folder of a GFM-RAG checkpoint")
    return tensors


def _check_tensors(tensors: dict[str, torch.Tensor], expected: dict[str, tuple[int, ...]], folder: Path) -> None:
    if unexpected := [name for name, value in tensors.items() if value.layout != torch.strided or value.is_complex()]:
        raise InputError(f"{folder / TENSORS}: {unexpected[0]} is no plain tensor of real numbers: it is another model")
    actual = {name: tuple(value.shape) for name, value in tensors.items()}
    if missing := sorted(expected.keys() - actual.keys()):
        raise InputError(
            f"{folder / TENSORS} lacks {', '.join(missing[:3])} ({len(missing)} keys): it is another model"
        )
    if unexpected := sorted(actual.keys() - expected.keys()):
        raise InputError(
            f"{folder / TENSORS} has {', '.join(unexpected[:3])} ({len(unexpected)} keys), which the model of its "
            f"{CONFIG} has not: it is another model"
        )
    if wrong := sorted(name for name in expected if expected[name] != actual[name]):
        raise InputError(
            f"{folder / TENSORS}: {wrong[0]} has shape {actual[wrong[0]]}; its {CONFIG} wants {expected[wrong[0]]}"
        )
    if broken := [name for name, value in tensors.items() if not torch.isfinite(value).all()]:
        raise InputError(f"{folder / TENSORS}: {broken[0]} holds NaN or infinite numbers: fetch the checkpoint again")


def _parse_encoder(config: dict[str, Any], folder: Path) -> TextEncoder:
    """Return the encoder: the first part of the configuration that names one."""
    for section in _nested_objects([config.get("text_emb_model_config"), config.get("dataset_config"), config]):
        name = section.get("text_emb_model_name")
        if isinstance(name, str) and name:
            query, text = section.get("query_instruct") or "", section.get("passage_instruct") or ""
            return TextEncoder(name, "", bool(section.get("normalize", False)), str(query), str(text))
    raise InputError(f"{folder / CONFIG} names no text_emb_model_name: the encoder of the checkpoint is not known")


def _nested_objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _nested_objects(item)
