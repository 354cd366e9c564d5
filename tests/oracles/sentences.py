"""The sentences of a snapshot, found passage by passage in plain Python: slow and obvious."""

from collections.abc import Iterable, Sequence

import numpy as np

from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.sentences.sentence_index import (
    MAX_BRIDGE_PASSAGES,
    MAX_TERM_PASSAGES,
    MIN_TERM_PASSAGES,
    SentenceIndex,
    SentenceVectors,
)
from clew.graph.snapshot.snapshot import Snapshot
from clew.text.bm25 import BM25Index
from clew.text.normalization import key_hash, tokens
from clew.text.sentences import sentence_spans

MIN_CHARACTERS, MAX_SENTENCES = 30, 40
LONGEST_NAME = 16
MIN_TERM_LETTERS = 3


def joined_spans(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text: short pieces join the one before, and the last one takes what is too many."""
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        if spans and (end - start < MIN_CHARACTERS or len(spans) == MAX_SENTENCES):
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    return spans


def passage_spans(texts: Iterable[str]) -> list[list[tuple[int, int]]]:
    """Return the sentences of each passage."""
    return [joined_spans(text) for text in texts]


def build_sentences(snapshot: Snapshot, lexical: BM25Index, vectors: SentenceVectors | None = None) -> SentenceIndex:
    """Return the sentences of a snapshot."""
    spans = passage_spans(snapshot.texts)
    sizes = [len(of_passage) for of_passage in spans]
    entity_rows: list[set[int]] = []
    term_rows: list[set[int]] = []
    for passage, of_passage in enumerate(spans):
        text = snapshot.texts[passage]
        mentioned = {int(entity) for entity in snapshot.mentions.row(passage)}
        title = int(snapshot.title_entities[passage])
        for start, end in of_passage:
            found = named_entities(snapshot, text[start:end], mentioned)
            entity_rows.append(found | ({title} if title >= 0 else set()))
            term_rows.append({int(term) for term in lexical.query(text[start:end]).terms})
    owners = [passage for passage, size in enumerate(sizes) for _ in range(size)]
    entity_passages = count_passages(entity_rows, owners)
    term_passages = count_passages(term_rows, owners)
    short = short_terms(snapshot, lexical)
    bridges = {entity for entity, count in entity_passages.items() if 2 <= count <= MAX_BRIDGE_PASSAGES}
    rare = {t for t, n in term_passages.items() if MIN_TERM_PASSAGES <= n <= MAX_TERM_PASSAGES and t not in short}
    return SentenceIndex(
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        spans=np.array([span for of_passage in spans for span in of_passage], dtype=np.int32).reshape(-1, 2),
        entities=pack_rows(entity_rows),
        terms=pack_rows(term_rows),
        entity_sentences=invert(entity_rows, bridges, len(snapshot.entities)),
        term_sentences=invert(term_rows, rare, len(lexical.terms)),
        vectors=vectors,
    )


def named_entities(snapshot: Snapshot, sentence: str, mentioned: set[int]) -> set[int]:
    """Return the entities of a passage that a sentence names."""
    words = [token.key for token in tokens(sentence)]
    found: set[int] = set()
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            entities = snapshot.entities_with_key(key_hash(" ".join(words[start:end]), snapshot.salt))
            found |= mentioned.intersection(entities.tolist())
    return found


def count_passages(rows: Sequence[set[int]], owners: Sequence[int]) -> dict[int, int]:
    """Return in how many passages each value of the rows stands."""
    passages: dict[int, set[int]] = {}
    for row, owner in zip(rows, owners, strict=True):
        for value in row:
            passages.setdefault(value, set()).add(owner)
    return {value: len(held) for value, held in passages.items()}


def short_terms(snapshot: Snapshot, lexical: BM25Index) -> set[int]:
    """Return the terms of fewer than three letters."""
    stems = {term for text in snapshot.texts for term in stems_of(text) if len(term) < MIN_TERM_LETTERS}
    hashes = {key_hash(term) for term in stems}
    return {position for position, value in enumerate(lexical.terms.tolist()) if value in hashes}


def stems_of(text: str) -> list[str]:
    """Return the terms of a text as words."""
    from clew.text.bm25 import terms_of_words

    return [term for term in terms_of_words(token.key for token in tokens(text)) if term]


def pack_rows(rows: Sequence[set[int]]) -> Adjacency:
    """Return rows of values, ascending."""
    pairs = [(row, value) for row, values in enumerate(rows) for value in values]
    return make_rows(pairs, len(rows))


def invert(rows: Sequence[set[int]], chosen: set[int], size: int) -> Adjacency:
    """Return for each value below `size` that is chosen the rows that hold it."""
    pairs = [(value, row) for row, values in enumerate(rows) for value in values if value in chosen]
    return make_rows(pairs, size)


def make_rows(pairs: Sequence[tuple[int, int]], count: int) -> Adjacency:
    """Return pairs of a row and a value as rows."""
    return build_adjacency(
        np.array([row for row, _ in pairs], dtype=np.int64),
        np.array([value for _, value in pairs], dtype=np.int64),
        np.ones(len(pairs), dtype=np.float32),
        count,
    )
