"""Trained weights of the graph neural network: a folder with `config.json` and the file of tensors that it names.

The configuration holds plain numbers and names, which are checked; it never names a class to construct. It is replaced
last, so a folder holds either the old weights or the new ones, whenever a run is killed.
"""

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from clew.errors import InputError, ProviderError
from clew.inference.query_network import FUSIONS, QueryGNNSettings, QueryNetwork
from clew.query.chain_search import CHAIN_FEATURES
from clew.query.entity_linker import LinkerMethod
from clew.retrievers.gfm.passage_graphs import FEATURES
from clew.retrievers.gfm.settings import EntityForm, Ranker, Seeds, Targets
from clew.store.atomic import atomic_file
from clew.store.weights_io import (
    CHECKSUM_KEY,
    CONFIG_FILE,
    adapted_weights_folder,
    add_checksum,
    check_checksum,
    check_layers,
)

TENSORS = "model.safetensors"
WEIGHTS_FORMAT = 2
_FILE = re.compile(r"model(?:-[0-9a-f]{16})?\.safetensors")


@dataclass(frozen=True, slots=True)
class TextEncoder:
    """The encoder of a network's questions and relations."""

    name: str  # name, as for `clew index --encoder`
    fingerprint: str = ""  # fingerprint of its weights; "" when unknown, as for weights from elsewhere
    normalize: bool = True  # whether rows are normalised to unit length
    query: str = ""  # prefix of a question
    text: str = ""  # prefix of a relation


@dataclass(frozen=True, slots=True)
class TrainedGNN:
    """A trained network."""

    model: QueryNetwork
    targets: Targets  # the nodes that it scores
    encoder: TextEncoder  # the encoder whose vectors it reads
    nodes: int | None  # number of nodes of the question graphs in training; None for the whole graph
    key: str  # identifier of weights and configuration
    chains: bool = False  # whether nodes have features of the chains of sentences
    form: EntityForm = field(default_factory=EntityForm)  # seeds and ranking of passages, where the nodes are entities


def load_weights(folder: Path) -> TrainedGNN:
    """Read a folder of weights.

    Raises InputError where the folder holds no weights, or weights of another format, a file is damaged, or tensors do
    not fit the configuration or are not finite.
    """
    config = _read_file(folder / CONFIG_FILE, lambda path: json.loads(path.read_text(encoding="utf-8")))
    if not isinstance(config, dict) or config.get("format") != WEIGHTS_FORMAT:
        raise InputError(
            f"{folder / CONFIG_FILE} is not of format {WEIGHTS_FORMAT}: train the weights again, or update Clew"
        )
    file = config.get("tensors", TENSORS)
    if not isinstance(file, str) or not _FILE.fullmatch(file):
        raise InputError(
            f"{folder / CONFIG_FILE} names the tensors {file!r}; wanted {TENSORS}: train the weights again"
        )
    stored = config.pop(CHECKSUM_KEY, None)
    packed = _read_file(folder / file, Path.read_bytes)
    tensors = _read_file(folder / file, lambda _: load(packed))
    settings = _parse_settings(config, folder)
    try:
        check_layers(settings.layers, tensors)
    except ValueError as error:
        raise InputError(f"{folder / CONFIG_FILE} has {error}: these are the weights of another model") from error
    expected, actual = settings.shapes(), {name: value.shape for name, value in tensors.items()}
    if wrong := sorted(name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)):
        shape, expected_shape = actual.get(wrong[0], "none"), expected.get(wrong[0], "none")
        raise InputError(
            f"the tensor {wrong[0]} in {folder / TENSORS} has shape {shape}, wanted is {expected_shape} "
            f"({len(wrong)} do not fit): these are the weights of another model"
        )
    if broken := [name for name, value in tensors.items() if not np.isfinite(value).all()]:
        raise InputError(f"the tensor {broken[0]} in {folder / TENSORS} holds NaN or infinite numbers: train again")
    _read_file(folder / CONFIG_FILE, lambda _: check_checksum(config, packed, stored))
    model = QueryNetwork(settings, {name: value.astype(np.float32) for name, value in tensors.items()})
    return TrainedGNN(
        model,
        config["targets"],
        TextEncoder(**config["encoder"]),
        config["nodes"],
        _weights_key(tensors, config),
        config.get("chains", False),
        EntityForm(**config.get("form", {})),
    )


def _read_file(path: Path, read: Callable[[Path], Any]) -> Any:
    if not path.is_file():
        raise InputError(
            f"{path.parent} holds no weights ({path.name} is missing): give a folder made by `clew train gfm`"
        )
    try:
        return read(path)
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise InputError(f"the weights in {path} cannot be read ({error}): install or train them again") from error


