"""Access: which indexes a request may ask, which part of each it sees, and whether it may write."""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from clew.errors import InputError
from clew.query.conditions import OWN_FIELDS
from clew.query.filters import parse_filter
from clew.query.scope import Scope
from clew.server.refusals import Refusal, unknown
from clew.types import Filter

_INDEX = "clew.index"  # in the scope of a request
_MAX_NAME = 64  # no index has a longer one


@dataclass(frozen=True, slots=True)
class Access:
    """The rights of a key, or those of everyone where the server asks for no key."""

    key_id: str = ""  # "" where no key is asked for
    indexes: frozenset[str] | None = None  # None for all
    where: Filter | None = None  # what is seen; None for everything
    write: bool = True
    strict: bool = False  # whether order and scores are those of an index without what `where` hides

    def may_ask(self, name: str) -> bool:
        """Return whether the key may ask an index."""
        return self.indexes is None or name in self.indexes

    def check_index(self, name: str) -> None:
        """Refuse an index that the key may not ask, in the words of one that does not exist."""
        if not self.may_ask(name):
            raise unknown("index", name)

    def check_write(self) -> None:
        """Refuse a key that may not write."""
        if not self.write:
            raise Refusal(403, "this key may not write", "read-only")

    def restrict(self, where: Filter | None, scope: Scope) -> Filter | None:
        """Return a filter that has no passage which the key may not see.

        A field that none of the visible passages has is refused in the same words whether or not others have it.

        Raises:
            Refusal: The key's own filter names a field that the index lacks.
            InputError: The filter of the request cannot be parsed, or names a field that no visible passage has.
        """
        if self.where is None:
            return where
        try:
            visible = scope.mask(self.where)
        except InputError as error:
            raise Refusal(403, "the filter of this key does not fit this index", "filter") from error
        if where is None:
            return self.where
        for field in sorted(parse_filter(where).fields.difference(OWN_FIELDS)):
            quoted = field.replace('"', '""')
            try:
                has_value = bool((scope.mask(f'"{quoted}" IS NOT NULL') & visible).any())
            except InputError:
                has_value = False
            if len(scope) and not has_value:
                raise InputError(f"no passage has the field {field!r} of the filter {where!r}")
        return f"({self.where}) AND ({where})"  # each was parsed by itself, so that neither closes a parenthesis


def note_index(scope: MutableMapping[str, Any], name: str) -> None:
    """Note in the scope of a request which index it asks, where its path does not say so."""
    scope[_INDEX] = name[:_MAX_NAME]


def find_index(scope: Mapping[str, Any]) -> str:
    """Return the index that a request asks, "" for none."""
    return str(scope.get(_INDEX) or scope.get("path_params", {}).get("index", ""))


OPEN = Access()
"""Everything is allowed: the access of a server without keys."""
