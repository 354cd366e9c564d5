"""The loop: a killed run goes on to the same weights, the best epoch is kept, and nonsense is refused."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from clew.errors import InputError, ProviderError
from clew.training import checkpoint
from clew.training.loop import Recipe, train


class StoppedError(Exception):
    """Stands for a kill."""


class LineObjective:
    """Fits y = 3 x; the figure is minus the error, or whatever `figures` says an epoch."""

    no_signal_message = "there is nothing to learn from"

    def __init__(self, stop_in: int = -1, figures: tuple[float, ...] = (), broken: bool = False) -> None:
        self.seen: list[int] = []
        self._stop_in, self._figures, self._broken = stop_in, figures, broken
        self._validated = 0

    def __len__(self) -> int:
        return 4

    def batches(self, epoch_seed: int) -> Iterator[torch.Tensor]:
        self.seen.append(epoch_seed)
        if len(self.seen) == self._stop_in:
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


def test_it_learns(tmp_path: Path) -> None:
    trained = make_model()
    result = train(trained, LineObjective(), Recipe(epochs=30, rate=0.1, average=0.5), tmp_path, silent)
    assert result.figures["score"] > -0.5
    assert result.best_epoch >= 0


@pytest.mark.parametrize("stop_in", [1, 3, 6])
def test_a_run_that_was_killed_goes_on_to_the_same_weights(tmp_path: Path, stop_in: int) -> None:
    whole, cut = make_model(), make_model()
    train(whole, LineObjective(), RECIPE, tmp_path / "whole", silent)
    with pytest.raises(StoppedError):
        train(cut, LineObjective(stop_in), RECIPE, tmp_path / "cut", silent)
    resumed, rest = make_model(), LineObjective()
    result = train(resumed, rest, RECIPE, tmp_path / "cut", silent)
    assert len(rest.seen) == 6 - (stop_in - 1)
    for one, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(one, other)
    again = train(make_model(), LineObjective(), RECIPE, tmp_path / "cut", silent)
    assert again.figures == result.figures


def test_the_weights_of_the_best_epoch_are_kept(tmp_path: Path) -> None:
    trained = make_model()
    figures = (0.0, 1.0, 5.0, 2.0, 3.0)
    result = train(trained, LineObjective(figures=figures), Recipe(epochs=4, seed=1), tmp_path / "a", silent)
    assert (result.best_epoch, result.figures) == (1, {"score": 5.0})
    kept = torch.cat([p.flatten() for p in trained.parameters()])
    assert not torch.equal(kept, torch.cat([p.flatten() for p in make_model().parameters()]))


def test_where_nothing_gets_better_the_start_is_kept(tmp_path: Path) -> None:
    trained = make_model()
    result = train(trained, LineObjective(figures=(9.0, 1.0, 2.0)), Recipe(epochs=2), tmp_path, silent)
    assert result.best_epoch == -1
    for one, other in zip(trained.parameters(), make_model().parameters(), strict=True):
        assert torch.equal(one, other)


def test_without_figures_the_last_epoch_is_kept(tmp_path: Path) -> None:
    class Blind(LineObjective):
        def validate(self, model: nn.Module) -> dict[str, float]:
            return {}

    trained = make_model()
    assert train(trained, Blind(), RECIPE, tmp_path, silent).best_epoch == RECIPE.epochs - 1
    assert any(not torch.equal(a, b) for a, b in zip(trained.parameters(), make_model().parameters(), strict=True))


def test_patience_ends_a_run(tmp_path: Path) -> None:
    objective = LineObjective(figures=(0.0, 5.0, *[1.0] * 20))
    train(make_model(), objective, Recipe(epochs=20, patience=3), tmp_path, silent)
    assert len(objective.seen) == 4


def test_a_run_of_another_recipe_or_model_is_refused(tmp_path: Path) -> None:
    train(make_model(), LineObjective(), Recipe(epochs=1), tmp_path, silent)
    with pytest.raises(InputError, match="another folder"):
        train(make_model(), LineObjective(), Recipe(epochs=2), tmp_path, silent)
    with pytest.raises(InputError, match="another shape"):
        train(nn.Linear(1, 1), LineObjective(), Recipe(epochs=1), tmp_path, silent)


def test_a_loss_that_is_no_number_stops_the_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lower the learning rate"):
        train(make_model(), LineObjective(broken=True), Recipe(epochs=1), tmp_path, silent)


def test_a_damaged_state_is_told(tmp_path: Path) -> None:
    train(make_model(), LineObjective(), Recipe(epochs=1), tmp_path, silent)
    (tmp_path / "last.safetensors").write_bytes(b"damaged")
    with pytest.raises(ProviderError, match="train again"):
        train(make_model(), LineObjective(), Recipe(epochs=1), tmp_path, silent)


class SmallMemoryObjective(LineObjective):
    """A device that holds few rows at once."""

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


def test_a_step_that_does_not_fit_the_memory_is_cut_and_gives_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, cut = make_linear(), make_linear()
    train(whole, SmallMemoryObjective(8), RECIPE, tmp_path / "whole", silent)
    assert not caplog.records
    train(cut, SmallMemoryObjective(2), RECIPE, tmp_path / "cut", silent)
    assert "in two halves" in caplog.text
    for one, other in zip(whole.parameters(), cut.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_one_question_that_does_not_fit_the_memory_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="smaller --batch"):
        train(make_linear(), SmallMemoryObjective(0), RECIPE, tmp_path, silent)


def test_it_says_what_the_start_was_worth(tmp_path: Path) -> None:
    result = train(make_model(), LineObjective(figures=(2.0, 1.0, 3.0)), Recipe(epochs=2), tmp_path, silent)
    assert (result.initial_figures, result.figures) == ({"score": 2.0}, {"score": 3.0})


def test_what_chooses_is_the_first_figure_after_a_kill_too(tmp_path: Path) -> None:
    """The names are in no order of the alphabet, and the second figure would choose otherwise."""

    class Two(LineObjective):
        def validate(self, model: nn.Module) -> dict[str, float]:
            (score,) = super().validate(model).values()
            return {"score": score, "another": -score}

    with pytest.raises(StoppedError):
        train(make_model(), Two(2, figures=(0.0, 1.0)), Recipe(epochs=3), tmp_path, silent)
    resumed = train(make_model(), Two(figures=(0.0, 2.0, 1.5)), Recipe(epochs=3), tmp_path, silent)
    assert (resumed.best_epoch, resumed.figures["score"]) == (1, 2.0)


def test_a_kill_between_the_two_files_of_a_state_loses_no_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_numbers_that_train_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .* is wanted"):
        Recipe(**wrong)


def test_nothing_to_learn_from_is_said(tmp_path: Path) -> None:
    class Nothing(LineObjective):
        def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
            return None

    with pytest.raises(InputError, match="nothing to learn from"):
        train(make_model(), Nothing(), RECIPE, tmp_path, silent)


class ZeroLossObjective(LineObjective):
    """A loss that is always 0, and always has somewhere to go."""

    def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
        error: torch.Tensor = ((model(batch) - 3 * batch) ** 2).mean()
        return error - error.detach()


class SmallMemoryZeroLossObjective(ZeroLossObjective):
    def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
        if len(batch) > 4:
            raise torch.OutOfMemoryError("out of memory")
        return super().loss(model, batch)


@pytest.mark.parametrize("objective", [ZeroLossObjective, SmallMemoryZeroLossObjective])
def test_a_loss_of_exactly_0_is_learned_from(tmp_path: Path, objective: type[LineObjective]) -> None:
    trained = make_linear()
    result = train(trained, objective(), Recipe(epochs=20, rate=0.1, average=0.0), tmp_path, silent)
    assert result.figures["score"] > result.initial_figures["score"] + 1.0
    assert result.figures["score"] > -0.5


def test_a_batch_without_anything_to_learn_from_moves_nothing(tmp_path: Path) -> None:
    class First(LineObjective):
        """The first batch of four, and then either none or three with nothing in them."""

        def __init__(self, shown: int) -> None:
            super().__init__()
            self.shown, self.asked = shown, 0

        def batches(self, epoch_seed: int) -> Iterator[torch.Tensor]:
            yield from islice(super().batches(epoch_seed), self.shown)

        def loss(self, model: nn.Module, batch: torch.Tensor) -> torch.Tensor | None:
            self.asked += 1
            return super().loss(model, batch) if self.asked == 1 else None

        def validate(self, model: nn.Module) -> dict[str, float]:
            return {}

    one, more = make_linear(), make_linear()
    recipe = Recipe(epochs=1, rate=0.1, average=0.0, decay=0.9)
    train(one, First(1), recipe, tmp_path / "one", silent)
    train(more, First(4), recipe, tmp_path / "more", silent)
    assert not torch.equal(next(one.parameters()), next(make_linear().parameters()))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), more.parameters(), strict=True))
