"""Training loop shared by all objectives: steps, validation, early stopping, and checkpoints that survive a kill.

A checkpoint is written to a temporary file and renamed into place, and all random numbers of an epoch come from a
generator seeded by the run's seed and the epoch. A killed run therefore resumes after its last epoch and ends with the
same weights as an uninterrupted one.
"""

import json
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from clew.errors import InputError, ProviderError
from clew.training.checkpoint import (
    Checkpoint,
    ProcessGroup,
    TrainingState,
    exclusive_lock,
    hash_weights,
    load_checkpoint,
    save_checkpoint,
    single_process,
)
from clew.training.hyperparameters import Recipe, StepType, TrainingResult
from clew.types import Progress

Item = TypeVar("Item")
LOG_FILE = "log.jsonl"
_logger = logging.getLogger(__name__)
SINGLE_PROCESS = single_process("cpu")


class Objective(Protocol[Item]):
    """A loss with its training batches and validation.

    `no_signal_message` is the error message for an epoch in which no batch has a loss: the cause and the remedy.
    """

    no_signal_message: str

    def batches(self, epoch_seed: int) -> Iterator[Item]:
        """Yield the batches of an epoch, determined by the seed."""

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""

    def halve(self, batch: Item) -> tuple[Item, Item] | None:
        """Split a batch that exceeds the device's memory; None if it cannot be split."""

    def loss(self, model: nn.Module, batch: Item) -> Tensor | None:
        """Return the loss of a batch, a scalar on the model's device; None for a batch without a training signal."""

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return figures on held-out data, higher is better; the first selects the best epoch.

        If there are none, the last epoch counts as the best.
        """


def train(
    model: nn.Module,
    objective: Objective[Item],
    recipe: Recipe,
    folder: Path,
    progress: Progress,
    group: ProcessGroup = SINGLE_PROCESS,
    dtype: StepType = "float32",
) -> TrainingResult:
    """Train a model in place, and leave it on the CPU with the weights of its best epoch.

    The initial weights and the recipe's seed determine the result. The run folder holds the log and the checkpoints
    from which a later call resumes; `group` are the processes that share the work. With the `dtype` bfloat16, steps
    multiply matrices in it (torch's autocast); weights, losses and validation stay float32. Raises InputError where the
    folder holds a run of another recipe, start or model, another process is training in it, no batch of the first
    epoch has a loss, or the loss is not finite; ProviderError where a batch that cannot be halved exceeds the device's
    memory, or the folder cannot be written.
    """
    with exclusive_lock(folder) if not group.rank else nullcontext():
        model.to(group.device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=recipe.decay, fused=True)
        steps = -(-len(objective) // group.size)
        total = max(recipe.epochs * steps, 1)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer,
            lambda step: _rate_share(recipe, step, total),
        )
        average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(recipe.average))  # type: ignore[no-untyped-call]
        state = TrainingState(model, average, optimizer, schedule)
        settings = asdict(recipe) | {"steps": len(objective), "start": hash_weights(model)}
        if dtype != "float32":
            settings["dtype"] = dtype
        initial_figures = objective.validate(model)
        with group.rank_zero_first():
            reached = load_checkpoint(folder, settings, state)
            if reached is None:
                reached = Checkpoint(-1, -1, initial_figures, 0.0)
                if not group.rank:
                    save_checkpoint(folder, settings, reached, state, best=True)
        runner = _EpochRunner(state, objective, recipe, group, dtype)
        for epoch in range(reached.epoch + 1, recipe.epochs):
            if recipe.patience and epoch - max(reached.best, 0) > recipe.patience:
                break
            started = time.perf_counter()
            loss = runner.run_epoch(
                epoch,
                lambda done, e=epoch: progress(f"epoch {e + 1} of {recipe.epochs}", done, steps),  # type: ignore[misc]
            )
            figures = objective.validate(average.module)
            better = not figures or next(iter(figures.values())) > next(iter(reached.figures.values()))
            seconds = reached.seconds + time.perf_counter() - started
            reached = Checkpoint(
                epoch, epoch if better else reached.best, figures if better else reached.figures, seconds
            )
            with group.rank_zero_first():
                if not group.rank:
                    save_checkpoint(folder, settings, reached, state, best=better)
                    record = {"epoch": epoch, "loss": loss, **figures, "seconds": round(seconds, 1)}
                    with (folder / LOG_FILE).open("a", encoding="utf-8") as log:
                        log.write(json.dumps(record) + "\n")
        load_checkpoint(folder, settings, state, best=True)
        model.load_state_dict(average.module.state_dict())
        model.to("cpu")
        return TrainingResult(reached.best, reached.figures, reached.seconds, initial_figures)


def _rate_share(recipe: Recipe, step: int, total: int) -> float:
    """Return the learning rate at `step` (from 0) of `total`, as a share of the highest rate."""
    rise = min(1.0, (step + 1) / max(recipe.warmup, 1))
    if recipe.schedule == "constant":
        return rise
    return rise * 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / total)))


class _LossModule(nn.Module, Generic[Item]):
    """An objective as a module, since DistributedDataParallel averages the gradients of a module's outputs.

    `has_signal` tells whether the last batch had a loss. A loss of 0 counts.
    """

    def __init__(self, model: nn.Module, objective: Objective[Item], device: torch.device, dtype: StepType) -> None:
        super().__init__()
        self.model = model
        self._autocast = torch.autocast(device.type, torch.bfloat16, enabled=dtype == "bfloat16")
        self.has_signal = False
        self._objective = objective

    def forward(self, batch: Item | None) -> Tensor:
        """Return the loss; 0 with a zero gradient for a batch without a training signal."""
        with self._autocast:
            loss = None if batch is None else self._objective.loss(self.model, batch)
        self.has_signal = loss is not None
        if loss is not None:
            return loss
        return torch.stack([parameter.sum() for parameter in self.model.parameters()]).sum() * 0.0


class _EpochRunner(Generic[Item]):
    def __init__(
        self,
        state: TrainingState,
        objective: Objective[Item],
        recipe: Recipe,
        group: ProcessGroup,
        dtype: StepType,
    ) -> None:
        self._state = state
        self._objective = objective
        self._recipe = recipe
        self._group = group
        self._loss_module = _LossModule(state.model, objective, group.device, dtype)
        self._loss: nn.Module = self._loss_module
        if group.size > 1:
            self._loss = DistributedDataParallel(self._loss_module, find_unused_parameters=True)

    def run_epoch(self, epoch: int, progress: Callable[[int], None]) -> float:
        """Train one epoch and return its mean loss."""
        state, seed = self._state, self._recipe.seed * 100_003 + epoch
        torch.manual_seed(seed)
        state.model.train()
        losses: list[float] = []
        for done, batch in enumerate(self._group.shard(self._objective.batches(seed)), 1):
            state.optimizer.zero_grad()
            loss, has_signal = self._backward(batch)
            if not math.isfinite(loss):
                raise InputError(f"the loss is {loss} in epoch {epoch}: lower the learning rate and train again")
            if has_signal or self._group.size > 1:
                if self._recipe.clip:
                    nn.utils.clip_grad_norm_(state.model.parameters(), self._recipe.clip)
                state.optimizer.step()
                state.average.update_parameters(state.model)
                losses.append(loss)
            if losses:  # torch warns if the schedule steps before its optimizer
                state.schedule.step()
            progress(done)
        state.model.eval()
        state.average.eval()
        if not losses and epoch == 0:  # in later epochs everything may have been learned
            raise InputError(self._objective.no_signal_message)
        return float(np.mean(losses)) if losses else 0.0

    def _backward(self, batch: Item | None) -> tuple[float, bool]:
        """Accumulate the gradient of a batch, halving it while it exceeds the device's memory.

        Returns the loss, and whether the batch had a training signal.
        """
        try:
            loss = self._loss(batch)
            loss.backward()
            return float(loss.detach()), self._loss_module.has_signal
        except torch.OutOfMemoryError as error:
            halves = None if batch is None or self._group.size > 1 else self._objective.halve(batch)
            if halves is None:
                raise ProviderError(
                    "one training step exceeds the device's memory: use a smaller --batch, --width or --nodes"
                ) from error
        self._state.optimizer.zero_grad()
        return self._backward_in_halves(halves)

    def _backward_in_halves(self, halves: tuple[Item, Item]) -> tuple[float, bool]:
        """Accumulate the gradient of a batch given as two halves, with equal weights."""
        _logger.warning("a training step exceeds the device's memory and is computed in two halves")
        total, has_signal = 0.0, False
        gradients: list[Tensor] = []
        parameters = [p for p in self._state.model.parameters() if p.requires_grad]
        for half in halves:
            self._state.optimizer.zero_grad()
            loss, half_has_signal = self._backward(half)
            total, has_signal = total + 0.5 * loss, has_signal or half_has_signal
            scaled = [torch.zeros_like(p) if p.grad is None else 0.5 * p.grad for p in parameters]
            gradients = scaled if not gradients else [a + b for a, b in zip(gradients, scaled, strict=True)]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        return total, has_signal
