"""all-MiniLM-L6-v2 in fp32, without `sentence-transformers`, whose import takes seconds."""

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import ProviderError
from clew.models.encoders.deterministic_batches import GPU_BATCH_TOKENS, encode_rows
from clew.models.encoders.int8_minilm import MAX_TOKENS, TOKENIZER_BATCH
from clew.models.hub import check_weights
from clew.models.threads import choose_device, one_thread, one_thread_worker_count
from clew.models.validation import require_unicode
from clew.plugins.extras import import_extra

if TYPE_CHECKING:
    from clew.models.encoders.bert import Bert
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

FP32_MINILM = "all-MiniLM-L6-v2"
"""Its name, as in indexes made before the default encoder had 8-bit weights."""

ALL_MINILM_L6_V2 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the published weights of sentence-transformers/all-MiniLM-L6-v2."""

"""Tokens read of a text, its two special tokens included; the model was trained with no more."""

MODEL_FILES = ("config.json", "tokenizer.json", "model.safetensors")


def bert_fingerprint(sha256: str) -> str:
    """Return the fingerprint of an encoder by the SHA-256 of its weights."""
    return f"bert-mean-{MAX_TOKENS}-{sha256[:32]}"


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    tokenizer: Any  # tokenizers.Tokenizer has no complete types
    bert: "Bert"


@final
class MiniLM:
    """A BERT encoder with mean pooling and unit rows; loads its weights on first use.

    Args:
        folder: Folder with config.json, tokenizer.json and model.safetensors, or a function that returns it.
        name: The name to open this encoder by.
        dimension: Width of the vectors.
        sha256: SHA-256 of model.safetensors, checked on load.
        device: "auto", "cpu", or "cuda" or "mps", where it runs in batches of many texts; in float32 everywhere, as its
            fingerprint promises.
        otherwise: What to do where torch is missing, for the end of the message.
    """

    def __init__(
        self,
        folder: Path | Callable[[], Path],
        name: str = FP32_MINILM,
        dimension: int = 384,
        sha256: str = ALL_MINILM_L6_V2,
        device: str = "auto",
        otherwise: str = "",
    ) -> None:
        self._folder = folder
        self._name = name
        self._dimension = dimension
        self._sha256 = sha256
        self._device = device
        self._otherwise = otherwise
        self._model: _LoadedModel | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name to open this encoder by."""
        return self._name

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """The weights, the length read of a text and the pooling; loads nothing."""
        return bert_fingerprint(self._sha256)

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension) of texts, of which the first 256 tokens are read.

        Raises:
            InputError: A text holds a lone surrogate.
            MissingPackageError: torch is not installed.
            ProviderError: The model's files are missing, damaged or not a BERT encoder.
        """
        require_unicode(texts)
        loaded = self._load()
        import torch

        device = loaded.bert.word_embeddings.device
        on_cpu = device.type == "cpu"

        def forward(ids: "LongArray", mask: "BoolArray") -> "FloatArray":
            with torch.inference_mode(), one_thread() if on_cpu else nullcontext():
                batch = torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)
                rows: FloatArray = loaded.bert.encode_batch(*batch).float().cpu().numpy()
            return rows

        tokens = _tokenize(loaded.tokenizer, texts)
        if on_cpu:
            return encode_rows(tokens, self._dimension, forward, one_thread_worker_count())
        return encode_rows(tokens, self._dimension, forward, batch_tokens=GPU_BATCH_TOKENS)

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return the unit rows (len(texts), dimension) of `encode` within 1e-6, one by one, fastest for a single text.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model's files are missing, damaged or not a BERT encoder.
        """
        loaded = self._load()
        if loaded.bert.word_embeddings.device.type != "cpu":
            return self.encode(texts)
        require_unicode(texts)
        import torch

        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        with torch.inference_mode(), one_thread():
            for row, ids in enumerate(_tokenize(loaded.tokenizer, texts)):
                rows[row] = loaded.bert.encode_single(torch.from_numpy(ids.astype(np.int64))).numpy()
        return rows

    def _load(self) -> _LoadedModel:
        with self._lock:
            if self._model is None:
                self._model = self._read_model()
            return self._model

    def _read_model(self) -> _LoadedModel:
        # First of all: weights are not downloaded where they could not be run.
        import_extra("torch", "encoders", f"the encoder {self._name}", self._otherwise)
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
            json.loads(rules)["model"]  # the tokenizer raises a bare Exception for a damaged file
            tokenizer = Tokenizer.from_str(rules)
            weights = load_file(folder / "model.safetensors", choose_device(self._device))
            shape = (config["num_hidden_layers"], config["num_attention_heads"], config.get("layer_norm_eps", 1e-12))
            bert = build_bert(weights, *shape)
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise ProviderError(f"cannot read the model in {folder}: {error!r}; install it again") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return _LoadedModel(tokenizer, bert)


def _read_config(folder: Path) -> dict[str, Any]:
    """Read config.json; raise an error for models of another architecture."""
    missing = [name for name in MODEL_FILES if not (folder / name).is_file()]
    if missing:
        raise ProviderError(f"{folder} lacks {', '.join(missing)}; install the model again")
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        architecture = (config["model_type"], config["hidden_act"], config.get("position_embedding_type", "absolute"))
        absent = [key for key in ("hidden_size", "num_hidden_layers", "num_attention_heads") if key not in config]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProviderError(f"cannot read {folder / 'config.json'}: {error!r}; install the model again") from error
    if absent or architecture != ("bert", "gelu", "absolute"):
        raise ProviderError(
            f"{folder / 'config.json'} gives {architecture} and lacks {absent}; wanted model type bert, gelu and "
            "absolute positions; open any other model with sentence-transformers"
        )
    return config


def _tokenize(tokenizer: Any, texts: Sequence[str]) -> "list[IntArray]":
    """Return each text's token ids, (n,) with 2 <= n <= MAX_TOKENS."""
    return [
        np.asarray(encoding.ids, dtype=np.int32)
        for start in range(0, len(texts), TOKENIZER_BATCH)
        for encoding in tokenizer.encode_batch(list(texts[start : start + TOKENIZER_BATCH]))
    ]
