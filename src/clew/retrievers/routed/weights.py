"""Weights of `routed`: a folder with one file of plain numbers, `config.json`, all of whose values are checked.

For each choice the file holds how to make it, a linear model from standardised signals to recall, and the seconds that
it takes, which grow as a power of the number of passages.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from clew.arrays import DoubleArray, FloatArray
from clew.errors import InputError
from clew.store.atomic import atomic_file
from clew.store.weights_io import CHECKSUM_KEY, CONFIG_FILE, add_checksum, check_checksum

WEIGHTS_FORMAT = 1
REFERENCE_PASSAGES = 10_000
"""Number of passages of the index that `Duration.seconds` refer to."""
MAX_DEVIATION = 4.0
"""Bound of standardised signals, in standard deviations."""
NAME = "routed"


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds for one question, as a power of the number of passages."""

    seconds: float  # seconds on an index of `REFERENCE_PASSAGES` passages
    growth: float = 0.0  # exponent of the number of passages, 0 to 1

    def seconds_for(self, passages: int) -> float:
        """Return the seconds on an index of the given number of passages."""
        return self.seconds * float((max(passages, 1) / REFERENCE_PASSAGES) ** self.growth)


@dataclass(frozen=True, slots=True)
class Choice:
    """A retriever that may be chosen."""

    name: str  # name for the user: the retriever's name without settings
    retriever: str  # name with settings, from which it is made
    recall: float  # expected recall where every signal has its mean
    weights: tuple[float, ...]  # (s,) change of recall by a standard deviation of each signal
    duration: Duration  # time of the choice itself, without that of the signals; of the first retriever, time beyond it


@dataclass(frozen=True, slots=True)
class RoutedWeights:
    """Choices among retrievers, with models of their recall and time."""

    signals: tuple[str, ...]  # s names
    means: tuple[float, ...]  # (s,) means of the signals in training
    spreads: tuple[float, ...]  # (s,) their standard deviations, above 0
    choices: tuple[Choice, ...]  # cheapest first, with distinct names
    overhead: Duration  # time of the first retriever's walk and the signals, spent before anything is chosen
    cutoff: int  # recall is that of the first `cutoff` passages
    default_choices: tuple[str, ...]  # names of the choices unless a user gives others
    seconds_price: float  # points of recall that a second has to gain, unless a user gives another price

    def standardize(self, signals: FloatArray | DoubleArray | tuple[float, ...]) -> DoubleArray:
        """Return signals (..., s) in standard deviations from their mean, clipped at `MAX_DEVIATION`."""
        deviations = (np.asarray(signals, dtype=np.float64) - np.array(self.means)) / np.array(self.spreads)
        clipped: DoubleArray = np.clip(deviations, -MAX_DEVIATION, MAX_DEVIATION)
        return clipped

    def expected_recalls(self, signals: FloatArray | DoubleArray | tuple[float, ...]) -> DoubleArray:
        """Return the expected recall (..., c) of each choice for signals (..., s); it may lie outside of 0 to 1."""
        weights = np.array([choice.weights for choice in self.choices])
        recalls: DoubleArray = self.standardize(signals) @ weights.T + [choice.recall for choice in self.choices]
        return recalls

    def find_choice(self, name: str) -> Choice:
        """Return the choice of a name; raises InputError where there is none."""
        for choice in self.choices:
            if choice.name == name:
                return choice
        known = "+".join(choice.name for choice in self.choices)
        raise InputError(f"routed: choices has {name!r}; these weights choose among {known}, joined by plus signs")

    @property
    def key(self) -> str:
        """Identifier that changes whenever a choice might."""
        return blake2b(json.dumps(_to_json(self), sort_keys=True).encode(), digest_size=8).hexdigest()


