"""Passages with annotated names and facts, as tags of their words.

A folder holds `corpus.jsonl` {id, title, text} and `openie.jsonl` {id, entities: [name], triples: [[head, relation,
tail]]}, as `--extractor published:FILE` reads them; triples are not used. Every occurrence of an entity as whole words
in title or text, in any case, is a name, longer ones first.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clew.arrays import LongArray
from clew.datasets.records import read_records
from clew.errors import InputError
from clew.inference.span_tagger import BEGIN, INSIDE, WordGroups
from clew.text.normalization import tokens
from clew.training.data.corpora import CORPUS_FILE

ANNOTATIONS_FILE = "openie.jsonl"
_FORM = '{"id": ..., "entities": [name, ...]}'


@dataclass(frozen=True, slots=True)
class AnnotatedPassage:
    """A passage with the names that people or a model found in it."""

    title: str
    text: str
    names: tuple[str, ...]


def read_annotated_passages(folder: Path) -> list[AnnotatedPassage]:
    """Return the annotated passages of a folder, in the order of the annotations.

    Raises:
        InputError: A file is missing, a line has another form, or no annotation belongs to a passage of the corpus.
    """
    for name in (CORPUS_FILE, ANNOTATIONS_FILE):
        if not (folder / name).is_file():
            raise InputError(f"{folder} has no {name}: give folders with {CORPUS_FILE} and {ANNOTATIONS_FILE}")
    corpus = {str(r.fields.get("id")): r.fields for r in read_records(folder / CORPUS_FILE)}
    path = folder / ANNOTATIONS_FILE
    passages = []
    for number, record in enumerate(read_records(path), 1):
        names = _read_names(record.fields, f"{path}, line {number}")
        if (passage := corpus.get(str(record.fields.get("id")))) is not None:
            title, text = str(passage.get("title") or ""), str(passage.get("text") or "")
            passages.append(AnnotatedPassage(title, text, names))
    if not passages:
        raise InputError(f"{path}: no line has the id of a passage in {folder / CORPUS_FILE}; wanted lines of {_FORM}")
    return passages


def _read_names(fields: Mapping[str, Any], place: str) -> tuple[str, ...]:
    names = fields.get("entities")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{place}: entities are {str(names)[:60]!r}; wanted {_FORM}")
    return tuple(dict.fromkeys(names))


def tag_words(passage: AnnotatedPassage, text: str, groups: WordGroups) -> LongArray:
    """Return the tags (n,) of the n words of a text, which is the passage's with its title."""
    tags = np.zeros(len(groups.starts), dtype=np.int64)
    for start, end in find_occurrences(text, passage.names):
        words = np.flatnonzero((groups.starts < end) & (groups.ends > start))
        if len(words) and not tags[words].any():
            tags[words] = INSIDE
            tags[words[0]] = BEGIN
    return tags


def find_occurrences(text: str, names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of every occurrence of names in a text as whole words, in any case, longest first."""
    words = tokens(text)
    places: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        places.setdefault(word.key, []).append(number)
    wanted = [[token.key for token in tokens(name)] for name in names]
    for keys in sorted((keys for keys in wanted if keys), key=lambda keys: (-len(keys), keys)):
        for first in places.get(keys[0], ()):
            if [word.key for word in words[first : first + len(keys)]] == keys:
                yield words[first].start, words[first + len(keys) - 1].end
