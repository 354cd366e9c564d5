"""The default encoder: all-MiniLM-L6-v2 in 8-bit integers, run by ONNX Runtime.

The file is made by tools/quantise_encoder.py. Each text is one run of the model in one thread, so a vector depends on
its own text only, whatever the batch and the number of threads; several texts run side by side in several threads.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, LongArray
from clew.models.hub import check_weights
from clew.models.threads import PerProcess, worker_count
from clew.models.validation import require_unicode
from clew.protocols import OnStates, SpanVectors

SHA256 = "d0be0e558f0b3ab4664e688adc9986f3101272d18fe8c879763578c9304a1035"
"""SHA-256 of model.onnx."""
_ROWS = "40ab27dc4504c54f63bc2e3fc7e8c608"
"""Start of the SHA-256 of the first file that gave these rows, bit for bit; it had no other output."""
TOKENIZER_SHA256 = "3ad857958ba886d154a5a852119fb31a0dd549d03d8a3fc20e33f2336272cc19"
"""SHA-256 of tokenizer.json, on which vectors depend as much."""
MAX_TOKENS = 256
"""Tokens read of a text, its two special tokens included; the model was trained with no more."""

BUNDLED_FOLDER = Path(__file__).parents[2] / "weights" / "encoder"
"""Folder of the files in the package."""

TOKENIZER_BATCH = 2048  # texts; the tokenizer keeps offsets and strings of each, 15 kB a text
_TEXTS_PER_TASK = 16


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokenizer: Any  # tokenizers.Tokenizer has no complete types
    session: Any  # onnxruntime.InferenceSession

    def run(self, outputs: Sequence[str], tokens: Sequence[int]) -> list[FloatArray]:
        """Return outputs of the model for the ids of the tokens of a text."""
        found: list[FloatArray] = self.session.run(outputs, {"ids": np.asarray([tokens], dtype=np.int64)})
        return found


@final
class Int8MiniLM:
    """all-MiniLM-L6-v2 in 8-bit integers: unit rows of width 384; loads its weights on first use.

    Args:
        folder: Folder with model.onnx and tokenizer.json; None for the package's own.
    """

    name = "all-MiniLM-L6-v2-int8"
    dimension = 384
    fingerprint = f"int8-mean-{MAX_TOKENS}-{_ROWS}"

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or BUNDLED_FOLDER
        self._model = PerProcess(lambda: _open_model(self._folder))

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return unit rows (len(texts), 384) of texts, of which the first 256 tokens are read.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model's files are missing or damaged.
        """
        require_unicode(texts)
        model = self._load()
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), TOKENIZER_BATCH):
            encodings = model.tokenizer.encode_batch(list(texts[start : start + TOKENIZER_BATCH]))
            run_all(model.run, [encoding.ids for encoding in encodings], rows[start : start + TOKENIZER_BATCH])
        return rows

    def encode_spans(
        self,
        texts: Sequence[str],
        spans: Sequence[Sequence[tuple[int, int]]],
        on_states: OnStates | None = None,
    ) -> SpanVectors:
        """Return the rows of `encode`, bit for bit, and vectors of spans of the texts, from the same runs.

        The vector of a span is the unit mean of the states of the tokens that begin in it.

        Args:
            texts: n texts, of which the first 256 tokens are read.
            spans: For each text the start and the end of each span, in characters.
            on_states: Called with the position of each text, the offsets of its m tokens and their states (m, 384);
                for different texts from different threads.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model's files are missing or damaged.
        """
        require_unicode(texts)
        model = self._load()
        rows = np.empty((len(texts), self.dimension), dtype=np.float32)
        vectors = [np.zeros((len(own), self.dimension), dtype=np.float32) for own in spans]
        read: list[int] = []
        for start in range(0, len(texts), TOKENIZER_BATCH):
            part = slice(start, start + TOKENIZER_BATCH)
            encodings = model.tokenizer.encode_batch(list(texts[part]))
            tokens = [_SpanTokens.read(*pair) for pair in zip(encodings, spans[part], strict=True)]
            visit = None if on_states is None else _visit_states(on_states, start, encodings)
            run_all(model.run, [encoding.ids for encoding in encodings], rows[part], tokens, vectors[part], visit)
            read += [
                encoding.offsets[-2][1] if encoding.overflowing else len(text)
                for encoding, text in zip(encodings, texts[part], strict=True)
            ]
        return SpanVectors(rows, vectors, read)

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """Return unit rows (len(texts), 384), the same as `encode`, with its errors."""
        return self.encode(texts)

    def encode_tokens(self, texts: Sequence[str], *, queries: bool = False) -> list[FloatArray]:
        """Return for each text unit rows (t, 384) of the states of its tokens, of which the first 254 are read.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model's files are missing or damaged.
        """
        del queries  # read as texts are
        require_unicode(texts)
        model = self._load()

        def run(text: str) -> FloatArray:
            states = model.run(["states"], model.tokenizer.encode(text).ids)[0][0][1:-1]
            unit: FloatArray = states / np.maximum(np.linalg.norm(states, axis=1, keepdims=True), 1e-9)
            return unit

        with ThreadPoolExecutor(worker_count(), thread_name_prefix="clew-encode") as threads:
            return list(threads.map(run, texts))

    def _load(self) -> _LoadedModel:
        return self._model.get()