def find_weights_problems(derived: Path) -> list[str]:
    """Return the problems of the weights adapted to an index, if any, given its folder of derived files."""
    folder = adapted_weights_folder(derived, "gfm")
    if not (folder / CONFIG_FILE).is_file():
        return []
    try:
        load_weights(folder)
    except InputError as error:
        return [f"{error}; or remove {folder}, and the weights of the package are used"]
    return []


def save_weights(folder: Path, trained: TrainedGNN, about: dict[str, Any], *, half: bool = True) -> None:
    """Write a model into a folder, which is made if absent; readers see either the old weights or the new ones.

    `about` describes the training. Half precision costs no accuracy of rankings. Raises ProviderError where the files
    cannot be written.
    """
    kind = np.float16 if half else np.float32
    tensors = {name: np.asarray(array, dtype=kind, order="C") for name, array in trained.model.arrays.items()}
    config: dict[str, Any] = {"format": WEIGHTS_FORMAT, **asdict(trained.model.settings), "targets": trained.targets}
    config |= {"encoder": asdict(trained.encoder), "nodes": trained.nodes, "about": about}
    if not trained.model.settings.fusion:
        del config["fusion"]  # as in weights of before
    if trained.chains:
        config["chains"] = True
    if trained.form != EntityForm():
        config["form"] = asdict(trained.form)
        if trained.form.linker == "exact":
            del config["form"]["linker"]  # as in weights of before
    # New weights get a file of another name: the old file stays until the configuration names the new one.
    config["tensors"] = (
        TENSORS if not (folder / CONFIG_FILE).exists() else f"model-{_weights_key(tensors, config)}.safetensors"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        packed = save(tensors)
        with atomic_file(folder / config["tensors"]) as file:
            file.write_bytes(packed)
        with atomic_file(folder / CONFIG_FILE) as file:
            written = json.dumps(add_checksum(config, packed), indent=1, sort_keys=True)
            file.write_text(f"{written}\n", encoding="utf-8")
        for old in folder.glob("model*.safetensors"):
            if old.name != config["tensors"]:
                old.unlink()
    except (OSError, SafetensorError) as error:
        raise ProviderError(f"the weights could not be written to {folder} ({error}): free some space") from error


def _parse_settings(config: dict[str, Any], folder: Path) -> QueryGNNSettings:
    kinds = {field.name: type(field.default) for field in fields(QueryGNNSettings)}
    given = {name: config.get(name) for name in kinds} | {"fusion": config.get("fusion", "")}
    wrong = [name for name, value in given.items() if type(value) is not kinds[name]]
    nodes = config.get("nodes", 0)
    if nodes is not None and (type(nodes) is not int or nodes < 1):
        wrong.append("nodes")
    if config.get("features") not in (0, len(FEATURES) + len(CHAIN_FEATURES) * (config.get("chains", False) is True)):
        wrong.append("features")
    if given["fusion"] not in FUSIONS:
        wrong.append("fusion")
    if config.get("targets") not in get_args(Targets):
        wrong.append("targets")
    if not _is_encoder(config.get("encoder")):
        wrong.append("encoder")
    if type(config.get("chains", False)) is not bool:
        wrong.append("chains")
    if "form" in config and not _is_form(config["form"]):
        wrong.append("form")
    if wrong:
        raise InputError(f"{folder / CONFIG_FILE} has no usable {wrong[0]!r}: train the weights again")
    return QueryGNNSettings(**given)  # type: ignore[arg-type]


def _is_encoder(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    kinds = {field.name: bool if field.name == "normalize" else str for field in fields(TextEncoder)}
    return value.keys() == kinds.keys() and all(type(value[name]) is kind for name, kind in kinds.items())


def _is_form(value: Any) -> bool:
    if not isinstance(value, dict) or {"linker", *value} != {field.name for field in fields(EntityForm)}:
        return False
    entities = value["entities"]
    return (
        value["seeds"] in get_args(Seeds)
        and value["ranker"] in get_args(Ranker)
        and type(value["rarity"]) is bool
        and value.get("linker", "exact") in get_args(LinkerMethod)
        and (entities is None or (type(entities) is int and entities >= 1))
    )


def _weights_key(tensors: dict[str, NDArray[Any]], config: dict[str, Any]) -> str:
    hashed = {name: value for name, value in config.items() if name not in ("about", "tensors")}
    digest = blake2b(json.dumps(hashed, sort_keys=True).encode(), digest_size=8)
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].tobytes())
    return digest.hexdigest()
