"""What scores texts against a question: an encoder, or a cross-encoder that reads both together."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np

from clew.errors import ProviderError

if TYPE_CHECKING:
    from clew.types import FloatArray


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
        self._model: Any = None

    def score(self, question: str, texts: Sequence[str]) -> "FloatArray":
        """Return the model's scores (len(texts),), greater for more relevant.

        Raises:
            ProviderError: The model cannot be opened.
        """
        if not texts:
            return np.zeros(0, dtype=np.float32)
        if self._model is None:
            from safetensors import SafetensorError
            from sentence_transformers import CrossEncoder

            try:
                self._model = CrossEncoder(self._name)
            except (OSError, ValueError, SafetensorError) as error:
                reason = (str(error).strip() or repr(error)).splitlines()[0]
                raise ProviderError(
                    f"the cross-encoder {self._name} cannot be opened ({reason}): give a folder that holds one, or "
                    "choose the ranker bi-encoder"
                ) from error
        scores = self._model.predict([(question, text) for text in texts], show_progress_bar=False)
        if np.ndim(scores) != 1:
            raise ProviderError(
                f"the cross-encoder {self._name} gives {np.shape(scores)[-1]} scores a text; wanted one: choose another"
            )
        return np.asarray(scores, dtype=np.float32)
