"""The encoder of an index without vectors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, final

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import FloatArray


@final
class NoEncoder:
    """Stands where an index has no vectors; refuses to encode."""

    @property
    def name(self) -> str:
        """The name a user gives to ask for no vectors."""
        return "none"

    @property
    def dimension(self) -> int:
        """Zero: there are no vectors."""
        return 0

    @property
    def fingerprint(self) -> str:
        """The same always."""
        return "none"

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Refuse.

        Raises:
            InputError: Always.
        """
        raise InputError(
            f"{len(texts)} texts were to be encoded, but this index was built with --encoder none; "
            "build with --encoder all-MiniLM-L6-v2, or use a retriever that needs no vectors, such as bm25"
        )

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Refuse.

        Raises:
            InputError: Always.
        """
        return self.encode(texts)
