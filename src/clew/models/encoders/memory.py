"""In-memory cache of text vectors."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, final

import numpy as np

if TYPE_CHECKING:
    from clew.types import FloatArray


@final
class VectorMemory:
    """Vectors of texts, each encoded once in the life of this object.

    Args:
        encode: Encodes texts to unit rows (n, d).
        max_texts: Capacity; the cache is cleared when it would be exceeded.
    """

    def __init__(self, encode: "Callable[[Sequence[str]], FloatArray]", max_texts: int = 200_000) -> None:
        self._encode = encode
        self._max_texts = max_texts
        self._rows: dict[str, FloatArray] = {}

    def __call__(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d)."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if len(self._rows) + len(missing) > self._max_texts:
            self._rows.clear()
            missing = list(dict.fromkeys(texts))
        if missing:
            self._rows.update(zip(missing, self._encode(missing), strict=True))
        return np.stack([self._rows[text] for text in texts]) if texts else np.zeros((0, 0), dtype=np.float32)
