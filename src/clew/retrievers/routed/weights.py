"""What `routed` learned, as a folder with one file of plain numbers, `config.json`; every value in it is checked.

For each choice: how to make it, the recall that signals promise (a line through standardised signals), and the seconds
that it takes, which grow as a power of the number of passages.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import InputError
from clew.store.atomic import atomic_file
from clew.store.pretrained import CONFIG_FILE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray

    DoubleArray = NDArray[np.float64]

WEIGHTS_FORMAT = 1
REFERENCE_PASSAGES = 10_000
"""Passages of the index that `Duration.seconds` are for."""
MAX_DEVIATION = 4.0
"""Standard deviations that a signal may lie from its mean; one further off counts as this far."""
NAME = "routed"


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds that something takes for one question.

    Attributes:
        seconds: On an index of `UNIT` passages.
        growth: The power of the number of passages that they grow by, 0 to 1.
    """

    seconds: float
    growth: float = 0.0

    def seconds_for(self, passages: int) -> float:
        """Return the seconds on an index of so many passages."""
        return self.seconds * float((max(passages, 1) / REFERENCE_PASSAGES) ** self.growth)


@dataclass(frozen=True, slots=True)
class Choice:
    """A retriever that may be chosen. s signals.

    Attributes:
        name: What a user calls it: a retriever's name without settings.
        retriever: What it is made as, settings included.
        recall: The recall expected where every signal has its mean.
        weights: (s,) by how much a standard deviation of each signal changes it.
        duration: Of the choice itself, without the look at the signals; of the first pass, what it costs beyond that.
    """

    name: str
    retriever: str
    recall: float
    weights: tuple[float, ...]
    duration: Duration


@dataclass(frozen=True, slots=True)
class RoutedWeights:
    """Choices among retrievers and what to expect of each.

    Attributes:
        signals: s names.
        means: (s,) of the signals in training.
        spreads: (s,) their standard deviations, above 0.
        choices: Cheapest first, each name once.
        overhead: What the first pass and the signals take, before anything is chosen.
        cutoff: Recall is that of the first so many passages.
        default_choices: Names that are chosen among unless a user says otherwise.
        seconds_price: Points of recall that a second has to buy unless a user says otherwise.
    """

    signals: tuple[str, ...]
    means: tuple[float, ...]
    spreads: tuple[float, ...]
    choices: tuple[Choice, ...]
    overhead: Duration
    cutoff: int
    default_choices: tuple[str, ...]
    seconds_price: float

    def standardize(self, signals: "FloatArray | DoubleArray | tuple[float, ...]") -> "DoubleArray":
        """Return signals (..., s) in standard deviations from their mean, none further off than `FARTHEST`."""
        apart = (np.asarray(signals, dtype=np.float64) - np.array(self.means)) / np.array(self.spreads)
        clipped: DoubleArray = np.clip(apart, -MAX_DEVIATION, MAX_DEVIATION)
        return clipped

    def expected_recalls(self, signals: "FloatArray | DoubleArray | tuple[float, ...]") -> "DoubleArray":
        """Return the recall (..., c) that signals (..., s) promise of each choice; it may lie outside of 0 to 1."""
        weights = np.array([choice.weights for choice in self.choices])
        promised: DoubleArray = self.standardize(signals) @ weights.T + [choice.recall for choice in self.choices]
        return promised

    def find_choice(self, name: str) -> Choice:
        """Return the choice of a name.

        Raises:
            InputError: There is none.
        """
        for choice in self.choices:
            if choice.name == name:
                return choice
        known = "+".join(choice.name for choice in self.choices)
        raise InputError(f"routed: choices has {name!r}; these weights choose among {known}, joined by plus signs")

    @property
    def key(self) -> str:
        """What changes whenever a choice might."""
        return blake2b(json.dumps(_to_json(self), sort_keys=True).encode(), digest_size=8).hexdigest()


