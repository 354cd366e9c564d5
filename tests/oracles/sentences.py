"""The sentences of an index and the bridges between them, from Python objects: one for each sentence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from clew.text.bm25 import count_terms
from clew.text.identifiers import MARKED, find_identifiers, identifier_terms
from clew.text.normalization import is_unspaced_letter, key_hash, terms_of_words, tokens
from clew.text.page_text import blank_unread
from clew.text.sentences import passage_sentence_spans

SENTENCE_ROWS = ("entities", "terms", "entity_sentences", "term_sentences")


@dataclass(frozen=True)
class PlainSentences:
    """The rows of `clew.graph.sentence_index.SentenceRows`."""

    offsets: list[int]
    entities: list[list[int]]
    terms: list[list[int]]
    entity_sentences: list[list[int]]
    term_sentences: list[list[int]]


def plain_sentences(
    rows: Sequence[Mapping[str, Any]],
    places: Sequence[Sequence[tuple[int, int]]],
    titles: Sequence[int],
    entity_passages: Sequence[int],
) -> PlainSentences:
    """Return the sentences of passages, given as rows of the table in the order of their ids.

    `places` has for each passage the first character and the entity of its mentions, `titles` the entity of its title,
    -1 for none, `entity_passages` the number of passages that mention each entity.
    """
    rows = [{**row, "text": blank_unread(row["text"])} for row in rows]
    offsets, entities, hashes = [0], [], []
    for row, mentions, title in zip(rows, places, titles, strict=True):
        spans = passage_sentence_spans(row["text"])
        for number, (start, end) in enumerate(spans):
            following = spans[number + 1][0] if number + 1 < len(spans) else math.inf
            named = {entity for place, entity in mentions if start <= place < following}
            entities.append(sorted(named | ({title} if title >= 0 else set())))
            hashes.append(set(count_terms([row["text"][start:end]]).hashes.tolist()))
        offsets.append(len(entities))
    of_passages = [set(count_terms([f"{row['title']}\n{row['text']}"]).hashes.tolist()) for row in rows]
    vocabulary = sorted(set().union(*of_passages))
    long = {key_hash(t) for r in rows for t in text_terms(f"{r['title']}\n{r['text']}") if has_enough_letters(t)}
    terms = [[position for position, hash_ in enumerate(vocabulary) if hash_ in own] for own in hashes]
    joining = [hash_ in long and 2 <= sum(hash_ in own for own in of_passages) <= 30 for hash_ in vocabulary]
    return PlainSentences(
        offsets,
        entities,
        terms,
        _holders(entities, [2 <= count <= 240 for count in entity_passages]),
        _holders(terms, joining),
    )


def text_terms(text: str) -> set[str]:
    """Return the terms of a text, which BM25 counts by their hashes."""
    words = tokens(text)
    parts = {term for *_, whole in find_identifiers(text, words) for term in identifier_terms(whole)}
    pairs = {left.key + right.key for left, right in pairwise(words) if left.end == right.start}
    return parts | pairs | {term for term in terms_of_words([word.key for word in words]) if term}


def has_enough_letters(term: str) -> bool:
    """Return whether a term may join sentences."""
    return term[0] not in MARKED and (len(term) > 2 or (len(term) == 2 and is_unspaced_letter(term[0])))


def _holders(rows: Sequence[Sequence[int]], chosen: Sequence[bool]) -> list[list[int]]:
    return [
        [number for number, row in enumerate(rows) if value in row] if is_chosen else []
        for value, is_chosen in enumerate(chosen)
    ]
