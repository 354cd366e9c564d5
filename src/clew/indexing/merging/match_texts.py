"""The words that stand around and in the matches of titles: a relation and a written form for each match.

They need the text, and are the only part of a snapshot that is computed in Python, once for each passage whose matches
have changed: the rest is taken from the last merge, which keeps it in a file beside the segment.

Files of the texts of matches, one beside each segment, so that a merge reads only passages whose matches changed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from clew.arrays import HashArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.errors import IndexFormatError
from clew.graph.segments.flat import flatten_arrays, unflatten_arrays
from clew.graph.segments.segment import Segment, Vocabulary
from clew.indexing.extraction.rule_based import DEFAULT_RELATION, relation_words
from clew.indexing.merging.title_matches import TitleMatches, interleave
from clew.indexing.merging.vocabularies import join_vocabularies
from clew.indexing.segments.store import SegmentFile
from clew.indexing.segments.vocabularies import Numbering, compact, make_vocabulary, row_positions, to_arrow
from clew.store.array_file import open_intact, write_arrays
from clew.text.normalization import token_spans
from clew.text.sentences import sentence_spans
from clew.types import Progress


@final
@dataclass(frozen=True, slots=True, eq=False)
class MatchTexts:
    """Relations and forms of the m matches in a segment of p passages."""

    keys: HashArray  # (p,) hash of the places of each passage's matches, 0 for none
    indptr: LongArray  # (p + 1,) the matches of each passage
    relations: IntArray  # (m,) positions in `relation_texts`
    forms: IntArray  # (m,) positions in `form_texts`
    relation_texts: Vocabulary  # the words before a match
    form_texts: Vocabulary  # titles as they are written in texts


def read_match_texts(segment: Segment, matches: TitleMatches, known: MatchTexts | None, salt: int) -> MatchTexts:
    """Return the texts of a segment's matches; `known` itself where nothing has changed.

    `known` are those of an earlier merge of the same segment, from which unchanged passages are taken. Two texts with
    one hash are a CollisionError.
    """
    keys: HashArray = _hash_places(matches.indptr, matches.first, matches.last)
    is_changed = keys != 0 if known is None else (keys != 0) & (keys != known.keys)
    changed = np.flatnonzero(is_changed)
    if known is not None and not len(changed) and np.array_equal(keys, known.keys):
        return known
    relations, forms, new = Numbering(), Numbering(), list[tuple[int, int]]()
    for passage in changed.tolist():
        places = slice(int(matches.indptr[passage]), int(matches.indptr[passage + 1]))
        spans = list(zip(matches.first[places].tolist(), matches.last[places].tolist(), strict=True))
        found = match_texts(segment.passages.texts[passage], spans)
        new += [(relations[relation], forms[form]) for relation, form in found]
    is_new = np.repeat(is_changed, np.diff(matches.indptr))
    old = np.zeros(0, dtype=np.int64) if known is None else _entries(known.indptr, (keys != 0) & ~is_changed)
    relation, form = np.array(new, dtype=np.int64).reshape(-1, 2).T
    relation_texts, relation_numbers = _join(
        relations, relation, known and known.relation_texts, known and known.relations, old, salt
    )
    form_texts, form_numbers = _join(forms, form, known and known.form_texts, known and known.forms, old, salt)
    return MatchTexts(
        keys,
        np.asarray(matches.indptr),
        interleave(is_new, *relation_numbers),
        interleave(is_new, *form_numbers),
        relation_texts,
        form_texts,
    )


def match_texts(text: str, matches: Sequence[tuple[int, int]]) -> Iterator[tuple[str, str]]:
    """Yield the words before each match, up to the one before it or the sentence's start, and the match as written.

    A match is given by its first and its last token; matches ascend and do not overlap.
    """
    tokens = token_spans(text)
    sentences = iter(sentence_spans(text))
    begin, end = next(sentences, (0, 0))
    previous = begin
    for first, last in matches:
        start, stop = tokens[first][0], tokens[last][1]
        while start >= end:
            begin, end = next(sentences, (start, len(text) + 1))
            previous = begin
        yield relation_words(text[max(previous, begin) : start]) or DEFAULT_RELATION, text[start:stop]
        previous = stop


def select_match_texts(texts: MatchTexts, rows: LongArray) -> MatchTexts:
    """Return those of some passages (n,) of a segment, in the order given, without texts that only others had."""
    indptr, entries = row_positions(texts.indptr, rows)
    relations, forms = texts.relations[entries], texts.forms[entries]
    (relation_texts, relation), (form_texts, form) = (
        compact(texts.relation_texts, relations),
        compact(texts.form_texts, forms),
    )
    return MatchTexts(texts.keys[rows], indptr, relation[relations], form[forms], relation_texts, form_texts)


def _join(
    texts: Numbering, new: LongArray, known: Vocabulary | None, numbers: IntArray | None, old: LongArray, salt: int
) -> tuple[Vocabulary, tuple[IntArray, IntArray]]:
    """Return the vocabulary of texts with what the entries `old` use of a known one, and the numbers of both."""
    vocabulary, positions = make_vocabulary(list(texts), salt)
    if known is None or numbers is None or not len(old):
        return vocabulary, (np.zeros(0, dtype=np.int32), positions[new])
    rest, place = compact(known, numbers[old])
    joined = join_vocabularies([rest, vocabulary])
    own = joined.numbers[0][place[numbers[old]]], joined.numbers[1][positions[new]]
    return Vocabulary(joined.hashes, joined.texts), own


def _entries(indptr: LongArray, chosen: NDArray[np.bool_]) -> LongArray:
    return np.flatnonzero(np.repeat(chosen, np.diff(indptr)))


@njit
def _hash_places(indptr, first, last):  # type: ignore[no-untyped-def]
    keys = np.zeros(len(indptr) - 1, dtype=np.uint64)
    for passage in range(len(indptr) - 1):
        state = np.uint64(0)
        for i in range(indptr[passage], indptr[passage + 1]):
            for value in (first[i], last[i]):
                state = (state ^ np.uint64(value + 1)) * np.uint64(0x9E3779B97F4A7C15)
                state ^= state >> np.uint64(29)
        if indptr[passage + 1] > indptr[passage] and state == 0:
            state = np.uint64(1)
        keys[passage] = state
    return keys


_SUFFIX = "-links"


class StoredMatchTexts:
    """Reads the texts of matches of the segments in some files, and writes those that changed."""

    def __init__(self, files: Sequence[SegmentFile], progress: Progress) -> None:
        self._files = files
        self._progress = progress

    def __call__(self, segments: Sequence[Segment], matches: Sequence[TitleMatches], salt: int) -> list[MatchTexts]:
        """Return the texts of matches (see `clew.indexing.merging.merge.MatchTextSource`)."""
        total = sum(map(len, segments))
        done = 0
        texts: list[MatchTexts] = []
        for file, segment, own_matches in zip(self._files, segments, matches, strict=True):
            self._progress("linking", done, total)
            known = _read(file, segment)
            own = read_match_texts(segment, own_matches, known, salt)
            if own is not known or not _path(file).is_file():
                write_arrays(_path(file), flatten_arrays(own))
            texts.append(own)
            done += len(segment)
        return texts


def _path(file: SegmentFile) -> Path:
    return file.path.with_name(f"{file.path.stem}{_SUFFIX}{file.path.suffix}")


def _read(file: SegmentFile, segment: Segment) -> MatchTexts | None:
    """Return the texts of an earlier merge, also those of the segment before passages were removed from it."""
    if (texts := _open(_path(file), len(segment))) is not None:
        return texts
    fragment = file.path.stem.rpartition("-")[0]
    for path in sorted(file.path.parent.glob(f"{fragment}-*{_SUFFIX}{file.path.suffix}")):
        older_file = SegmentFile(path.with_name(f"{path.stem.removesuffix(_SUFFIX)}{path.suffix}"))
        if older_file.path.is_file():
            older = older_file.open()
            rows = pc.index_in(to_arrow(segment.passages.ids), value_set=to_arrow(older.passages.ids))
            if not rows.null_count and (texts := _open(path, len(older))) is not None:
                return select_match_texts(texts, rows.to_numpy().astype("i8"))
    return None


def _open(path: Path, passages: int) -> MatchTexts | None:
    """Return the texts in a file; None if it is missing or damaged, so that they are read from the passages again."""
    opened = open_intact(path)
    if opened is None:
        return None
    try:
        texts = unflatten_arrays(MatchTexts, opened.arrays, path.name)
    except IndexFormatError:
        return None
    return texts if len(texts.keys) == passages else None
