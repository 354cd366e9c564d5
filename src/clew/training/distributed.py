"""Data-parallel training in several processes started by `torchrun`, each with its shard of an epoch's batches.

Gradients are averaged at each step (torch's DistributedDataParallel), so all processes hold the same weights at any
time; only rank 0 writes files.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import torch
from torch import distributed

from clew.errors import InputError
from clew.models.threads import choose_device

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
