"""Identifiers of knowledge bases, which stand where an entity has no label."""

import re

_IDENTIFIER = re.compile(r"[mg]\.[0-9a-z_]+|/[mg]/[0-9a-z_]+|Q\d+|<[^<>\s]+:[^<>\s]*>")


def is_identifier(name: str) -> bool:
    """Return whether a name is an identifier of Freebase (`m.02mjmr`) or Wikidata (`Q42`), or an IRI (`<http://...>`)."""
    return _IDENTIFIER.fullmatch(name) is not None
