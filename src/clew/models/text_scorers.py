"""What scores texts against a question: an encoder, or a cross-encoder that reads both together."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import ProviderError
from clew.models.weights_checksum import hash_weights

if TYPE_CHECKING:
    from clew.types import FloatArray

_SCORING_ARCHITECTURES = ("ForSequenceClassification", "ForCausalLM")
"""Ends of the architectures that score; `sentence-transformers` puts a head of random weights on any other."""
_MAX_CHARACTERS_PER_TOKEN = 8
"""Read of a text for each token that the model takes; to tokenize more takes seconds and changes nothing."""


@final
class BiEncoderScorer:
    """The cosine of the vectors of question and text.

    Args:
        encode: Gives unit rows (n, d) of texts.
        encode_questions: Gives unit rows (n, d) of questions.
    """

    def __init__(
        self,
        encode: "Callable[[Sequence[str]], FloatArray]",
        encode_questions: "Callable[[Sequence[str]], FloatArray]",
    ) -> None:
        self._encode = encode
        self._encode_questions = encode_questions

    def score(self, question: str, texts: Sequence[str]) -> "FloatArray":
        """Return cosines (len(texts),)."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        return np.asarray(self._encode(texts) @ self._encode_questions([question])[0], dtype=np.float32)


@final
class CrossEncoderScorer:
    """A cross-encoder of `sentence-transformers`; its weights are loaded on first use.

    Args:
        name: A folder, or a model's name on the hub.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def fingerprint(self) -> str:
        """The name, and a hash of the weights and of what turns them into scores; loads the model.

        Raises:
            ProviderError: The model cannot be opened.
        """
        digest = blake2b(digest_size=16)
        hash_weights(digest, self._model.state_dict())
        tokenizer = getattr(self._model.tokenizer, "backend_tokenizer", None)
        read = "" if tokenizer is None else tokenizer.to_str()
        digest.update(f"{self._model.activation_fn} {self._model.max_seq_length} {read}".encode())
        return f"cross-encoder-{self._name}-{digest.hexdigest()}"

    def score(self, question: str, texts: Sequence[str]) -> "FloatArray":
        """Return the model's scores (len(texts),), greater for more relevant.

        Args:
            question: Any string; what UTF-8 cannot write is replaced, as everywhere in a question.
            texts: Any strings.

        Raises:
            ProviderError: The model cannot be opened, or does not give one number a text.
        """
        if not texts:
            return np.zeros(0, dtype=np.float32)
        most = _MAX_CHARACTERS_PER_TOKEN * int(self._model.max_seq_length or 512)
        read = [text[:most].encode(errors="replace").decode() for text in (question, *texts)]
        scores = self._model.predict([(read[0], text) for text in read[1:]], show_progress_bar=False)
        if np.ndim(scores) != 1:
            raise ProviderError(
                f"the cross-encoder {self._name} gives {np.shape(scores)[-1]} scores a text; wanted one: choose another"
            )
        if not np.isfinite(scores).all():
            raise ProviderError(
                f"the cross-encoder {self._name} gives scores that are no numbers; wanted finite ones: its weights are "
                "damaged, so choose another"
            )
        return np.asarray(scores, dtype=np.float32)

    @cached_property
    def _model(self) -> Any:
        try:
            from safetensors import SafetensorError
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise ProviderError(
                f"the cross-encoder {self._name} needs sentence-transformers, which cannot be imported ({error}); "
                "run pip install sentence-transformers, or do without it"
            ) from error
        try:
            model = CrossEncoder(os.path.expanduser(self._name))  # noqa: PTH111 - a name on the hub is no path
        except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
            reason = (str(error).strip() or repr(error)).splitlines()[0]
            raise ProviderError(
                f"the cross-encoder {self._name} cannot be opened ({reason}): give a folder that holds one, or its "
                "name on the hub, or do without it"
            ) from error
        kinds = getattr(getattr(model.model, "config", None), "architectures", None) or ()
        if not any(kind.endswith(_SCORING_ARCHITECTURES) for kind in kinds):
            raise ProviderError(
                f"the cross-encoder {self._name} is a {', '.join(kinds) or 'model of no known kind'}, which was never "
                "trained to score texts; wanted one for sequence classification: choose another"
            )
        return model
