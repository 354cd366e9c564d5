"""The encoder of an index without embeddings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import FloatArray


@final
class NoEncoder:
    """Encoder of an index without embeddings; encoding raises an `InputError`."""

    @property
    def name(self) -> str:
        """The name to open this encoder by."""
        return "none"

    @property
    def dimension(self) -> int:
        """Always 0."""
        return 0

    @property
    def fingerprint(self) -> str:
        """Always "none"."""
        return "none"

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Raise an `InputError`."""
        raise InputError(
            f"{len(texts)} texts to encode, but this index was built with --encoder none; "
            "build with --encoder all-MiniLM-L6-v2-int8, or use a retriever that needs no vectors, such as bm25"
        )

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Raise an `InputError`."""
        return self.encode(texts)
