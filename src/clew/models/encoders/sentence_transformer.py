"""Any model that `sentence-transformers` can open, made independent of how texts are batched."""

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import ProviderError
from clew.models.encoders.deterministic_batches import BATCH_LENGTHS, encode_rows
from clew.models.hub import check_model
from clew.models.validation import require_unicode
from clew.models.weights_checksum import hash_weights

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

_QUERY_PROMPT_NAMES = ("query",)
_TEXT_PROMPT_NAMES = ("document", "passage", "corpus")


@dataclass(frozen=True, slots=True)
class _LoadedModel:
    model: Any  # sentence_transformers.SentenceTransformer
    dimension: int
    fingerprint: str
    max_tokens: int
    query_prompt: str
    text_prompt: str
    normalize: bool = True


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """How rows are made, where the model does not decide it.

    Attributes:
        normalize: Whether rows are brought to unit length; else they are what the model gives.
        query: Put before questions.
        text: Put before texts.
    """

    normalize: bool = True
    query: str = ""
    text: str = ""


@final
class SentenceTransformerEncoder:
    """A model of the Hugging Face hub or of a local folder, on the processor.

    Every property but `name` loads the model. The first 512 tokens of a text are read, or fewer where the model says
    so. A model that names prompts for queries or documents has them put before its texts.

    Args:
        name: "owner/name" on the hub, or a folder.
        revision: A commit, tag or branch of the hub's repository; None for its main branch.
        config: How its rows are made where that is not the model's own way, as for the encoder of a network.
    """

    def __init__(self, name: str, revision: str | None = None, config: "EmbeddingConfig | None" = None) -> None:
        self._name = name
        self._revision = revision
        self._config = config
        self._model: _LoadedModel | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name a user gives to ask for this encoder."""
        return self._name if self._revision is None else f"{self._name}@{self._revision}"

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._load().dimension

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, the tokeniser, the modules' settings, the prompts and the length that is read."""
        return self._load().fingerprint

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Encode texts to be stored.

        Args:
            texts: Any strings.

        Returns:
            Unit rows (len(texts), dimension); a row depends on its own text only, bit for bit.

        Raises:
            InputError: A text cannot be written as UTF-8.
            ProviderError: The model cannot be opened.
        """
        require_unicode(texts)
        loaded = self._load()
        return encode_rows(
            _tokenize(loaded, loaded.text_prompt, texts),
            loaded.dimension,
            _make_forward(loaded.model, loaded.normalize),
        )

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Encode questions one by one, with the model's prompt for queries.

        Args:
            texts: Any strings.

        Returns:
            Unit rows (len(texts), dimension), comparable with those of `encode`.

        Raises:
            InputError: A text cannot be written as UTF-8.
            ProviderError: The model cannot be opened.
        """
        require_unicode(texts)
        loaded = self._load()
        forward = _make_forward(loaded.model, loaded.normalize)
        rows = np.empty((len(texts), loaded.dimension), dtype=np.float32)
        for place, ids in enumerate(_tokenize(loaded, loaded.query_prompt, texts)):
            rows[place] = forward(ids[None, :].astype(np.int64), np.ones((1, len(ids)), dtype=np.bool_))[0]
        return rows

    def _load(self) -> _LoadedModel:
        with self._lock:
            if self._model is None:
                self._model = _open_model(self._name, self._revision, self._config)
            return self._model


def _open_model(name: str, revision: str | None, config: "EmbeddingConfig | None") -> _LoadedModel:
    try:
        from safetensors import SafetensorError
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ProviderError(
            f"the encoder {name!r} needs sentence-transformers, which cannot be imported ({error}); "
            "run pip install sentence-transformers, or use --encoder hashing"
        ) from error
    wanted = "wanted a folder or a name on the Hugging Face hub"
    check_model(name, revision, "encoder", "use --encoder all-MiniLM-L6-v2, hashing or none", "sentence-transformers")
    try:
        model = SentenceTransformer(name, revision=revision, device="cpu", trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = (str(error).strip() or repr(error)).splitlines()[0]
        raise ProviderError(
            f"cannot open the encoder {name!r}: {reason}; {wanted}; check the name and the network, or use "
            "--encoder all-MiniLM-L6-v2"
        ) from error
    model.eval()
    limit = min(model.max_seq_length or BATCH_LENGTHS[-1], BATCH_LENGTHS[-1])
    prompts: dict[str, str] = {key: value or "" for key, value in model.prompts.items()}
    default = prompts.get(model.default_prompt_name or "", "")
    width = _make_forward(model)(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.bool_)).shape[1]
    if config is not None:
        fingerprint = f"{_fingerprint(model, limit)}-{blake2b(repr(config).encode(), digest_size=4).hexdigest()}"
        return _LoadedModel(model, width, fingerprint, limit, config.query, config.text, config.normalize)
    return _LoadedModel(
        model,
        width,
        _fingerprint(model, limit),
        limit,
        next((prompts[key] for key in _QUERY_PROMPT_NAMES if prompts.get(key)), default),
        next((prompts[key] for key in _TEXT_PROMPT_NAMES if prompts.get(key)), default),
    )


def _fingerprint(model: Any, max_tokens: int) -> str:
    """Hash the model as it lies in memory, so that the way its files were written does not count."""
    digest = blake2b(digest_size=16)
    hash_weights(digest, model.state_dict())
    tokenizer = model.tokenizer
    rust = getattr(tokenizer, "backend_tokenizer", None)
    digest.update((json.dumps(tokenizer.get_vocab(), sort_keys=True) if rust is None else rust.to_str()).encode())
    modules: list[Any] = [[type(module).__name__, getattr(module, "get_config_dict", dict)()] for module in model]
    settings: list[Any] = [modules, max_tokens, model.prompts, model.default_prompt_name]
    digest.update(json.dumps(settings, sort_keys=True, default=str).encode())
    return f"sentence-transformers-{digest.hexdigest()}"


def _make_forward(model: Any, normalize: bool = True) -> "Callable[[LongArray, BoolArray], FloatArray]":
    import torch

    def forward(ids: "LongArray", real: "BoolArray") -> "FloatArray":
        batch = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(real.astype(np.int64))}
        with torch.inference_mode():
            rows = model.forward(batch)["sentence_embedding"].float()
            found: FloatArray = (torch.nn.functional.normalize(rows, dim=1) if normalize else rows).numpy()
        return found

    return forward


def _tokenize(loaded: _LoadedModel, prompt: str, texts: Sequence[str]) -> "list[IntArray]":
    """Return each text's token ids, (n,) with 1 <= n <= limit."""
    if not texts:
        return []
    found = loaded.model.tokenizer([prompt + text for text in texts], truncation=True, max_length=loaded.max_tokens)
    return [np.asarray(ids or [0], dtype=np.int32) for ids in found["input_ids"]]
