"""In-memory cache of text embeddings."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from clew.types import FloatArray


@final
class VectorMemory:
    """Encodes each text once per process.

    Args:
        encode: Returns unit rows (n, d) of texts.
        max_texts: Maximum number of cached texts; the cache is cleared before it exceeds it.
    """

    def __init__(self, encode: "Callable[[Sequence[str]], FloatArray]", max_texts: int = 200_000) -> None:
        self._encode = encode
        self._max_texts = max_texts
        self._rows: dict[str, FloatArray] = {}

    def __call__(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if len(self._rows) + len(fresh) > self._max_texts:
            self._rows.clear()
            fresh = list(dict.fromkeys(texts))
        if fresh:
            self._rows.update(zip(fresh, self._encode(fresh), strict=True))
        return np.stack([self._rows[text] for text in texts]) if texts else np.zeros((0, 0), dtype=np.float32)
