"""Vectors of the sentences of passages, made with those of the passages.

An encoder that gives the states of tokens (`SpanEncoder`) reads a passage once: the vector of a sentence is that of its
tokens and a share of that of the title's. Where a passage is longer than the encoder reads, it goes on with the first
sentence that it did not read to its end, after the title. Any other encoder reads each sentence by itself, as "Title:
sentence".

Source: none; measured in docs/decisions. Differs from the source: nothing.

Makes the inverted lists of an index with many vectors: centroids once, and the lists of each new segment.

Centroids are trained again when an index has twice as many passages as then; in between a commit makes the lists of its
new segments alone.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from math import log2, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.errors import ProviderError
from clew.graph.segments.flat import unflatten_stored_passages
from clew.graph.segments.list_search import flatten_lists, make_lists, train_centroids
from clew.graph.segments.passage_columns import StoredPassages
from clew.graph.segments.sentence_columns import round_sentences
from clew.graph.snapshot.snapshot import load_snapshot
from clew.protocols import Encoder, SpanEncoder, SpanVectors, StateEncoder
from clew.store import segment_files
from clew.store.array_file import map_arrays, write_arrays
from clew.store.atomic import discard, remove_leftovers
from clew.store.schema import RowSentences
from clew.store.segment_files import CentroidsFile, encoder_key, find_centroids, read_segment_names, segments_folder
from clew.text.page_text import blank_unread
from clew.text.sentences import passage_sentence_spans
from clew.types import Progress

TITLE_SHARE = 0.35
"""Weight of the title's vector beside that of a sentence; 0 to 0.5 differ by half a point of recall."""


class EncodedPassages(NamedTuple):
    """Vectors of n passages and of their sentences."""

    vectors: FloatArray  # (n, d) unit rows
    sentences: list[RowSentences]  # n


class PassageReading(NamedTuple):
    """One reading of a passage, or of the rest of it, by an encoder that shows the states of tokens."""

    passage: int  # position among the passages
    text: str  # what was read: the title, and the passage's text from `begin` on
    begin: int  # in characters of the passage's text
    shift: int  # from offsets in the passage's text to offsets in `text`
    offsets: Sequence[tuple[int, int]]  # of the m tokens in `text`
    states: FloatArray  # (m, d)


_Spans = Sequence[tuple[int, int]]
_Rests = Sequence[tuple[int, int]]  # passages with the first of their sentences that is still to be read
_Encode = Callable[[Sequence[str], Sequence[_Spans], _Rests], SpanVectors]


def join_title(title: str, text: str) -> str:
    """Return the text of a passage as an encoder reads it."""
    return f"{title}\n{text}" if title else text


def sentence_texts(title: str, text: str, spans: Iterable[tuple[int, int]] | None = None) -> list[str]:
    """Return the sentences of a passage as an encoder of whole texts reads them; `spans` are theirs if known."""
    known = passage_sentence_spans(text) if spans is None else spans
    return [f"{title}: {text[start:end]}" if title else text[start:end] for start, end in known]


def encode_with_sentences(encoder: Encoder, passages: Sequence[tuple[str, str]]) -> EncodedPassages:
    """Return the vectors of passages, given by their titles and texts, and those of their sentences."""
    passages = [(title, blank_unread(text)) for title, text in passages]
    spans = _sentence_spans(passages)
    if isinstance(encoder, SpanEncoder):
        spanning = encoder
        vectors, rows = _read_spans(
            lambda texts, wanted, _: spanning.encode_spans(texts, wanted), passages, spans, encoder.dimension
        )
    else:
        vectors = np.asarray(encoder.encode([join_title(*passage) for passage in passages]))
        rows = _read_alone(encoder, passages, spans)
    return _pack(vectors, spans, rows)


def read_states(
    encoder: StateEncoder, passages: Sequence[tuple[str, str]], on_reading: Callable[[PassageReading], None]
) -> EncodedPassages:
    """Return what `encode_with_sentences` does, bit for bit, and show every reading of a passage from the same runs.

    Readings of different passages come from several threads; those of one passage in the order of its text.
    """
    passages = [(title, blank_unread(text)) for title, text in passages]
    spans = _sentence_spans(passages)

    def encode(texts: Sequence[str], wanted: Sequence[_Spans], rests: _Rests) -> SpanVectors:
        def show(place: int, offsets: Sequence[tuple[int, int]], states: FloatArray) -> None:
            passage, first = rests[place]
            begin, shift = _reading_place(passages[passage][0], spans[passage], first)
            on_reading(PassageReading(passage, texts[place], begin, shift, offsets, states))

        return encoder.encode_spans(texts, wanted, show)

    vectors, rows = _read_spans(encode, passages, spans, encoder.dimension)
    return _pack(vectors, spans, rows)


def _sentence_spans(passages: Sequence[tuple[str, str]]) -> list[IntArray]:
    return [np.array(passage_sentence_spans(text), dtype=np.int32).reshape(-1, 2) for _, text in passages]


def _pack(vectors: FloatArray, spans: Sequence[IntArray], rows: Sequence[FloatArray]) -> EncodedPassages:
    sentences = [RowSentences(own, round_sentences(found)) for own, found in zip(spans, rows, strict=True)]
    return EncodedPassages(vectors, sentences)


def _reading_place(title: str, spans: IntArray, first: int) -> tuple[int, int]:
    """Return where a reading begins in a passage's text, and the shift of offsets, given its first sentence."""
    begin = int(spans[first, 0]) if first else 0
    return begin, len(title) + 1 - begin if title else -begin