def load_choices(folder: Path, signals: Sequence[str]) -> RoutedWeights:
    """Read a folder of weights.

    Args:
        folder: As written by `save_choices`.
        signals: What this version can compute, in order.

    Raises:
        InputError: It is no such folder, of another format or other signals, or holds what cannot be.
    """
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise InputError(
            f"{folder} holds no weights ({CONFIG_FILE} is missing): give a folder made by `clew train routed`"
        )
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the weights in {path} cannot be read ({error}): install or train them again") from error
    if not isinstance(told, dict) or told.get("format") != WEIGHTS_FORMAT or told.get("kind") != NAME:
        raise InputError(f"{path} does not hold choices of format {WEIGHTS_FORMAT}: train them again, or update Clew")
    try:
        weights = _parse_weights(told)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise InputError(f"{path} is damaged ({reason}): install the weights or train them again") from error
    if weights.signals != tuple(signals):
        raise InputError(f"{path} reads other signals than this version of Clew computes: train the choices again")
    return weights


def save_choices(folder: Path, weights: RoutedWeights, about: Mapping[str, Any]) -> None:
    """Write weights into a folder, made when absent; whoever reads it sees the old ones or the new.

    Args:
        folder: Gets the file.
        weights: What is written.
        about: How they were made.

    Raises:
        ProviderError: The disk refused.
    """
    content = json.dumps({**_to_json(weights), "about": about}, indent=1, sort_keys=True)
    with atomic_file(folder / CONFIG_FILE) as file:
        file.write_text(content + "\n", encoding="utf-8")


def _to_json(weights: RoutedWeights) -> dict[str, Any]:
    spread = zip(weights.signals, weights.means, weights.spreads, strict=True)
    return {
        "format": WEIGHTS_FORMAT,
        "kind": NAME,
        "cutoff": weights.cutoff,
        "worth": weights.seconds_price,
        "usual": list(weights.default_choices),
        "look": _duration_to_json(weights.overhead),
        "signals": [{"name": name, "mean": mean, "spread": width} for name, mean, width in spread],
        "choices": [
            {"name": c.name, "retriever": c.retriever, "recall": c.recall, "weights": list(c.weights)}
            | _duration_to_json(c.duration)
            for c in weights.choices
        ],
    }


def _duration_to_json(duration: Duration) -> dict[str, float]:
    return {"seconds": duration.seconds, "growth": duration.growth}


def _parse_weights(told: Mapping[str, Any]) -> RoutedWeights:
    """Return the weights of a file's values; the errors of what is missing or of another kind are the caller's."""
    signals, listed = list(told["signals"]), list(told["choices"])
    choices = tuple(_parse_choice(one, len(signals)) for one in listed)
    names, usual = [choice.name for choice in choices], tuple(map(_parse_text, told["usual"]))
    if not choices or len(set(names)) < len(names) or not usual or not {*usual} <= {*names}:
        raise ValueError(f"choices are {names}, and the usual ones {list(usual)}")
    spreads = tuple(_parse_number(one["spread"]) for one in signals)
    cutoff = told["cutoff"]
    if type(cutoff) is not int or cutoff < 1 or min(spreads, default=1.0) <= 0:
        raise ValueError(f"cutoff is {cutoff!r}, the least spread {min(spreads, default=1.0)}")
    return RoutedWeights(
        tuple(_parse_text(one["name"]) for one in signals),
        tuple(_parse_number(one["mean"]) for one in signals),
        spreads,
        choices,
        _parse_duration(told["look"]),
        cutoff,
        usual,
        _parse_number(told["worth"], least=0.0),
    )


def _parse_choice(told: Mapping[str, Any], signals: int) -> Choice:
    weights = tuple(map(_parse_number, told["weights"]))
    name, retriever = _parse_text(told["name"]), _parse_text(told["retriever"])
    # A choice that is itself a choice, or another's settings under this name, would be made without end or end.
    if len(weights) != signals or retriever.partition(":")[0] != name or name == NAME:
        raise ValueError(f"the choice {name!r} is made as {retriever!r} and has {len(weights)} weights, not {signals}")
    return Choice(name, retriever, _parse_number(told["recall"]), weights, _parse_duration(told))


def _parse_duration(told: Mapping[str, Any]) -> Duration:
    duration = Duration(_parse_number(told["seconds"], least=0.0), _parse_number(told["growth"], least=0.0))
    if duration.growth > 1.0:
        raise ValueError(f"growth is {duration.growth}, above 1")
    return duration


def _parse_number(value: Any, least: float = -math.inf) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value < least:
        raise ValueError(f"{value!r} is no usable number")
    return float(value)


def _parse_text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is no name")
    return value
