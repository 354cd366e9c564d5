"""The training loop: a killed run resumes to the same weights, the best epoch is kept, bad numbers are refused."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from clew.errors import InputError, ProviderError
from clew.training import checkpoint
from clew.training.hyperparameters import Recipe
from clew.training.loop import train


class StoppedError(Exception):
    """Simulates a kill."""


class LineObjective:
    """Fits y = 3 x; the validation figure is the negated error, or the next one of `figures`."""

    no_signal_message = "there is nothing to learn from"

    def __init__(self, stop_in: int = -1, figures: tuple[float, ...] = (), broken: bool = False) -> None:
        self.epoch_seeds: list[int] = []
        self._stop_in, self._figures, self._broken = stop_in, figures, broken
        self._validated = 0

    def __len__(self) -> int:
        return 4

    def batches(self, epoch_seed: int) -> Iterator[torch.Tensor]:
        self.epoch_seeds.append(epoch_seed)
        if len(self.epoch_seeds) == self._stop_in:
            raise StoppedError
        generator = torch.Generator().manual_seed(epoch_seed)
        for _ in range(4):
            yield torch.randn(8, 1, generator=generator)

    def halve(self, batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
        cut = len(batch) // 2
        return (batch[:cut], batch[cut:]) if cut else None

    def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
        error: torch.Tensor = ((model(batch) - 3 * batch) ** 2).mean()
        return error * torch.nan if self._broken else error

    def validate(self, model: nn.Module) -> dict[str, float]:
        if self._figures:
            self._validated += 1
            return {"score": self._figures[self._validated - 1]}
        with torch.no_grad():
            return {"score": -float((model(torch.ones(1, 1)) - 3).abs())}


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(1, 4), nn.Dropout(0.1), nn.Linear(4, 1))


def silent(stage: str, done: int, total: int) -> None:
    assert 0 < done <= total


RECIPE = Recipe(epochs=6, rate=0.05, warmup=3, seed=5)


def test_training_reduces_the_error(tmp_path: Path) -> None:
    network = make_model()
    result = train(network, LineObjective(), Recipe(epochs=30, rate=0.1, average=0.5), tmp_path, silent)
    assert result.figures["score"] > -0.5
    assert result.best_epoch >= 0


@pytest.mark.parametrize("stop_in", [1, 3, 6])
def test_a_killed_run_resumes_to_the_same_weights(tmp_path: Path, stop_in: int) -> None:
    whole, cut = make_model(), make_model()
    train(whole, LineObjective(), RECIPE, tmp_path / "whole", silent)
    with pytest.raises(StoppedError):
        train(cut, LineObjective(stop_in), RECIPE, tmp_path / "cut", silent)
    resumed, rest = make_model(), LineObjective()
    result = train(resumed, rest, RECIPE, tmp_path / "cut", silent)
    assert len(rest.epoch_seeds) == 6 - (stop_in - 1)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)
    again = train(make_model(), LineObjective(), RECIPE, tmp_path / "cut", silent)
    assert again.figures == result.figures


def test_the_weights_of_the_best_epoch_are_kept(tmp_path: Path) -> None:
    network = make_model()
    figures = (0.0, 1.0, 5.0, 2.0, 3.0)
    result = train(network, LineObjective(figures=figures), Recipe(epochs=4, seed=1), tmp_path / "a", silent)
    assert (result.best_epoch, result.figures) == (1, {"score": 5.0})
    weights = torch.cat([p.flatten() for p in network.parameters()])
    assert not torch.equal(weights, torch.cat([p.flatten() for p in make_model().parameters()]))


def test_the_initial_weights_are_kept_if_no_epoch_improves(tmp_path: Path) -> None:
    network = make_model()
    result = train(network, LineObjective(figures=(9.0, 1.0, 2.0)), Recipe(epochs=2), tmp_path, silent)
    assert result.best_epoch == -1
    for one, other in zip(network.parameters(), make_model().parameters(), strict=True):
        assert torch.equal(one, other)


def test_without_figures_the_last_epoch_is_kept(tmp_path: Path) -> None:
    class Blind(LineObjective):
        def validate(self, model: nn.Module) -> dict[str, float]:
            return {}

    network = make_model()
    assert train(network, Blind(), RECIPE, tmp_path, silent).best_epoch == RECIPE.epochs - 1
    assert any(not torch.equal(a, b) for a, b in zip(network.parameters(), make_model().parameters(), strict=True))


def test_patience_ends_a_run(tmp_path: Path) -> None:
    objective = LineObjective(figures=(0.0, 5.0, *[1.0] * 20))
    train(make_model(), objective, Recipe(epochs=20, patience=3), tmp_path, silent)
    assert len(objective.epoch_seeds) == 4


def test_a_run_of_another_recipe_or_model_is_refused(tmp_path: Path) -> None:
    train(make_model(), LineObjective(), Recipe(epochs=1), tmp_path, silent)
    other_start = make_model()
    nn.init.ones_(next(other_start.parameters()))
    for model, epochs in ((make_model(), 2), (nn.Linear(1, 1), 1), (other_start, 1)):
        with pytest.raises(InputError, match="remove that folder"):
            train(model, LineObjective(), Recipe(epochs=epochs), tmp_path, silent)


def test_a_non_finite_loss_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lower the learning rate"):
        train(make_model(), LineObjective(broken=True), Recipe(epochs=1), tmp_path, silent)


def test_a_damaged_checkpoint_is_reported(tmp_path: Path) -> None:
    train(make_model(), LineObjective(), Recipe(epochs=1), tmp_path, silent)
    (tmp_path / "last.safetensors").write_bytes(b"damaged")
    with pytest.raises(ProviderError, match="train again"):
        train(make_model(), LineObjective(), Recipe(epochs=1), tmp_path, silent)


class SmallMemoryObjective(LineObjective):
    """Simulates a device whose memory holds few rows."""

    def __init__(self, rows: int) -> None:
        super().__init__()
        self.rows = rows

    def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
        if len(batch) > self.rows:
            raise torch.OutOfMemoryError("out of memory")
        return super().loss(model, batch)


def make_linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(1, 1)


def test_a_step_that_exceeds_memory_is_halved_with_the_same_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, cut = make_linear(), make_linear()
    train(whole, SmallMemoryObjective(8), RECIPE, tmp_path / "whole", silent)
    assert not caplog.records
    train(cut, SmallMemoryObjective(2), RECIPE, tmp_path / "cut", silent)
    assert "in two halves" in caplog.text
    for one, other in zip(whole.parameters(), cut.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_single_question_that_exceeds_memory_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="smaller --batch"):
        train(make_linear(), SmallMemoryObjective(0), RECIPE, tmp_path, silent)


def test_the_result_has_the_initial_figures(tmp_path: Path) -> None:
    result = train(make_model(), LineObjective(figures=(2.0, 1.0, 3.0)), Recipe(epochs=2), tmp_path, silent)
    assert (result.initial_figures, result.figures) == ({"score": 2.0}, {"score": 3.0})


def test_the_first_figure_selects_the_epoch_after_a_kill_too(tmp_path: Path) -> None:
    """The names are not in alphabetical order, and the second figure would select another epoch."""

    class Two(LineObjective):
        def validate(self, model: nn.Module) -> dict[str, float]:
            (score,) = super().validate(model).values()
            return {"score": score, "another": -score}

    with pytest.raises(StoppedError):
        train(make_model(), Two(2, figures=(0.0, 1.0)), Recipe(epochs=3), tmp_path, silent)
    resumed = train(make_model(), Two(figures=(0.0, 2.0, 1.5)), Recipe(epochs=3), tmp_path, silent)
    assert (resumed.best_epoch, resumed.figures["score"]) == (1, 2.0)


def test_a_kill_between_the_two_checkpoint_files_keeps_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_model()
    train(whole, LineObjective(figures=(0.0, 1.0, 5.0, 2.0)), Recipe(epochs=3), tmp_path / "whole", silent)
    written: list[Path] = []
    replace = checkpoint._write_atomically

    def killed(path: Path, *rest: Any) -> None:
        written.append(path)
        if len(written) == 6:  # the start and two epochs, each the best so far: the last file of the second epoch
            raise StoppedError
        replace(path, *rest)

    monkeypatch.setattr(checkpoint, "_write_atomically", killed)
    with pytest.raises(StoppedError):
        train(make_model(), LineObjective(figures=(0.0, 1.0, 5.0)), Recipe(epochs=3), tmp_path / "cut", silent)
    monkeypatch.undo()
    resumed = make_model()
    result = train(resumed, LineObjective(figures=(0.0, 5.0, 2.0)), Recipe(epochs=3), tmp_path / "cut", silent)
    assert result.figures == {"score": 5.0}
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True))


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"rate": float("nan")}, {"patience": -1}, {"epochs": 0}, {"average": 1.0}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .*: wanted "):
        Recipe(**wrong)


def test_a_run_without_a_training_signal_is_refused(tmp_path: Path) -> None:
    class Nothing(LineObjective):
        def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
            return None

    with pytest.raises(InputError, match="nothing to learn from"):
        train(make_model(), Nothing(), RECIPE, tmp_path, silent)


class ZeroLossObjective(LineObjective):
    """A loss that is always 0 with a gradient that is not."""

    def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
        error: torch.Tensor = ((model(batch) - 3 * batch) ** 2).mean()
        return error - error.detach()


class SmallMemoryZeroLossObjective(ZeroLossObjective):
    def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
        if len(batch) > 4:
            raise torch.OutOfMemoryError("out of memory")
        return super().loss(model, batch)


@pytest.mark.parametrize("objective", [ZeroLossObjective, SmallMemoryZeroLossObjective])
def test_a_loss_of_exactly_0_is_trained_on(tmp_path: Path, objective: type[LineObjective]) -> None:
    network = make_linear()
    result = train(network, objective(), Recipe(epochs=20, rate=0.1, average=0.0), tmp_path, silent)
    assert result.figures["score"] > result.initial_figures["score"] + 1.0
    assert result.figures["score"] > -0.5


def test_a_batch_without_a_training_signal_changes_no_weights(tmp_path: Path) -> None:
    class First(LineObjective):
        """The first of four batches has a loss; the others are missing or have none."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count, self.calls = count, 0

        def batches(self, epoch_seed: int) -> Iterator[torch.Tensor]:
            yield from islice(super().batches(epoch_seed), self.count)

        def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
            self.calls += 1
            return super().loss(model, batch) if self.calls == 1 else None

        def validate(self, model: nn.Module) -> dict[str, float]:
            return {}

    one, more = make_linear(), make_linear()
    recipe = Recipe(epochs=1, rate=0.1, average=0.0, decay=0.9)
    train(one, First(1), recipe, tmp_path / "one", silent)
    train(more, First(4), recipe, tmp_path / "more", silent)
    assert not torch.equal(next(one.parameters()), next(make_linear().parameters()))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), more.parameters(), strict=True))


def test_a_constant_rate_without_averaging_or_clipping_is_plain_adamw(tmp_path: Path) -> None:
    recipe = Recipe(epochs=3, rate=0.3, schedule="constant", decay=0.01, warmup=0, clip=0.0, average=0.0)
    torch.manual_seed(0)
    model, plain = nn.Linear(1, 1), nn.Linear(1, 1)
    plain.load_state_dict(model.state_dict())
    objective, again = LineObjective(figures=(0.0, 1.0, 2.0, 3.0)), LineObjective(figures=(0.0,))
    train(model, objective, recipe, tmp_path / "run", lambda *_: None)
    optimizer = torch.optim.AdamW(plain.parameters(), lr=0.3, weight_decay=0.01, fused=False)
    for epoch in range(3):
        for batch in again.batches(objective.epoch_seeds[epoch]):
            optimizer.zero_grad()
            loss = again.loss(plain, batch)
            assert loss is not None
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
