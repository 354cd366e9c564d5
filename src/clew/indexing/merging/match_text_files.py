"""Files of the texts of matches, one beside each segment, so that a merge reads only passages whose matches changed."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from clew.errors import IndexFormatError
from clew.graph.segments.segment import Segment
from clew.graph.string_array import StringArray
from clew.indexing.merging.match_texts import (
    MatchTexts,
    match_text_arrays,
    match_texts_of_arrays,
    read_match_texts,
    select_match_texts,
)
from clew.indexing.merging.title_matches import TitleMatches
from clew.indexing.segments.store import SegmentFile
from clew.store.array_file import file_problem, map_arrays, write_arrays
from clew.types import Progress

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
                write_arrays(_path(file), match_text_arrays(own))
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
            rows = pc.index_in(_arrow(segment.passages.ids), value_set=_arrow(older.passages.ids))
            if not rows.null_count and (texts := _open(path, len(older))) is not None:
                return select_match_texts(texts, rows.to_numpy().astype("i8"))
    return None


def _open(path: Path, passages: int) -> MatchTexts | None:
    """Return the texts in a file; None if it is missing or damaged, so that they are read from the passages again."""
    if not path.is_file() or file_problem(path) is not None:
        return None
    try:
        texts = match_texts_of_arrays(map_arrays(path))
    except (IndexFormatError, KeyError):
        return None
    return texts if len(texts.keys) == passages else None


def _arrow(strings: StringArray) -> pa.Array:
    buffers = [None, pa.py_buffer(strings.offsets), pa.py_buffer(strings.data)]
    return pa.Array.from_buffers(pa.large_binary(), len(strings), buffers)
