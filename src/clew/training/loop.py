"""One training loop for every objective: steps, validation, early stop, and a run that a kill cannot lose.

The state of a run is written whole beside itself and renamed into place, so a run that is killed goes on from its last
epoch to the same weights as one that was not: every random number is drawn from a generator whose seed is the run's
seed and the epoch.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from clew.errors import InputError
from clew.training.checkpoint import Checkpoint, Moving, load_checkpoint, save_checkpoint

if TYPE_CHECKING:
    from torch import Tensor

Item = TypeVar("Item")
LOG = "log.jsonl"


class Objective(Protocol[Item]):
    """What a loop minimises."""

    def batches(self, epoch_seed: int) -> Iterator[Item]:
        """Yield the batches of an epoch; equal seeds give equal ones."""
        ...

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        ...

    def loss(self, model: nn.Module, batch: Item) -> "Tensor | None":
        """Return the loss of a batch; None for one that has nothing to learn from."""
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
        if self.epochs < 1 or self.rate <= 0 or self.clip <= 0 or not 0 <= self.average < 1:
            raise InputError(f"{self}: epochs must be at least 1, rate and clip above 0, average from 0 to below 1")


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run gave: the model itself holds the weights of its best epoch.

    Attributes:
        best: The epoch, from 0; -1 when the weights it started from were the best.
        figures: What `validate` said of it.
        seconds: Of the whole run.
    """

    best: int
    figures: dict[str, float]
    seconds: float


def train(
    model: nn.Module,
    objective: Objective[Item],
    recipe: Recipe,
    folder: Path,
    progress: Callable[[str, int, int], None],
) -> Trained:
    """Train a model in place, and leave it with the weights of its best epoch.

    Args:
        model: Its weights are the start; with `seed`, they decide the result.
        objective: What is minimised.
        recipe: How.
        folder: Of the run: its log, and the state from which it goes on when it is called again.
        progress: Told the stage and how much of how much is done.

    Raises:
        InputError: The folder holds the run of another recipe, or the loss is no longer a number.
    """
    folder.mkdir(parents=True, exist_ok=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=recipe.rate, weight_decay=recipe.decay)
    total = max(recipe.epochs * len(objective), 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, recipe.warmup, total))
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(recipe.average))  # type: ignore[no-untyped-call]
    moving, chosen = Moving(model, average, optimizer, schedule), asdict(recipe)
    state = load_checkpoint(folder, chosen, moving)
    if state is None:
        state = Checkpoint(-1, -1, objective.validate(model), 0.0)
        save_checkpoint(folder, chosen, state, moving, best=True)
    for epoch in range(state.epoch + 1, recipe.epochs):
        if recipe.patience and epoch - max(state.best, 0) > recipe.patience:
            break
        started = time.perf_counter()
        loss = _epoch(moving, objective, recipe, epoch, progress)
        figures = objective.validate(average.module)
        better = not figures or next(iter(figures.values())) > next(iter(state.figures.values()))
        seconds = state.seconds + time.perf_counter() - started
        state = Checkpoint(epoch, epoch if better else state.best, figures if better else state.figures, seconds)
        save_checkpoint(folder, chosen, state, moving, best=better)
        _log(folder, {"epoch": epoch, "loss": loss, **figures, "seconds": round(seconds, 1)})
    load_checkpoint(folder, chosen, moving, best=True)
    model.load_state_dict(average.module.state_dict())
    return Trained(state.best, state.figures, state.seconds)


def _epoch(
    moving: Moving,
    objective: Objective[Item],
    recipe: Recipe,
    epoch: int,
    progress: Callable[[str, int, int], None],
) -> float:
    torch.manual_seed(recipe.seed * 100_003 + epoch)
    moving.model.train()
    losses: list[float] = []
    for done, batch in enumerate(objective.batches(recipe.seed * 100_003 + epoch), 1):
        loss = objective.loss(moving.model, batch)
        if loss is not None:
            if not torch.isfinite(loss):
                raise InputError(f"the loss is {loss.item()} in epoch {epoch}: lower the learning rate and start anew")
            moving.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(moving.model.parameters(), recipe.clip)
            moving.optimizer.step()
            moving.average.update_parameters(moving.model)
            losses.append(float(loss.detach()))
        moving.schedule.step()
        progress(f"epoch {epoch + 1} of {recipe.epochs}", done, len(objective))
    moving.model.eval()
    moving.average.eval()
    return float(np.mean(losses)) if losses else 0.0


def _rate(step: int, warmup: int, total: int) -> float:
    return min(1.0, (step + 1) / max(warmup, 1)) * 0.5 * (1.0 + math.cos(math.pi * min(1.0, step / total)))


def _log(folder: Path, record: dict[str, float]) -> None:
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(json.dumps(record) + "\n")
