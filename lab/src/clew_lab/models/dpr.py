"""A pair of encoders, one of questions and one of passages, as dense passage retrieval trains them.

Both are BERT models, whose vector of a text is the state of its first token. Checkpoints of DPR are read as they are,
and any other encoder model of `transformers` likewise.

Source: Karpukhin et al., "Dense Passage Retrieval for Open-Domain Question Answering" (2020), section 3.
Differs from the source: vectors are scaled to unit length, as all vectors of an index are, so that passages are ranked
by cosine instead of the inner product; title and text are one text, not a pair with a separator.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import InputError, ProviderError
from clew.models.encoders.sentence_transformer import BATCH_LENGTHS, BATCH_TOKENS, GPU_BATCH_TOKENS, encode_rows
from clew.models.hub import check_model, hash_weights
from clew.models.threads import choose_device
from clew.models.validation import map_load_errors, require_unicode
from clew.plugins.extras import import_package

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

DPR = "dpr"
_MODEL_TYPE = "dpr"  # of a checkpoint of DPR, whose class depends on what it encodes


@dataclass(frozen=True, slots=True)
class _Tower:
    """One encoder of the pair."""

    model: Any  # of transformers
    tokenizer: Any
    dimension: int
    max_tokens: int
    fingerprint: str


@final
class DPREncoder:
    """Encodes questions by one model and passages, and all other texts, by another.

    Every property but `name` loads the models. The first 512 tokens of a text are read, or fewer if a model is limited
    to fewer.

    Args:
        names: "QUESTION_MODEL,PASSAGE_MODEL", each a folder or "owner/name" on the hub.
        device: "auto", "cpu", "cuda" (in bfloat16) or "mps".
        otherwise: What to do where a model cannot be opened, for the end of messages.

    Raises:
        InputError: There are not two names.
    """

    def __init__(self, names: str, device: str = "auto", otherwise: str = "choose another encoder") -> None:
        models = [name.strip() for name in names.split(",")]
        if len(models) != 2 or not all(models):
            raise InputError(
                f"encoder '{DPR}:{names}'; wanted {DPR}:QUESTION_MODEL,PASSAGE_MODEL, two folders or names on the hub"
            )
        self._names = models
        self._device = device
        self._otherwise = otherwise
        self._pair: tuple[_Tower, _Tower] | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name to open this encoder by."""
        return f"{DPR}:{','.join(self._names)}"

    @property
    def dimension(self) -> int:
        """Width of the vectors."""
        return self._load()[1].dimension

    @property
    def fingerprint(self) -> str:
        """A hash of the weights, the tokenizers and the lengths read of a text, of both models."""
        digest = blake2b("\0".join(tower.fingerprint for tower in self._load()).encode(), digest_size=16)
        return f"{DPR}-{digest.hexdigest()}"

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension) of texts by the model of passages.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: A model cannot be opened.
        """
        require_unicode(texts)
        tower = self._load()[1]
        batch_tokens = BATCH_TOKENS if tower.model.device.type == "cpu" else GPU_BATCH_TOKENS
        forward = partial(_first_states, tower)
        return encode_rows(_tokenize(tower, texts), tower.dimension, forward, batch_tokens=batch_tokens)

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension) of questions by the model of questions, one by one.

        Raises:
            InputError: A text holds a lone surrogate.
            ProviderError: A model cannot be opened.
        """
        require_unicode(texts)
        tower = self._load()[0]
        rows = np.empty((len(texts), tower.dimension), dtype=np.float32)
        for row, ids in enumerate(_tokenize(tower, texts)):
            rows[row] = _first_states(tower, ids[None, :].astype(np.int64), np.ones((1, len(ids)), dtype=np.bool_))[0]
        return rows

    def _load(self) -> tuple[_Tower, _Tower]:
        with self._lock:
            if self._pair is None:
                questions, passages = self._names
                pair = self._open(questions, of_questions=True), self._open(passages, of_questions=False)
                if pair[0].dimension != pair[1].dimension:
                    raise ProviderError(
                        f"the encoder {self.name}: its vectors of questions have {pair[0].dimension} dimensions, those "
                        f"of passages {pair[1].dimension}; wanted a pair that was trained together"
                    )
                self._pair = pair
            return self._pair

    def _open(self, name: str, *, of_questions: bool) -> _Tower:
        library = import_package("transformers", "clew-lab", f"the encoder {self.name}", self._otherwise)
        check_model(name, None, "encoder", self._otherwise)
        device = choose_device(self._device)

        def explain(reason: str) -> str:
            wanted = "wanted a folder or a name on the Hugging Face hub"
            return f"cannot open the encoder {name!r}: {reason}; {wanted}; check the name, or {self._otherwise}"

        with map_load_errors(explain):
            config = library.AutoConfig.from_pretrained(name)
            loader = _loader(library, config.model_type, of_questions=of_questions)
            model = loader.from_pretrained(name).to(device).eval()
            tokenizer = library.AutoTokenizer.from_pretrained(name)
        limit = min(config.max_position_embeddings, tokenizer.model_max_length, BATCH_LENGTHS[-1])
        return _Tower(model, tokenizer, config.hidden_size, limit, _fingerprint(model, tokenizer, limit))


def _loader(library: Any, model_type: str, *, of_questions: bool) -> Any:
    """Return the class of transformers that opens a model."""
    if model_type != _MODEL_TYPE:
        return library.AutoModel
    return library.DPRQuestionEncoder if of_questions else library.DPRContextEncoder


def _first_states(tower: _Tower, ids: "LongArray", mask: "BoolArray") -> "FloatArray":
    """Return unit rows (B, d) of token ids (B, L) and their mask (B, L)."""
    import torch

    device = tower.model.device
    tokens, attended = torch.from_numpy(ids).to(device), torch.from_numpy(mask.astype(np.int64)).to(device)
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        output = tower.model(input_ids=tokens, attention_mask=attended)
    # A model of DPR returns the vector of the first token as its only output.
    states = getattr(output, "last_hidden_state", None)
    vectors = (output.pooler_output if states is None else states[:, 0]).float()
    rows: FloatArray = torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()
    return rows


def _tokenize(tower: _Tower, texts: Sequence[str]) -> "list[IntArray]":
    """Return each text's token ids, (n,) with 1 <= n <= max_tokens."""
    if not texts:
        return []
    encoded = tower.tokenizer(list(texts), truncation=True, max_length=tower.max_tokens)
    return [np.asarray(ids or [0], dtype=np.int32) for ids in encoded["input_ids"]]


def _fingerprint(model: Any, tokenizer: Any, max_tokens: int) -> str:
    digest = blake2b(digest_size=16)
    hash_weights(digest, model.state_dict())
    digest.update(tokenizer.backend_tokenizer.to_str().encode())
    digest.update(f"{type(model).__name__} {max_tokens}".encode())
    return digest.hexdigest()
