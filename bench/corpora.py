"""Corpora derived from the shared ones: merged, without titles, and ten times as large."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from clew.text.normalization import strip_parentheses

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.oracles.gazetteer import Gazetteer

Passage = dict[str, str]


def merge(corpora: list[list[Passage]]) -> Iterator[Passage]:
    """Yield the passages of several corpora, each title and text once."""
    seen: set[tuple[str, str]] = set()
    for record in (record for corpus in corpora for record in corpus):
        key = record["title"], record["text"]
        if key not in seen:
            seen.add(key)
            yield record


def remove_titles(corpus: list[Passage]) -> Iterator[Passage]:
    """Yield the passages of a corpus without their titles."""
    for record in corpus:
        yield {**record, "title": ""}


def lower_case(records: list[Passage], fields: Sequence[str]) -> Iterator[Passage]:
    """Yield records, passages or questions, with some of their fields in lower case."""
    for record in records:
        yield {**record, **{field: record[field].lower() for field in fields}}


def multiply(sources: list[list[Passage]], wanted: int, copied: int | None = None) -> Iterator[Passage]:
    """Yield `wanted` passages: all sources, then copies of the first `copied` of them with every title renamed.

    The copies form graphs of their own, which share words but no titles with the questions of the sources.
    """
    own = [record for corpus in sources for record in corpus]
    base = [record for corpus in sources[:copied] for record in corpus]
    gazetteer = Gazetteer([(r["title"], strip_parentheses(r["title"])) for r in base])
    matches = [gazetteer.find(r["text"]) for r in base]
    yield from own[:wanted]
    written = len(own[:wanted])
    copy = 0
    while written < wanted:
        copy += 1
        for record, found in zip(base[: wanted - written], matches, strict=False):
            text = rename_text(record["text"], found, copy)
            yield {"id": f"copy{copy}-{record['id']}", "title": rename_title(record["title"], copy), "text": text}
            written += 1


def rename_title(title: str, copy: int) -> str:
    """Return a unique name: each capitalised word gets a suffix of the copy."""
    return re.sub(
        r"(\w+)",
        lambda m: f"{m.group(1)}{'xyzqvwkjh'[copy % 9]}{copy}" if m.group(1)[0].isupper() else m.group(1),
        title,
    )


def rename_text(text: str, matches: list, copy: int) -> str:  # type: ignore[type-arg]
    """Return a text with every matched title renamed."""
    pieces, end = [], 0
    for match in matches:
        pieces += [text[end : match.start], rename_title(text[match.start : match.end], copy)]
        end = match.end
    return "".join([*pieces, text[end:]])


def write(path: Path, passages: Iterator[Passage]) -> None:
    """Write passages as JSON lines atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as out:
        for record in passages:
            out.write(json.dumps(record) + "\n")
    part.replace(path)