def load_choices(folder: Path, signals: Sequence[str]) -> RoutedWeights:
    """Read a folder of `save_choices`, for the signals of this version of Clew, in order.

    Raises InputError where the folder holds no weights, or weights of another format, other signals or invalid values.
    """
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise InputError(
            f"{folder} holds no weights ({CONFIG_FILE} is missing): give a folder made by `clew train routed`"
        )
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the weights in {path} cannot be read ({error}): install or train them again") from error
    if not isinstance(config, dict) or config.get("format") != WEIGHTS_FORMAT or config.get("kind") != NAME:
        raise InputError(f"{path} does not hold choices of format {WEIGHTS_FORMAT}: train them again, or update Clew")
    stored = config.pop(CHECKSUM_KEY, None)
    try:
        weights = _parse_weights(config)
        check_checksum(config, b"", stored)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise InputError(f"{path} is damaged ({reason}): install the weights or train them again") from error
    if weights.signals != tuple(signals):
        raise InputError(f"{path} reads other signals than this version of Clew computes: train the choices again")
    return weights


def save_choices(folder: Path, weights: RoutedWeights, about: Mapping[str, Any]) -> None:
    """Write weights and a description of their training; readers see either the old weights or the new ones.

    The folder is made if absent. Raises ProviderError where the file cannot be written.
    """
    content = json.dumps(add_checksum({**_to_json(weights), "about": about}, b""), indent=1, sort_keys=True)
    with atomic_file(folder / CONFIG_FILE) as file:
        file.write_text(content + "\n", encoding="utf-8")


def _to_json(weights: RoutedWeights) -> dict[str, Any]:
    signal_values = zip(weights.signals, weights.means, weights.spreads, strict=True)
    return {
        "format": WEIGHTS_FORMAT,
        "kind": NAME,
        "cutoff": weights.cutoff,
        "worth": weights.seconds_price,
        "usual": list(weights.default_choices),
        "look": asdict(weights.overhead),
        "signals": [{"name": name, "mean": mean, "spread": width} for name, mean, width in signal_values],
        "choices": [
            {"name": c.name, "retriever": c.retriever, "recall": c.recall, "weights": list(c.weights)}
            | asdict(c.duration)
            for c in weights.choices
        ],
    }


def _parse_weights(config: Mapping[str, Any]) -> RoutedWeights:
    """Parse a file's values; KeyError, TypeError and ValueError of invalid ones are left to the caller."""
    signals, listed_choices = list(config["signals"]), list(config["choices"])
    choices = tuple(_parse_choice(item, len(signals)) for item in listed_choices)
    names, usual = [choice.name for choice in choices], tuple(map(_parse_text, config["usual"]))
    if not choices or len(set(names)) < len(names) or not usual or not {*usual} <= {*names}:
        raise ValueError(f"choices are {names}, and the usual ones {list(usual)}")
    spreads = tuple(_parse_number(item["spread"]) for item in signals)
    cutoff = config["cutoff"]
    if type(cutoff) is not int or cutoff < 1 or min(spreads, default=1.0) <= 0:
        raise ValueError(f"cutoff is {cutoff!r}, the least spread {min(spreads, default=1.0)}")
    return RoutedWeights(
        tuple(_parse_text(item["name"]) for item in signals),
        tuple(_parse_number(item["mean"]) for item in signals),
        spreads,
        choices,
        _parse_duration(config["look"]),
        cutoff,
        usual,
        _parse_number(config["worth"], least=0.0),
    )


def _parse_choice(config: Mapping[str, Any], signals: int) -> Choice:
    weights = tuple(map(_parse_number, config["weights"]))
    name, retriever = _parse_text(config["name"]), _parse_text(config["retriever"])
    # The name must be that of the retriever; `routed` as a choice of itself would be made endlessly.
    if len(weights) != signals or retriever.partition(":")[0] != name or name == NAME:
        raise ValueError(f"the choice {name!r} is made as {retriever!r} and has {len(weights)} weights, not {signals}")
    return Choice(name, retriever, _parse_number(config["recall"]), weights, _parse_duration(config))


def _parse_duration(config: Mapping[str, Any]) -> Duration:
    duration = Duration(_parse_number(config["seconds"], least=0.0), _parse_number(config["growth"], least=0.0))
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
