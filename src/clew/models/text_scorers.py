"""Scorers of texts against a question: a bi-encoder, or a cross-encoder that reads both together."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, final

import numpy as np

from clew.arrays import FloatArray
from clew.errors import ProviderError
from clew.models.hub import check_model, hash_weights
from clew.models.threads import choose_device
from clew.models.validation import map_load_errors, replace_surrogates
from clew.plugins.extras import import_extra

# Suffixes of architectures with a trained head; `sentence-transformers` adds a random one to any other.
_SCORING_ARCHITECTURES = ("ForSequenceClassification", "ForCausalLM")
# Characters read of a text per token of the model's input; tokenizing more takes seconds and changes no score.
_MAX_CHARACTERS_PER_TOKEN = 8


@final
@dataclass(frozen=True, slots=True)
class BiEncoderScorer:
    """Cosine of the embeddings of question and text, unit rows (n, d) that the two functions return."""

    encode: Callable[[Sequence[str]], FloatArray]
    encode_questions: Callable[[Sequence[str]], FloatArray]

    def score(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return cosines (len(texts),)."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        return np.asarray(self.encode(texts) @ self.encode_questions([question])[0], dtype=np.float32)


@final
class CrossEncoderScorer:
    """A cross-encoder of `sentence-transformers` in a folder or on the hub; its weights are loaded on first use."""

    def __init__(self, name: str, device: str = "auto") -> None:
        self._name = name
        self._device = device

    @cached_property
    def fingerprint(self) -> str:
        """The name, and a hash of the weights, the tokenizer, the activation and the length; loads the model."""
        digest = blake2b(digest_size=16)
        hash_weights(digest, self._model.state_dict())
        tokenizer = getattr(self._model.tokenizer, "backend_tokenizer", None)
        rules = "" if tokenizer is None else tokenizer.to_str()
        digest.update(f"{self._model.activation_fn} {self._model.max_seq_length} {rules}".encode())
        return f"cross-encoder-{self._name}-{digest.hexdigest()}"

    def score(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return scores (len(texts),), greater for more relevant; a ProviderError where one is not a finite number."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        length = _MAX_CHARACTERS_PER_TOKEN * int(self._model.max_seq_length or 512)
        query, *passages = (replace_surrogates(text[:length]) for text in (question, *texts))
        scores = self._model.predict([(query, passage) for passage in passages], show_progress_bar=False)
        if np.ndim(scores) != 1:
            raise ProviderError(
                f"the cross-encoder {self._name} gives {np.shape(scores)[-1]} scores a text, wanted one: choose another"
            )
        if not np.isfinite(scores).all():
            raise ProviderError(
                f"the cross-encoder {self._name} gives scores that are not finite numbers: its weights are damaged, so "
                "choose another"
            )
        return np.asarray(scores, dtype=np.float32)

    @cached_property
    def _model(self) -> Any:
        package = import_extra("sentence_transformers", "encoders", f"the cross-encoder {self._name}")
        device = choose_device(self._device)
        folder = os.path.expanduser(self._name)  # noqa: PTH111 - a name on the hub is not a path
        check_model(folder, None, "cross-encoder", "give the folder of one, or search without a cross-encoder")
        with map_load_errors(
            lambda reason: (
                f"the cross-encoder {self._name} cannot be opened ({reason}): give a folder that holds one, "
                "or a name on the hub, or search without a cross-encoder"
            )
        ):
            model = package.CrossEncoder(folder, device=device)
        kinds = getattr(getattr(model.model, "config", None), "architectures", None) or ()
        if not any(kind.endswith(_SCORING_ARCHITECTURES) for kind in kinds):
            raise ProviderError(
                f"the cross-encoder {self._name} is a {', '.join(kinds) or 'model of unknown architecture'}, which was "
                "never trained to score texts; wanted one for sequence classification: choose another"
            )
        return model
