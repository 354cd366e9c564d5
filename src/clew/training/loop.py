"""One training loop for every objective: steps, validation, early stop, and a run that a kill cannot lose.

The state of a run is written whole beside itself and renamed into place, so a run that is killed goes on from its last
epoch to the same weights as one that was not: every random number is drawn from a generator whose seed is the run's
seed and the epoch.
"""

import json
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from clew.errors import InputError, ProviderError
from clew.training.checkpoint import Checkpoint, TrainingState, exclusive_lock, load_checkpoint, save_checkpoint
from clew.training.distributed import ProcessGroup

if TYPE_CHECKING:
    from torch import Tensor

Item = TypeVar("Item")
LOG_FILE = "log.jsonl"
_logger = logging.getLogger(__name__)
SINGLE_PROCESS = ProcessGroup(0, 1, torch.device("cpu"))


class Objective(Protocol[Item]):
    """What a loop minimises.

    Attributes:
        no_signal_message: What is said to a user when no batch of an epoch has anything to learn from, and what to do.
    """

    no_signal_message: str

    def batches(self, epoch_seed: int) -> Iterator[Item]:
        """Yield the batches of an epoch; equal seeds give equal ones."""
        ...

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        ...

    def halve(self, batch: Item) -> tuple[Item, Item] | None:
        """Return a batch as two, for a device whose memory it exceeds; None where it cannot be cut."""
        ...

    def loss(self, model: nn.Module, batch: Item) -> "Tensor | None":
        """Return the loss of a batch, computed where the model is; None for one that has nothing to learn from."""
        ...

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return figures on data that are not trained on; the first chooses the epoch, higher is better.

        With none, the last epoch is taken for the best.
        """
        ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained.

    Attributes:
        epochs: At most.
        rate: Highest learning rate of AdamW; rises over `warmup` steps and falls as a cosine.
        decay: Weight decay.
        warmup: Steps.
        clip: Greatest norm of the gradient.
        average: How slowly the kept weights follow those that take the steps, 0 (at once) to below 1: each step they
            keep this share of themselves. Averaged weights generalise better when questions are few.
        patience: Epochs without a better figure before the run stops; 0 never stops early.
        seed: Of everything random.
    """

    epochs: int = 5
    rate: float = 2e-3
    decay: float = 1e-4
    warmup: int = 30
    clip: float = 1.0
    average: float = 0.99
    patience: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that train nothing."""
        numbers = {"rate": self.rate, "clip": self.clip}
        wrong = [f"{name} is {value}: above 0" for name, value in numbers.items() if not 0 < value < math.inf]
        whole = {"epochs": (self.epochs, 1), "patience": (self.patience, 0), "seed": (self.seed, 0)}
        whole["warmup"] = (self.warmup, 0)
        wrong += [f"{name} is {value}: at least {least}" for name, (value, least) in whole.items() if value < least]
        if not 0 <= self.average < 1:
            wrong.append(f"average is {self.average}: from 0 to below 1")
        if not 0 <= self.decay < math.inf:
            wrong.append(f"decay is {self.decay}: at least 0")
        if wrong:
            raise InputError(f"{wrong[0]} is wanted")


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """What a run gave: the model itself holds the weights of its best epoch.

    Attributes:
        best_epoch: The epoch, from 0; -1 when the weights it started from were the best.
        figures: What `validate` said of it.
        seconds: Of the whole run.
        initial_figures: What `validate` said of the weights it started from.
    """

    best_epoch: int
    figures: dict[str, float]
    seconds: float
    initial_figures: dict[str, float]


def train(
    model: nn.Module,
    objective: Objective[Item],
    recipe: Recipe,
    folder: Path,
    progress: Callable[[str, int, int], None],
    group: ProcessGroup = SINGLE_PROCESS,
) -> TrainingResult:
    """Train a model in place, and leave it with the weights of its best epoch.

    Args:
        model: Its weights are the start; with `seed`, they decide the result.
        objective: What is minimised.
        recipe: How.
        folder: Of the run: its log, and the state from which it goes on when it is called again.
        progress: Told the stage and how much of how much is done.
        group: The processes that share the work, and this one's device.

    Raises:
        InputError: The folder holds the run of another recipe, another process trains it, or the loss is no longer a
            number.
        ProviderError: A single question does not fit the device's memory.
    """
    with exclusive_lock(folder) if not group.rank else nullcontext():
        return _train_locked(model, objective, recipe, folder, progress, group)


def _train_locked(
    model: nn.Module,
    objective: Objective[Item],
    recipe: Recipe,
    folder: Path,
    progress: Callable[[str, int, int], None],
    group: ProcessGroup,
) -> TrainingResult:
    model.to(group.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    steps = -(-len(objective) // group.size)
    total = max(recipe.epochs * steps, 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: _learning_rate_factor(step, recipe.warmup, total)
    )
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(recipe.average))  # type: ignore[no-untyped-call]
    moving, chosen = TrainingState(model, average, optimizer, schedule), asdict(recipe)
    start = objective.validate(model)
    with group.rank_zero_first():
        state = load_checkpoint(folder, chosen, moving)
        if state is None:
            state = Checkpoint(-1, -1, start, 0.0)
            if not group.rank:
                save_checkpoint(folder, chosen, state, moving, best=True)
    stepper = _EpochRunner(moving, objective, recipe, group)
    for epoch in range(state.epoch + 1, recipe.epochs):
        if recipe.patience and epoch - max(state.best, 0) > recipe.patience:
            break
        started = time.perf_counter()
        loss = stepper.run_epoch(
            epoch,
            lambda done, e=epoch: progress(f"epoch {e + 1} of {recipe.epochs}", done, steps),  # type: ignore[misc]
        )
        figures = objective.validate(average.module)
        better = not figures or next(iter(figures.values())) > next(iter(state.figures.values()))
        seconds = state.seconds + time.perf_counter() - started
        state = Checkpoint(epoch, epoch if better else state.best, figures if better else state.figures, seconds)
        with group.rank_zero_first():
            if not group.rank:
                save_checkpoint(folder, chosen, state, moving, best=better)
                _append_log(folder, {"epoch": epoch, "loss": loss, **figures, "seconds": round(seconds, 1)})
    load_checkpoint(folder, chosen, moving, best=True)
    model.load_state_dict(average.module.state_dict())
    model.to("cpu")
    return TrainingResult(state.best, state.figures, state.seconds, start)


class _LossModule(nn.Module, Generic[Item]):
    """An objective as a module, so that gradients of several processes can be averaged as it is left.

    Attributes:
        has_signal: Whether the last batch had anything to learn from, which a loss of 0 does not deny.
    """

    def __init__(self, model: nn.Module, objective: Objective[Item]) -> None:
        super().__init__()
        self.model = model
        self.has_signal = False
        self._objective = objective

    def forward(self, batch: Item | None) -> "Tensor":
        """Return the loss; 0, with a gradient of 0, where there is nothing to learn from."""
        loss = None if batch is None else self._objective.loss(self.model, batch)
        self.has_signal = loss is not None
        if loss is not None:
            return loss
        return torch.stack([parameter.sum() for parameter in self.model.parameters()]).sum() * 0.0


class _EpochRunner(Generic[Item]):
    """Takes the steps of an epoch."""

    def __init__(self, state: TrainingState, objective: Objective[Item], recipe: Recipe, group: ProcessGroup) -> None:
        self._state = state
        self._objective = objective
        self._recipe = recipe
        self._group = group
        self._loss_module = _LossModule(state.model, objective)
        self._loss: nn.Module = self._loss_module
        if group.size > 1:
            self._loss = DistributedDataParallel(self._loss_module, find_unused_parameters=True)

    def run_epoch(self, epoch: int, progress: Callable[[int], None]) -> float:
        """Return the mean loss."""
        moving, seed = self._state, self._recipe.seed * 100_003 + epoch
        torch.manual_seed(seed)
        moving.model.train()
        losses: list[float] = []
        for done, batch in enumerate(self._group.shard(self._objective.batches(seed)), 1):
            moving.optimizer.zero_grad()
            loss, learns = self._backward(batch)
            if not math.isfinite(loss):
                raise InputError(f"the loss is {loss} in epoch {epoch}: lower the learning rate and start anew")
            if learns or self._group.size > 1:
                nn.utils.clip_grad_norm_(moving.model.parameters(), self._recipe.clip)
                moving.optimizer.step()
                moving.average.update_parameters(moving.model)
                losses.append(loss)
            if losses:  # torch complains of a schedule that is ahead of its optimizer
                moving.schedule.step()
            progress(done)
        moving.model.eval()
        moving.average.eval()
        if not losses and epoch == 0:  # later, all that can be learned may have been
            raise InputError(self._objective.no_signal_message)
        return float(np.mean(losses)) if losses else 0.0

    def _backward(self, batch: Item | None) -> tuple[float, bool]:
        """Add the gradient of a batch, in halves where the device's memory does not hold it.

        Returns:
            Its loss, and whether it had anything to learn from.
        """
        try:
            loss = self._loss(batch)
            loss.backward()
            return float(loss.detach()), self._loss_module.has_signal
        except torch.OutOfMemoryError as error:
            halves = None if batch is None or self._group.size > 1 else self._objective.halve(batch)
            if halves is None:
                raise ProviderError(
                    "the device's memory does not hold one step: use a smaller --batch, --width or --nodes"
                ) from error
        self._state.optimizer.zero_grad()
        return self._backward_in_halves(halves)

    def _backward_in_halves(self, halves: tuple[Item, Item]) -> tuple[float, bool]:
        """Add the gradient of a batch given as two, each weighing half."""
        _logger.warning("a step of training exceeds the device's memory and is taken in two halves")
        total, learns = 0.0, False
        gradients: list[Tensor] = []
        parameters = [p for p in self._state.model.parameters() if p.requires_grad]
        for half in halves:
            self._state.optimizer.zero_grad()
            loss, some = self._backward(half)
            total, learns = total + 0.5 * loss, learns or some
            own = [torch.zeros_like(p) if p.grad is None else 0.5 * p.grad for p in parameters]
            gradients = own if not gradients else [a + b for a, b in zip(gradients, own, strict=True)]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        return total, learns


def _learning_rate_factor(step: int, warmup: int, total: int) -> float:
    return min(1.0, (step + 1) / max(warmup, 1)) * 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / total)))


def _append_log(folder: Path, record: dict[str, float]) -> None:
    with (folder / LOG_FILE).open("a", encoding="utf-8") as log:
        log.write(json.dumps(record) + "\n")
