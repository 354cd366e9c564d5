"""Several processes that train one model: started by `torchrun`, each takes its share of an epoch's batches.

The gradients of the processes are averaged at each step (torch's DistributedDataParallel), so all hold the same weights
at any time; the first of them alone writes.
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

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes of a run.

    Attributes:
        rank: Of this one, from 0.
        size: How many there are.
        device: Where this one computes.
    """

    rank: int
    size: int
    device: torch.device

    @contextmanager
    def rank_zero_first(self) -> Iterator[None]:
        """Let the processes do something one after the other, the first one first."""
        for _ in range(self.rank):
            distributed.barrier()
        yield
        for _ in range(self.rank, self.size if self.size > 1 else 0):
            distributed.barrier()

    def shard(self, batches: Iterator[Item]) -> Iterator[Item | None]:
        """Yield this process's part of the batches, None where the last round has none left for it."""
        while round_ := list(islice(batches, self.size)):
            yield round_[self.rank] if self.rank < len(round_) else None


@contextmanager
def join_process_group(device: str = "auto") -> Iterator[ProcessGroup]:
    """Join the processes that `torchrun` started; alone otherwise.

    Args:
        device: "cpu", "cuda", or "auto" for a GPU where there is one.

    Raises:
        InputError: The device is not known, or not there.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise InputError(f"the device is {device!r}; wanted auto, cpu or cuda")
    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        raise InputError("the device is 'cuda', and no GPU is to be seen: use --device cpu, or mend the driver")
    chosen = "cuda" if there and device != "cpu" else "cpu"
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ProcessGroup(0, 1, torch.device(chosen))
        return
    place = torch.device(chosen, int(os.environ.get("LOCAL_RANK", "0"))) if chosen == "cuda" else torch.device("cpu")
    distributed.init_process_group("nccl" if chosen == "cuda" else "gloo")
    try:
        yield ProcessGroup(distributed.get_rank(), size, place)
    finally:
        distributed.destroy_process_group()