def _read_alone(encoder: Encoder, passages: Sequence[tuple[str, str]], spans: Sequence[IntArray]) -> list[FloatArray]:
    texts = [
        text for passage, own in zip(passages, spans, strict=True) for text in sentence_texts(*passage, own.tolist())
    ]
    rows = np.asarray(encoder.encode(texts)) if texts else np.zeros((0, encoder.dimension), dtype=np.float32)
    return np.split(rows, np.cumsum([len(own) for own in spans])[:-1]) if spans else []


def _read_spans(
    encode: _Encode, passages: Sequence[tuple[str, str]], spans: Sequence[IntArray], dimension: int
) -> tuple[FloatArray, list[FloatArray]]:
    found = [np.zeros((len(own), dimension), dtype=np.float32) for own in spans]
    rests = [(passage, 0) for passage in range(len(passages))]
    vectors = np.zeros((len(passages), dimension), dtype=np.float32)
    is_first_round = True
    while rests:
        texts, wanted = [], []
        for passage, first in rests:
            title, text = passages[passage]
            begin, shift = _reading_place(title, spans[passage], first)
            texts.append(join_title(title, text[begin:]))
            own = [(start + shift, end + shift) for start, end in spans[passage][first:].tolist()]
            wanted.append([(0, len(title)), *own])
        result = encode(texts, wanted, rests)
        if is_first_round:
            vectors, is_first_round = result.rows, False
        unread = []
        results = zip(rests, wanted, result.spans, result.rows, result.read, strict=True)
        for (passage, first), own, rows, row, read in results:
            ends = np.array([end for _, end in own[1:]], dtype=np.int64)
            # One sentence at least, of which no more can be read: it is longer than all that the encoder reads.
            count = max(int(np.searchsorted(ends, read, "right")), 1)
            if read <= own[0][1]:
                count = len(ends)  # the title is all that is read of any
            found[passage][first : first + count] = _with_title(rows[1 : count + 1], rows[0], row)
            if count < len(ends):
                unread.append((passage, first + count))
        rests = unread
    return vectors, found


def _with_title(rows: FloatArray, title: FloatArray, whole: FloatArray) -> FloatArray:
    """Return the rows (n, d) of sentences with a share of the title's; the whole text's in place of one of zeros."""
    mixed: FloatArray = np.where(rows.any(axis=1, keepdims=True), rows + np.float32(TITLE_SHARE) * title, whole)
    return mixed


_LISTS_PER_ROOT = 4  # lists for each passage of the square root of all
SAMPLE_SIZE = 32  # passages for each list that its centroid is trained on
ROUNDS = 8
_GROWTH = 2  # centroids are trained again when the number of passages has grown by this factor
_SEED = 20


def ensure_lists(snapshot: Path, fingerprint: str, progress: Progress) -> None:
    """Make what is missing of the lists of a snapshot's segments, with vectors of the encoder of a fingerprint.

    An index of fewer than `LISTED_PASSAGES` passages, or without vectors, has none.
    """
    derived = snapshot.parent.parent
    names = read_segment_names(snapshot)
    parts = {name: _open_passages(derived, name).vectors for name in names}
    count = sum(map(len, parts.values()))
    if count < segment_files.LISTED_PASSAGES or not all(part.shape[1] for part in parts.values()):
        return
    known = find_centroids(derived, encoder_key(fingerprint))
    fit = [file for file in known if file.passages <= count < _GROWTH * file.passages]
    file = fit[0] if fit else _train(derived, snapshot, fingerprint, progress)
    centroids = file.read()
    missing = [name for name in names if not file.lists_path(name).is_file()]
    for done, name in enumerate(missing):
        progress("listing vectors", done, len(missing))
        write_arrays(file.lists_path(name), flatten_lists(make_lists(parts[name], centroids)), is_named=True)
    discard_lists(derived, file)
    remove_leftovers(segment_files.centroids_folder(derived))


def count_lists(passages: int) -> int:
    """Return the number of lists of an index: a power of two, about four times the root of its passages."""
    return 1 << max(0, round(log2(_LISTS_PER_ROOT * sqrt(passages))))


def _train(derived: Path, snapshot: Path, fingerprint: str, progress: Progress) -> CentroidsFile:
    vectors = load_snapshot(snapshot, partial(_open_passages, derived)).vectors
    progress("dividing vectors", 0, len(vectors))
    lists = min(count_lists(len(vectors)), len(vectors))
    random = np.random.default_rng(_SEED)
    # Positions are in the order of ids, so that the sample does not depend on how passages lie in segments.
    drawn = np.sort(random.choice(len(vectors), min(len(vectors), SAMPLE_SIZE * lists), replace=False))
    centroids = train_centroids(vectors.rows(drawn), lists, ROUNDS, random)
    file = CentroidsFile.name(derived, len(vectors), fingerprint, centroids)
    write_arrays(file.path, {"centroids": centroids}, is_named=True)
    return file


def _open_passages(derived: Path, name: str) -> StoredPassages:
    return unflatten_stored_passages(map_arrays(segments_folder(derived) / name), name)


def discard_lists(derived: Path, newest: CentroidsFile | None = None) -> None:
    """Discard all centroids but the newest, and the lists made by them; a process that has them open keeps them."""
    others: Sequence[CentroidsFile] = [file for file in find_centroids(derived) if file != newest]
    for other in others:
        lists = segments_folder(derived).glob(other.lists_path("*").name)
        for path in (*sorted(lists), other.path):
            with suppress(ProviderError):  # another process has removed it, or Windows has it open
                discard(path)
