"""Corpora made from the shared ones: put together, without titles, and ten times as large."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from clew.text.gazetteer import Gazetteer
from clew.text.normalization import strip_parentheses

Passage = dict[str, str]


def merged(corpora: list[list[Passage]]) -> Iterator[Passage]:
    """Yield the passages of several corpora; of those with equal title and text the first alone."""
    seen: set[tuple[str, str]] = set()
    for record in (record for corpus in corpora for record in corpus):
        key = record["title"], record["text"]
        if key not in seen:
            seen.add(key)
            yield record


def untitled(corpus: list[Passage]) -> Iterator[Passage]:
    """Yield the passages of a corpus without their titles."""
    for record in corpus:
        yield {**record, "title": ""}


def tenfold(base: list[Passage], others: list[list[Passage]]) -> Iterator[Passage]:
    """Yield ten times as many passages as `base`.

    After `base` and the other corpora come copies of `base` with every title renamed, so that the copies are a graph of
    their own and share words, but no names, with the questions of `base`.
    """
    wanted = 10 * len(base)
    gazetteer = Gazetteer([(r["title"], strip_parentheses(r["title"])) for r in base])
    matches = [gazetteer.find(r["text"]) for r in base]
    written = 0
    for record in (record for corpus in [base, *others] for record in corpus):
        yield record
        written += 1
    copy = 0
    while written < wanted:
        copy += 1
        for record, found in zip(base[: wanted - written], matches, strict=False):
            text = renamed_text(record["text"], found, copy)
            yield {"id": f"copy{copy}-{record['id']}", "title": renamed_title(record["title"], copy), "text": text}
            written += 1


def renamed_title(title: str, copy: int) -> str:
    """Return a name that nothing else has: each of its words gets an ending of the copy."""
    return re.sub(
        r"(\w+)",
        lambda m: f"{m.group(1)}{'xyzqvwkjh'[copy % 9]}{copy}" if m.group(1)[0].isupper() else m.group(1),
        title,
    )


def renamed_text(text: str, found: list, copy: int) -> str:  # type: ignore[type-arg]
    """Return a text with every known title in it renamed."""
    pieces, place = [], 0
    for match in found:
        pieces += [text[place : match.start], renamed_title(text[match.start : match.end], copy)]
        place = match.end
    return "".join([*pieces, text[place:]])


def write(path: Path, passages: Iterator[Passage]) -> None:
    """Write passages as JSON lines, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as out:
        for record in passages:
            out.write(json.dumps(record) + "\n")
    part.replace(path)
