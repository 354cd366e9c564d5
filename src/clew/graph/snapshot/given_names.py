"""Names that decisions of people gave to entities: no passage and no graph need have them, so a filter hides them."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import final

from clew.text.normalization import key_hash, name_key


@final
class GivenNames:
    """The names that decisions on entities gave, which `read` returns; they are read at first use."""

    def __init__(self, read: Callable[[], Iterable[str]] = tuple) -> None:
        self._read = read

    @cached_property
    def _keys(self) -> frozenset[str]:
        return frozenset(map(name_key, self._read()))

    def has(self, name: str) -> bool:
        """Return whether a decision gave a name."""
        return bool(self._keys) and name_key(name) in self._keys

    def hashes(self, salt: int) -> frozenset[int]:
        """Return the hashes of the keys of the names."""
        return frozenset(key_hash(key, salt) for key in self._keys)