def _open_model(folder: Path) -> _LoadedModel:
    check_weights(folder / "model.onnx", SHA256)
    check_weights(folder / "tokenizer.json", TOKENIZER_SHA256)
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return _LoadedModel(tokenizer, open_session(folder / "model.onnx"))


def open_session(path: Path, weights: Mapping[str, NDArray[Any]] | None = None) -> Any:
    """Return a session of ONNX Runtime for a file, with the weights that it names and does not hold."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_pattern = False  # it would keep a plan for every length of a text
    # The file is written in the operators that run: rewriting it would cost time and tie the bits to a version.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if weights:
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in weights.values()]
        options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@dataclass(frozen=True, slots=True)
class _SpanTokens:
    """The tokens of each of k spans of a text: from the first to the one before the last."""

    first: LongArray  # (k,)
    last: LongArray  # (k,)

    @classmethod
    def read(cls, encoding: Any, spans: Sequence[tuple[int, int]]) -> "_SpanTokens":
        starts = np.array(encoding.offsets, dtype=np.int64)[1:-1, 0]  # without the two special tokens
        bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)
        return cls(1 + np.searchsorted(starts, bounds[:, 0]), 1 + np.searchsorted(starts, bounds[:, 1]))

    def pool(self, states: FloatArray, vectors: FloatArray) -> None:
        """Write the unit means (k, d) of the states (L, d) of each span's tokens; a span without any stays as it is."""
        for row, (first, last) in enumerate(zip(self.first.tolist(), self.last.tolist(), strict=True)):
            if first < last:
                mean = states[first:last].mean(axis=0)
                vectors[row] = mean / np.sqrt(mean @ mean)


def _visit_states(on_states: OnStates, start: int, encodings: Sequence[Any]) -> Callable[[int, FloatArray], None]:
    """Return what is called with the row and the states of a text whose encoding is among these."""

    def visit(row: int, states: FloatArray) -> None:
        on_states(start + row, encodings[row].offsets[1:-1], states[1:-1])

    return visit


RunModel = Callable[[Sequence[str], Sequence[int]], list[FloatArray]]
"""Returns the outputs of a model by name, `rows` (1, d) and `states` (1, L, d), for the ids of L tokens."""


def run_all(
    run_model: RunModel,
    tokens: Sequence[list[int]],
    rows: FloatArray,
    spans: Sequence[_SpanTokens] = (),
    vectors: Sequence[FloatArray] = (),
    visit: Callable[[int, FloatArray], None] | None = None,
) -> None:
    """Fill rows (n, d) from the token ids of n texts, and the vectors of their spans where these are given."""
    outputs = ["rows", "states"] if spans else ["rows"]

    def run(start: int) -> None:
        for row in range(start, min(start + _TEXTS_PER_TASK, len(tokens))):
            found = run_model(outputs, tokens[row])
            rows[row] = found[0][0]
            if spans:
                spans[row].pool(found[1][0], vectors[row])
            if spans and visit is not None:
                visit(row, found[1][0])

    tasks = range(0, len(tokens), _TEXTS_PER_TASK)
    if len(tasks) < 2 or worker_count() == 1:
        for task in tasks:
            run(task)
        return
    with ThreadPoolExecutor(min(worker_count(), len(tasks)), thread_name_prefix="clew-encode") as threads:
        for _ in threads.map(run, tasks):
            pass  # each writes its own rows; iterating raises the errors of the threads
