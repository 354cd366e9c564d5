"""Front matter of Markdown: the YAML between two lines `---` at the very start, by PyYAML."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from itertools import accumulate
from math import isfinite
from typing import Any

_MATTER = re.compile(r"---[ \t]*+\r?\n(?P<body>(?:(?!(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z))[^\n]*+\n){0,500}+)")
_END = re.compile(r"(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z)")
_ENTRY = re.compile(r"(?=^[^\s#\-:][^\n:]{0,200}:(?:\s|$))", re.M)
_BRACKET = re.compile(r"[\[{\]}]")
_NUMBER_OF_MANY_DIGITS = re.compile(r"[-+]?[0-9][0-9a-fA-Fxob_:]{3000,}+")  # Python writes none of over 4,300 digits
_MAX_CHARACTERS = 1 << 16
_MAX_DEPTH = 8
_MAX_BRACKETS = 64  # open at once; PyYAML looks at all of them for each token, and Python's own stack ends near 300
_INT64 = 2**63


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a text."""

    title: str = ""
    aliases: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)  # the rest; a key of a key is "outer.inner"
    end: int = 0  # offset where the body starts


def read_front_matter(text: str) -> FrontMatter:
    """Return the front matter of a text; where it is no YAML, each entry is read by itself, else as plain words."""
    opening = _MATTER.match(text)
    closing = _END.match(text, opening.end()) if opening else None
    if opening is None or closing is None or len(opening["body"]) > _MAX_CHARACTERS:
        return FrontMatter()
    title, aliases = "", tuple[str, ...]()
    fields: dict[str, Any] = {}
    for key, value in _read_entries(opening["body"]).items():
        if key.lower() == "title":
            title = " ".join(str(_scalar(value)).split()) if not isinstance(value, list | dict) else ""
        elif key.lower() == "aliases":
            aliases = tuple(dict.fromkeys(_read_aliases(value)))
        else:
            fields.update(_flatten(key, value, 1))
    return FrontMatter(title, aliases, fields, closing.end())


def _read_entries(body: str) -> dict[str, Any]:
    whole = _load(body)
    if isinstance(whole, dict):
        return {str(key): value for key, value in whole.items()}
    entries: dict[str, Any] = {}
    for part in _ENTRY.split(body):
        read = _load(part)
        if isinstance(read, dict):
            entries.update((str(key), value) for key, value in read.items())
        elif ":" in part:
            key, _, value = part.partition(":")
            entries[key.strip()] = value.partition("\n")[0].strip()
    return entries


def _load(text: str) -> Any:
    """Return what YAML means, None where it is none, or not of the plain kind that front matter is.

    That has no part twice (an alias may stand for billions), no types of YAML's own, which PyYAML makes of anything,
    and no numbers of thousands of digits.
    """
    import yaml

    if _count_open_brackets(text) > _MAX_BRACKETS:
        return None
    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            if isinstance(token, yaml.AliasToken | yaml.TagToken):
                return None
            if isinstance(token, yaml.ScalarToken) and _NUMBER_OF_MANY_DIGITS.fullmatch(token.value):
                return None
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, KeyError):
        return None


def _count_open_brackets(text: str) -> int:
    """Return how many brackets are open at once in a text, at most."""
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(text))
    return max(accumulate(steps), default=0)


def _read_aliases(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        parts = value.split(";")
    elif isinstance(value, list):
        parts = [": ".join(map(str, next(iter(v.items())))) if isinstance(v, dict) and v else str(v) for v in value]
    else:
        parts = [] if value is None else [str(value)]
    yield from (part.strip() for part in parts if part.strip())


def _scalar(value: Any) -> str | int | float | bool:
    if value is None:
        return ""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else str(value)
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _flatten(key: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an entry: numbers, booleans, strings, lists of strings; dates are written `2026-11-23`."""
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        for inner, own in value.items():
            yield from _flatten(f"{key}.{inner}", own, depth + 1)
    elif isinstance(value, list):
        yield key, [str(_scalar(item)) for item in value]
    elif value is not None:
        yield key, _scalar(value)
