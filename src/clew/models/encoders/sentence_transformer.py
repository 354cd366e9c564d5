"""Models of `sentence-transformers`, with rows that do not depend on the batch.

Batches of fixed shapes: a row's bits depend on its own text only.

A matrix product may sum its terms in another order when the number of rows changes, so that a text would differ in its
last bits with the batch it is in. Here the shape of a text's batch depends only on its number of tokens; a batch that
is not full is padded with unused rows.
"""

import json
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.models.hub import check_model, hash_weights, hidden_loading_bars
from clew.models.threads import choose_device
from clew.models.validation import map_load_errors, require_unicode
from clew.plugins.extras import import_extra

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray


BATCH_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512)
"""Lengths of a batch in tokens; a text goes to the shortest that holds it."""

BATCH_TOKENS = 512
"""Tokens in a batch: fewer are slower on many texts, more waste time on few."""


GPU_BATCH_TOKENS = 65_536
"""Tokens in a batch on a GPU."""


def encode_rows(
    tokens: "Sequence[IntArray]",
    dimension: int,
    forward: "Callable[[LongArray, BoolArray], FloatArray]",
    workers: int = 1,
    batch_tokens: int = BATCH_TOKENS,
) -> "FloatArray":
    """Run `forward` over all texts in batches of fixed shapes.

    Args:
        tokens: One array a text, (n,) with 1 <= n <= 512.
        dimension: Width of the rows that `forward` returns.
        forward: Takes token ids (B, L) and a bool mask of the tokens that are not padding (B, L), and returns rows
            (B, dimension).
        workers: Number of threads that call `forward`.
        batch_tokens: Tokens in a batch.

    Returns:
        Rows (len(tokens), dimension), in the order of the texts.
    """
    rows = np.empty((len(tokens), dimension), dtype=np.float32)

    def run(batch: tuple[list[int], int]) -> None:
        members, length = batch
        ids = np.zeros((max(1, batch_tokens // length), length), dtype=np.int64)
        mask = np.zeros(ids.shape, dtype=np.bool_)
        mask[:, 0] = True  # a row of padding alone would divide by zero
        for row, member in enumerate(members):
            text = tokens[member]
            ids[row, : len(text)] = text
            mask[row, : len(text)] = True
        rows[members] = forward(ids, mask)[: len(members)]

    batches = list(_group_by_length([len(ids) for ids in tokens], batch_tokens))
    if workers == 1 or len(batches) < 2:
        for batch in batches:
            run(batch)
        return rows
    with ThreadPoolExecutor(min(workers, len(batches)), thread_name_prefix="clew-encode") as threads:
        for _ in threads.map(run, batches):
            pass  # each writes its own rows; iterating raises the errors of the threads
    return rows


def _group_by_length(counts: Sequence[int], batch_tokens: int) -> Iterator[tuple[list[int], int]]:
    """Yield (texts, length) so that every text is in one batch, short batches first."""
    by_length: dict[int, list[int]] = {}
    for text, count in enumerate(counts):
        by_length.setdefault(BATCH_LENGTHS[bisect_left(BATCH_LENGTHS, count)], []).append(text)
    for length, texts in sorted(by_length.items()):
        size = max(1, batch_tokens // length)
        yield from ((texts[start : start + size], length) for start in range(0, len(texts), size))


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
    """Settings that replace those of the model.

    Attributes:
        normalize: Whether rows are scaled to unit length.
        query: Prompt before questions.
        text: Prompt before texts.
    """

    normalize: bool = True
    query: str = ""
    text: str = ""


@final
class SentenceTransformerEncoder:
    """A model of the Hugging Face hub or of a local folder.

    Every property but `name` loads the model. The first 512 tokens of a text are read, or fewer if the model is
    limited to fewer. The model's prompts for queries and documents, if any, are put before the texts.

    Args:
        name: "owner/name" on the hub, or a folder.
        revision: A commit, tag or branch of the hub's repository; None for its main branch.
        config: Normalisation and prompts in place of the model's own.
        device: "auto", "cpu", "cuda" (in bfloat16) or "mps".
        otherwise: What to do where the model cannot be opened, for the end of messages.
    """

    def __init__(
        self,
        name: str,
        revision: str | None = None,
        config: "EmbeddingConfig | None" = None,
        device: str = "auto",
        otherwise: str = "choose another encoder",
    ) -> None:
        self._name = name
        self._revision = revision
        self._config = config
        self._device = device
        self._otherwise = otherwise
        self._model: _LoadedModel | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name to open this encoder by."""
        return self._name if self._revision is None else f"{self._name}@{self._revision}"

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._load().dimension

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, the tokenizer, the modules' settings, the prompts and the length read of a text."""
        return self._load().fingerprint

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return rows (len(texts), dimension) of texts with the model's prompt for documents.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model cannot be opened.
        """
        require_unicode(texts)
        loaded = self._load()
        tokens = _tokenize(loaded, loaded.text_prompt, texts)
        forward = _make_forward(loaded.model, loaded.normalize)
        batch_tokens = BATCH_TOKENS if loaded.model.device.type == "cpu" else GPU_BATCH_TOKENS
        return encode_rows(tokens, loaded.dimension, forward, batch_tokens=batch_tokens)

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return rows (len(texts), dimension) of questions with the model's prompt for queries, one by one.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model cannot be opened.
        """
        require_unicode(texts)
        loaded = self._load()
        forward = _make_forward(loaded.model, loaded.normalize)
        rows = np.empty((len(texts), loaded.dimension), dtype=np.float32)
        for row, ids in enumerate(_tokenize(loaded, loaded.query_prompt, texts)):
            rows[row] = forward(ids[None, :].astype(np.int64), np.ones((1, len(ids)), dtype=np.bool_))[0]
        return rows

    def encode_tokens(self, texts: Sequence[str], *, queries: bool = False) -> "list[FloatArray]":
        """Return for each text unit rows (t, d) of the states of its tokens, those of a prompt included.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: The model cannot be opened.
        """
        import torch

        require_unicode(texts)
        loaded = self._load()
        device = loaded.model.device
        rows: list[FloatArray] = []
        for ids in _tokenize(loaded, loaded.query_prompt if queries else loaded.text_prompt, texts):
            tokens = torch.from_numpy(ids[None, :].astype(np.int64)).to(device)
            with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                states = loaded.model.forward({"input_ids": tokens, "attention_mask": torch.ones_like(tokens)})
            vectors = states["token_embeddings"][0].float()
            rows.append(torch.nn.functional.normalize(vectors[1:-1], dim=1).cpu().numpy())
        return rows

    def _load(self) -> _LoadedModel:
        with self._lock:
            if self._model is None:
                self._model = _open_model(self._name, self._revision, self._config, self._device, self._otherwise)
            return self._model


def _open_model(
    name: str, revision: str | None, config: "EmbeddingConfig | None", device: str, otherwise: str
) -> _LoadedModel:
    package = import_extra("sentence_transformers", "encoders", f"the encoder {name}", otherwise)
    check_model(name, revision, "encoder", otherwise, "sentence-transformers")
    chosen = choose_device(device)
    with (
        map_load_errors(
            lambda reason: (
                f"cannot open the encoder {name!r}: {reason}; wanted a folder or a name on the Hugging Face hub; "
                f"check the name and the network, or {otherwise}"
            )
        ),
        hidden_loading_bars(),
    ):
        model = package.SentenceTransformer(name, revision=revision, device=chosen, trust_remote_code=False)
    model.eval()
    max_tokens = min(model.max_seq_length or BATCH_LENGTHS[-1], BATCH_LENGTHS[-1])
    prompts: dict[str, str] = {key: value or "" for key, value in model.prompts.items()}
    default = prompts.get(model.default_prompt_name or "", "")
    width = _make_forward(model)(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.bool_)).shape[1]
    fingerprint = _fingerprint(model, max_tokens)
    if config is not None:
        # The class's name when the first vectors were stored: another one would invalidate them.
        settings = f"Reading(normalize={config.normalize!r}, query={config.query!r}, text={config.text!r})"
        fingerprint = f"{fingerprint}-{blake2b(settings.encode(), digest_size=4).hexdigest()}"
        return _LoadedModel(model, width, fingerprint, max_tokens, config.query, config.text, config.normalize)
    return _LoadedModel(
        model,
        width,
        fingerprint,
        max_tokens,
        next((prompts[key] for key in _QUERY_PROMPT_NAMES if prompts.get(key)), default),
        next((prompts[key] for key in _TEXT_PROMPT_NAMES if prompts.get(key)), default),
    )


def _fingerprint(model: Any, max_tokens: int) -> str:
    """Hash the model in memory, independently of the format of its files."""
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

    device = model.device

    def forward(ids: "LongArray", mask: "BoolArray") -> "FloatArray":
        tensors = torch.from_numpy(ids).to(device), torch.from_numpy(mask.astype(np.int64)).to(device)
        batch = dict(zip(("input_ids", "attention_mask"), tensors, strict=True))
        with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            vectors = model.forward(batch)["sentence_embedding"].float()
        rows: FloatArray = (torch.nn.functional.normalize(vectors, dim=1) if normalize else vectors).cpu().numpy()
        return rows

    return forward


def _tokenize(loaded: _LoadedModel, prompt: str, texts: Sequence[str]) -> "list[IntArray]":
    """Return each text's token ids, (n,) with 1 <= n <= max_tokens."""
    if not texts:
        return []
    encoded = loaded.model.tokenizer([prompt + text for text in texts], truncation=True, max_length=loaded.max_tokens)
    return [np.asarray(ids or [0], dtype=np.int32) for ids in encoded["input_ids"]]
