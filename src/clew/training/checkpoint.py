"""Checkpoints of a training run, and data-parallel training in several processes.

Gradients are averaged at each step (torch's DistributedDataParallel), so all processes hold the same weights at any
time; only rank 0 writes files.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import distributed, nn
from torch.optim.swa_utils import AveragedModel

from clew.errors import InputError, ProviderError
from clew.models.threads import choose_device
from clew.store.writer_lock import try_lock

LAST, BEST = "last", "best"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Progress of a training run."""

    epoch: int  # last completed epoch, from 0; -1 before the first
    best: int  # epoch with the best validation figure; -1 for the initial weights
    figures: dict[str, float]  # validation figures of the best epoch
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class TrainingState:
    """Everything that changes during training."""

    model: nn.Module  # the weights that the optimizer updates
    average: AveragedModel  # exponential moving average of these weights; validated and saved
    optimizer: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LambdaLR


def save_checkpoint(
    folder: Path, recipe: dict[str, Any], checkpoint: Checkpoint, state: TrainingState, *, best: bool
) -> None:
    """Write the state after an epoch as the last one, and also as the best one if it is.

    If that raises ProviderError, the previous checkpoint is intact.
    """
    tensors = {f"model.{name}": value for name, value in state.model.state_dict().items()}
    tensors |= {f"average.{name}": value for name, value in state.average.state_dict().items()}
    for position, values in state.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{position}.{name}": torch.as_tensor(value) for name, value in values.items()}
    tensors = {name: value.detach().clone().contiguous() for name, value in tensors.items()}
    header = {"recipe": recipe, "state": asdict(checkpoint), "step": state.schedule.last_epoch}
    # The header is stored inside the tensor file, so that one rename replaces both. The order of the figures is kept:
    # the first one selects the best epoch.
    metadata = {"clew": json.dumps(header)}
    # The best is written first: a kill between the two files repeats the epoch with the same result.
    for name in (BEST, LAST) if best else (LAST,):
        _write_atomically(folder / f"{name}.safetensors", tensors, metadata)


def load_checkpoint(
    folder: Path, recipe: dict[str, Any], state: TrainingState, *, best: bool = False
) -> Checkpoint | None:
    """Restore the state of a run and return its progress; None if there is no checkpoint.

    Raises InputError for a checkpoint of another recipe, start or model, and ProviderError for a damaged file.
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
        raise InputError(
            f"{folder} holds a run of {header['recipe']}, not of {recipe}: remove that folder, or give another one"
        )
    state.model.load_state_dict(_select_prefix(tensors, "model."))
    state.average.load_state_dict(_select_prefix(tensors, "average."))
    moments = state.optimizer.state_dict()
    moments["state"] = {}
    for name, value in _select_prefix(tensors, "optimizer.").items():
        position, key = name.split(".")
        moments["state"].setdefault(int(position), {})[key] = value
    state.optimizer.load_state_dict(moments)
    state.schedule.last_epoch = int(header["step"])
    rates = zip(state.schedule.base_lrs, state.schedule.lr_lambdas, strict=True)
    for group, (base, factor) in zip(state.optimizer.param_groups, rates, strict=True):
        group["lr"] = base * factor(state.schedule.last_epoch)
    return Checkpoint(**header["state"])


def hash_weights(model: nn.Module) -> str:
    """Return 16 hexadecimal digits that tell the weights of one model from those of another."""
    digest = sha256()
    for name, value in model.state_dict().items():
        digest.update(name.encode() + value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Create a run folder if needed and hold its lock within the block, or raise InputError if another process does."""
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
        raise ProviderError(
            f"{path} could not be written ({error}): free some space and run the same command again"
        ) from error


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes of a training run: the rank of this one, from 0, their number, and the device of this one."""

    rank: int
    size: int
    device: torch.device

    @contextmanager
    def rank_zero_first(self) -> Iterator[None]:
        """Run the block in one process after the other, in the order of their ranks."""
        for _ in range(self.rank):
            distributed.barrier()
        yield
        for _ in range(self.rank, self.size if self.size > 1 else 0):
            distributed.barrier()

    def shard(self, batches: Iterator[Item]) -> Iterator[Item | None]:
        """Yield every `size`-th batch, from `rank` on; None if the last round has no batch for this process."""
        while round_ := list(islice(batches, self.size)):
            yield round_[self.rank] if self.rank < len(round_) else None


def single_process(device: str = "auto") -> ProcessGroup:
    """Return a group of this process alone, on a device as `choose_device` takes it."""
    return ProcessGroup(0, 1, torch.device(choose_device(device)))


@contextmanager
def join_process_group(device: str = "auto") -> Iterator[ProcessGroup]:
    """Join the process group that `torchrun` started, or use a group of one process.

    `device` is as `choose_device` takes it, "mps" for one process only; InputError if it is unknown or unavailable.
    """
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield single_process(device)
        return
    chosen = choose_device(device)
    if chosen not in ("cpu", "cuda"):
        raise InputError(f"the device is {chosen!r}, and {size} processes train on cpu or cuda: start one process")
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    distributed.init_process_group("nccl" if chosen == "cuda" else "gloo")
    try:
        yield ProcessGroup(
            distributed.get_rank(), size, torch.device(chosen, local_rank) if chosen == "cuda" else torch.device("cpu")
        )
    finally:
        distributed.destroy_process_group()
