"""The default encoder, without the seconds that importing `sentence-transformers` costs."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import ProviderError
from clew.models.encoders.deterministic_batches import encode_rows
from clew.models.validation import require_unicode
from clew.models.weights_checksum import check_weights

if TYPE_CHECKING:
    from clew.models.encoders.bert import Bert
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

ALL_MINILM_L6_V2 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published weights of sentence-transformers/all-MiniLM-L6-v2."""

MAX_TOKENS = 256
"""Tokens of a text that are read, its two marks included; the model was trained with no more."""

MODEL_FILES = ("config.json", "tokenizer.json", "model.safetensors")
_TOKENIZER_BATCH = 2048  # an encoding of the tokenizer keeps offsets and strings: 15 kB a text


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokenizer: Any  # tokenizers.Tokenizer has no complete types
    bert: "Bert"


@final
class MiniLM:
    """A BERT encoder with mean pooling and unit rows; loads its weights on first use.

    Args:
        folder: Holds config.json, tokenizer.json and model.safetensors; or a function that finds it on first use.
        name: The name a user asks for.
        dimension: The model's width.
        sha256: SHA-256 of model.safetensors, checked on load.
    """

    def __init__(
        self,
        folder: Path | Callable[[], Path],
        name: str = "all-MiniLM-L6-v2",
        dimension: int = 384,
        sha256: str = ALL_MINILM_L6_V2,
    ) -> None:
        self._folder = folder
        self._name = name
        self._dimension = dimension
        self._sha256 = sha256
        self._model: _LoadedModel | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name a user gives to ask for this encoder."""
        return self._name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """The weights, how much of a text is read, and the pooling; known without loading anything."""
        return f"bert-mean-{MAX_TOKENS}-{self._sha256[:32]}"

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Encode texts to be stored.

        Args:
            texts: Any strings; only the first 256 tokens of each are read.

        Returns:
            Unit rows (len(texts), dimension); a row depends on its own text only, bit for bit.

        Raises:
            InputError: A text cannot be written as UTF-8.
            ProviderError: The model's files are absent, damaged or not a BERT encoder.
        """
        require_unicode(texts)
        loaded = self._load()
        import torch

        from clew.models.torch_threads import one_thread, worker_count

        def forward(ids: "LongArray", real: "BoolArray") -> "FloatArray":
            with torch.inference_mode(), one_thread():
                rows: FloatArray = loaded.bert.encode_batch(torch.from_numpy(ids), torch.from_numpy(real)).numpy()
            return rows

        return encode_rows(_tokenize(loaded.tokenizer, texts), self._dimension, forward, worker_count())

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Encode questions one by one, in the least time for one.

        Args:
            texts: Any strings; only the first 256 tokens of each are read.

        Returns:
            Unit rows (len(texts), dimension); within 1e-6 of those of `encode`, and as independent of each other.

        Raises:
            InputError: A text cannot be written as UTF-8.
            ProviderError: The model's files are absent, damaged or not a BERT encoder.
        """
        require_unicode(texts)
        loaded = self._load()
        import torch

        from clew.models.torch_threads import one_thread

        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        with torch.inference_mode(), one_thread():
            for place, ids in enumerate(_tokenize(loaded.tokenizer, texts)):
                rows[place] = loaded.bert.encode_single(torch.from_numpy(ids.astype(np.int64))).numpy()
        return rows

    def _load(self) -> _LoadedModel:
        with self._lock:
            if self._model is None:
                self._model = self._read_model()
            return self._model

    def _read_model(self) -> _LoadedModel:
        folder = self._folder if isinstance(self._folder, Path) else self._folder()
        config = _read_config(folder)
        check_weights(folder / "model.safetensors", self._sha256)
        if config["hidden_size"] != self._dimension:
            raise ProviderError(
                f"the model in {folder} is {config['hidden_size']} wide; wanted {self._dimension}; give its folder"
            )
        from safetensors import SafetensorError
        from safetensors.torch import load_file
        from tokenizers import Tokenizer

        from clew.models.encoders.bert import build_bert

        try:
            rules = (folder / "tokenizer.json").read_text(encoding="utf-8")
            json.loads(rules)["model"]  # the tokenizer's own complaint about a damaged file has no type to catch
            tokenizer = Tokenizer.from_str(rules)
            weights = load_file(folder / "model.safetensors")
            shape = (config["num_hidden_layers"], config["num_attention_heads"], config.get("layer_norm_eps", 1e-12))
            bert = build_bert(weights, *shape)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise ProviderError(f"cannot read the model in {folder}: {error!r}; install it again") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return _LoadedModel(tokenizer, bert)


def _read_config(folder: Path) -> dict[str, Any]:
    """Read config.json and refuse any model whose arithmetic is another."""
    absent = [name for name in MODEL_FILES if not (folder / name).is_file()]
    if absent:
        raise ProviderError(f"{folder} lacks {', '.join(absent)}; wanted {', '.join(MODEL_FILES)}; install again")
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        seen = (config["model_type"], config["hidden_act"], config.get("position_embedding_type", "absolute"))
        needed = [key for key in ("hidden_size", "num_hidden_layers", "num_attention_heads") if key not in config]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProviderError(f"cannot read {folder / 'config.json'}: {error!r}; install the model again") from error
    if needed or seen != ("bert", "gelu", "absolute"):
        raise ProviderError(
            f"{folder / 'config.json'} says {seen} and lacks {needed}; wanted model type bert, gelu and absolute "
            "positions; open any other model with sentence-transformers"
        )
    return config


def _tokenize(tokenizer: Any, texts: Sequence[str]) -> "list[IntArray]":
    """Return each text's token ids, (n,) with 2 <= n <= MAX_TOKENS."""
    return [
        np.asarray(encoding.ids, dtype=np.int32)
        for start in range(0, len(texts), _TOKENIZER_BATCH)
        for encoding in tokenizer.encode_batch(list(texts[start : start + _TOKENIZER_BATCH]))
    ]
