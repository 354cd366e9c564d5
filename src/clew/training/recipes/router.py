"""Training of the hop predictor of `frag` on a user's own log of answers that name their path (FRAG-F).

Source: Gao et al., "FRAG" (2025), section 4.2. Differs from the source: see `clew.training.fitting.hop_predictor`.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clew.errors import InputError
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.query.masking import mask_names
from clew.retrievers.frag.hop_predictor import load_hop_predictor, save_hop_predictor
from clew.store.weights_io import PRETRAINED_FOLDER
from clew.training.fitting.hop_predictor import FEEDBACK_RECIPE, HopExample, train_hop_predictor


def train_router(logs: Sequence[Path], out: Path, start: Path | None = None, seed: int = 0) -> int:
    """Adapt a hop predictor to the questions of logs, write its weights, and return the number of questions.

    `start` are weights to begin with, None for those of the package. Raises InputError where a log cannot be read or
    names no path, or the weights read another encoder than the default one.
    """
    examples = [example for log in logs for example in read_feedback_log(log)]
    initial = load_hop_predictor(PRETRAINED_FOLDER / "router" if start is None else start)
    encoder = open_encoder(DEFAULT_ENCODER)
    recipe = replace(FEEDBACK_RECIPE, seed=seed)
    save_hop_predictor(out, train_hop_predictor(examples, recipe, encoder.encode, encoder.fingerprint, start=initial))
    return len(examples)


def read_feedback_log(log: Path) -> list[HopExample]:
    """Return the questions of a feedback log: lines of {question, topics, hops}, as `clew ask --feedback` adds them."""
    examples: list[HopExample] = []
    try:
        lines = log.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the feedback {log} cannot be read ({error}): give a log of clew ask --feedback") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            text, hops = str(record["question"]), int(record["hops"])
            names = [str(name) for name in record["topics"]]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f'{log}:{number}: {line[:80]!r} is no feedback; wanted {{"question", "topics", "hops"}}'
            ) from error
        if hops > 0:
            examples.append(feedback_example(text, names, hops))
    if not examples:
        raise InputError(f"{log} holds no answer that names its path: ask with a model first")
    return examples


def feedback_example(text: str, topics: Sequence[str], hops: int) -> HopExample:
    """Return a question, without the names of its topics, that was answered by a path of at least one hop."""
    folded = text.casefold() if len(text.casefold()) == len(text) else text
    starts = [(folded.find(name.casefold()), len(name)) for name in topics if name]
    spans = [(start, start + length) for start, length in starts if start >= 0]
    return HopExample(mask_names(text, spans), hops)
