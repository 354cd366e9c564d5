"""The state of a training run on disk, without pickle: tensors in one file, numbers in another, renamed into place."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn
from torch.optim.swa_utils import AveragedModel

from clew.errors import InputError, ProviderError
from clew.store.writer_lock import try_lock

LAST, BEST = "last", "best"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a run has come.

    Attributes:
        epoch: The last one done, from 0; -1 before the first.
        best: The one whose weights are kept.
        figures: What validation said of the best.
        seconds: So far.
    """

    epoch: int
    best: int
    figures: dict[str, float]
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class TrainingState:
    """What moves while a model is trained.

    Attributes:
        model: Takes the steps.
        average: Follows its weights slowly; what is validated and kept.
        optimizer: Of the model.
        schedule: Of the optimizer's rate.
    """

    model: nn.Module
    average: AveragedModel
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LambdaLR


def save_checkpoint(
    folder: Path, recipe: dict[str, Any], checkpoint: Checkpoint, training_state: TrainingState, *, best: bool
) -> None:
    """Write the state after an epoch, and again as the best when it is.

    Raises:
        ProviderError: The disk refused; the state before it is whole.
    """
    tensors = {f"model.{name}": value for name, value in training_state.model.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in training_state.average.state_dict().items()}
    for place, values in training_state.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{place}.{name}": torch.as_tensor(value) for name, value in values.items()}
    tensors = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
    header = {"recipe": recipe, "state": asdict(checkpoint), "step": training_state.schedule.last_epoch}
    # The header travels inside the file of tensors, so that one rename changes both.
    # In the order of the figures: the first of them is the one that chooses.
    metadata = {"clew": json.dumps(header)}
    # The best goes first: a kill between the two repeats the epoch, to the same weights, and loses none.
    for name in (BEST, LAST) if best else (LAST,):
        _write_atomically(folder / f"{name}.safetensors", tensors, metadata)


def load_checkpoint(
    folder: Path, recipe: dict[str, Any], training_state: TrainingState, *, best: bool = False
) -> Checkpoint | None:
    """Put a run back to where it was; None when there is none.

    Raises:
        InputError: It is the run of another recipe or model.
        ProviderError: Its file is damaged.
    """
    path = folder / f"{BEST if best else LAST}.safetensors"
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads(file.metadata()["clew"])
        tensors = load_file(path)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ProviderError(f"{path} is damaged ({error}): remove {folder} and train again") from error
    if header["recipe"] != recipe:
        raise InputError(f"{folder} holds a run of {header['recipe']}, this one is {recipe}: give another folder")
    weights = _select_prefix(tensors, "model.")
    if {n: v.shape for n, v in training_state.model.state_dict().items()} != {n: v.shape for n, v in weights.items()}:
        raise InputError(f"{folder} holds the run of a model of another shape: give another folder")
    training_state.model.load_state_dict(weights)
    training_state.average.load_state_dict(_select_prefix(tensors, "average."))
    moments = training_state.optimizer.state_dict()
    moments["state"] = {}
    for name, value in _select_prefix(tensors, "optimizer.").items():
        place, key = name.split(".")
        moments["state"].setdefault(int(place), {})[key] = value
    training_state.optimizer.load_state_dict(moments)
    training_state.schedule.last_epoch = int(header["step"])
    rates = zip(training_state.schedule.base_lrs, training_state.schedule.lr_lambdas, strict=True)
    for group, (base, factor) in zip(training_state.optimizer.param_groups, rates, strict=True):
        group["lr"] = base * factor(training_state.schedule.last_epoch)
    return Checkpoint(**header["state"])


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Keep the run of a folder for this process, as long as the block goes.

    Raises:
        InputError: Another process has it.
        ProviderError: The disk refused.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ProviderError(f"{folder} cannot be written ({error}): give another folder") from error
    try:
        if not try_lock(descriptor):
            raise InputError(f"{folder} is being trained by another process: wait until it has finished")
        yield
    finally:
        os.close(descriptor)


def _select_prefix(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _write_atomically(path: Path, tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    temporary = path.with_suffix(".part")
    try:
        save_file(tensors, temporary, metadata=metadata)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except (SafetensorError, OSError) as error:
        temporary.unlink(missing_ok=True)
        raise ProviderError(f"{path} could not be written ({error}): free some space and run it again") from error
