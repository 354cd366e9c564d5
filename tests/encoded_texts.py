"""A memory of what the default encoder makes of each text: the example corpus is encoded by some twenty modules.

A run of its model reads one text in one thread, and its contract is that equal texts give equal bits (see
`models/encoders/test_int8_minilm.py`), so that no test can see the difference. Tests of the encoder itself go without.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from clew.arrays import FloatArray
from clew.models.encoders.int8_minilm import _LoadedModel

MAX_TEXTS = 10_000
"""Of what a worker remembers, mostly 2 kB a text; the example corpus has 800."""
_run = _LoadedModel.run
_found: dict[tuple[tuple[str, ...], tuple[int, ...]], list[FloatArray]] = {}


def _recall(model: _LoadedModel, outputs: Sequence[str], tokens: Sequence[int]) -> list[FloatArray]:
    key = tuple(outputs), tuple(tokens)  # every model has the same weights: others are refused
    if key in _found:
        return _found[key]
    made = _run(model, outputs, tokens)
    if len(_found) < MAX_TEXTS:
        for array in made:
            array.flags.writeable = False
        _found[key] = made
    return made


@contextmanager
def remember_texts() -> Iterator[None]:
    """Run the model once for each text, for the time of the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_LoadedModel, "run", _recall)
        yield


@contextmanager
def run_for_each_text() -> Iterator[None]:
    """Run the model each time, for the time of a block within `remember_texts`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_LoadedModel, "run", _run)
        yield
