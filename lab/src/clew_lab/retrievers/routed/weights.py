"""Weights of `routed`: a folder with one file of plain numbers, `config.json`, all of whose values are checked.

For each choice the file holds how to make it, a linear model from standardised signals to recall, and the seconds that
it takes, which grow as a power of the number of passages.

Signals of a question and its walk: its words, its names, and how clear the walk's ranking is.

Every signal is a share, a count or a logarithm of one, never a raw score, so that a choice learned on one corpus
applies to another. Nothing is searched or encoded for them: they are computed from the walk (`query.graph_walk`).

Source: query performance prediction: Cronen-Townsend et al., "Predicting Query Performance" (2002) and Shtok et al.,
"Predicting Query Performance by Query-Drift Estimation" (2012), for the spread of the first scores.
Differs from the source: shares of the best score and their entropy replace a corpus's language model and standard
deviations; the agreement of walk and words, and the links of named entities, are ours.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from clew.arrays import DoubleArray, FloatArray, top_order
from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.graph_walk import QuestionWalk
from clew.query.linking import LinkedQuestion
from clew.store.atomic import atomic_file
from clew.store.weights_io import CHECKSUM_KEY, CONFIG_FILE, add_checksum, check_checksum
from clew.text.normalization import STOP_WORDS, token_keys

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


SIGNALS = {
    "words": "words in the question",
    "asked": "words besides the names",
    "joints": "words that join steps (of, whose, that)",
    "options": "words that compare (or, both, older)",
    "known": "names that the index knows",
    "unknown": "names that it does not know",
    "meanings": "entities that a name may stand for",
    "titles": "names that a passage is called by",
    "degree": "links of the names",
    "rarest": "links of the rarest name",
    "reach": "passages near the walk",
    "second": "value of the second passage",
    "third": "value of the third passage",
    "fifth": "value of the fifth passage",
    "sixth": "value of the sixth passage",
    "tenth": "value of the tenth passage",
    "entropy": "how even the first values are",
    "agreeing": "first passages that are also first by words",
    "near": "first passages that are not far down by words",
    "matching": "how well the first passages match the question",
    "answering": "how well one of the first passages matches the question without its names",
    "standing": "names whose own passage is among the first",
    "linked": "links among the first passages",
}
"""All signals, in order, each with its name in notes."""

SHORT_DEPTH, LONG_DEPTH = 5, 20
"""Numbers of first passages that signals read: those shown to a user, and those compared with the ranking by words."""

_JOINING_WORDS = frozenset({"by", "of", "s", "that", "where", "which", "who", "whom", "whose"})
_COMPARING_WORDS = frozenset(
    {"also", "between", "both", "common", "earlier", "first", "later", "more", "older", "or", "same", "younger"}
)
_VALUE_RANKS = {"second": 1, "third": 2, "fifth": 4, "sixth": 5, "tenth": 9}


def compute_signals(snapshot: Snapshot, walk: QuestionWalk) -> FloatArray:
    """Return the signals (len(SIGNALS),) of a question's walk, in the order of `SIGNALS`, all finite."""
    best = top_order(walk.scores, LONG_DEPTH) if len(walk.scores) else np.zeros(0, dtype=np.int64)
    first_passages = [int(p) for p in walk.nodes[best[:SHORT_DEPTH]]]
    values = {**_word_signals(walk.linked_question), **_name_signals(snapshot, walk)}
    values |= {
        **_value_signals(walk.scores[best].astype(np.float64)),
        **_passage_signals(snapshot, walk, first_passages),
    }
    values["reach"] = float(np.log1p(len(walk.nodes)))
    return np.array([values[name] for name in SIGNALS], dtype=np.float32)


def _word_signals(linked: LinkedQuestion) -> dict[str, float]:
    words = token_keys(linked.text)
    later_words = words[1:]  # the first word is the question word: `which` joins no steps there
    remaining = [key for key in token_keys(linked.remainder) if key not in STOP_WORDS]
    counts = {
        "words": len(words),
        "asked": len(remaining),
        "joints": sum(word in _JOINING_WORDS for word in later_words),
        "options": sum(word in _COMPARING_WORDS for word in later_words),
        "known": len(linked.linked_names),
        "unknown": len(linked.unlinked_names),
    }
    return {name: float(np.log1p(count)) for name, count in counts.items()}


def _name_signals(snapshot: Snapshot, walk: QuestionWalk) -> dict[str, float]:
    counts = [len(name.entities) for name in walk.linked_question.linked_names]
    if not counts:  # passages by identifiers may be nodes all the same
        return dict.fromkeys(("meanings", "titles", "degree", "rarest"), 0.0)
    nodes = np.fromiter(walk.named_nodes, dtype=np.int64, count=len(walk.named_nodes))
    links = np.log1p(snapshot.walk.indptr[nodes + 1] - snapshot.walk.indptr[nodes])
    return {
        "meanings": float(np.log(np.mean(counts))),
        "titles": float((nodes < len(snapshot.passage_ids)).mean()),
        "degree": float(links.mean()),
        "rarest": float(links.min()),
    }


def _value_signals(values: DoubleArray) -> dict[str, float]:
    shares = values / max(float(values.max(initial=0.0)), 1e-30)
    normalised = shares / max(float(shares.sum()), 1e-30)
    entropy = -float((normalised * np.log(np.maximum(normalised, 1e-30))).sum()) / float(np.log(LONG_DEPTH))
    return {key: float(shares[n]) if n < len(shares) else 0.0 for key, n in _VALUE_RANKS.items()} | {"entropy": entropy}


def _passage_signals(snapshot: Snapshot, walk: QuestionWalk, first_passages: Sequence[int]) -> dict[str, float]:
    if not first_passages:
        return dict.fromkeys(("agreeing", "near", "matching", "answering", "standing", "linked"), 0.0)
    by_words = walk.matches.top_positions[:LONG_DEPTH].tolist()
    titles = [node for node in walk.named_nodes if node < len(snapshot.passage_ids)]
    shares = walk.shares(np.array(first_passages, dtype=np.int32))
    pairs = list(combinations(first_passages, 2))
    neighbours = {passage: set(snapshot.walk.row(passage).tolist()) for passage in first_passages}
    return {
        "agreeing": len({*by_words[:SHORT_DEPTH]}.intersection(first_passages)) / len(first_passages),
        "near": len({*by_words}.intersection(first_passages)) / len(first_passages),
        "matching": float(shares[:, 0].mean()),
        "answering": float(shares[:, 1].max()),
        "standing": len({*titles}.intersection(first_passages)) / len(titles) if titles else 0.0,
        "linked": sum(b in neighbours[a] for a, b in pairs) / len(pairs) if pairs else 0.0,
    }
