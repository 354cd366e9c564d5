"""BM25 over passages: scored when it is built, kept as four plain arrays, opened by mapping them into memory.

Terms are the folded words of `clew.text.normalization` without English function words and, unless asked
otherwise, endings. In scripts written without spaces each letter is a term, and so is each pair of neighbouring
letters.

A term is kept as its 64-bit hash, so that opening reads no vocabulary and a question's term is found by halving; two
terms with one hash (about one chance in 400 million among 300,000 terms) count as one. The weights come from the
library `bm25s`; a question is scored on its arrays directly, which is faster than the library's `np.add.at`.

Source: Lù, "BM25S: Orders of magnitude faster lexical search via eager sparse scoring" (2024), with the formula that
Kamphuis et al., "Which BM25 do you mean?" (2020) call Lucene (accurate).
Differs from the source: a word that a question repeats counts as often as it stands there, in one sum, added in the
order of the terms' hashes, so that the order of the words never changes a bit of the scores.
"""

import json
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numba import njit

from clew.errors import IndexFormatError, InputError, ProviderError
from clew.text.normalization import is_plain, key_hash, token_keys, tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray


if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, IntArray, LongArray

# Function words, question words, and the letters that an apostrophe cuts off: they say nothing of what is asked for.
_STOP_WORD_LIST = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with s t what which who whom whose when where why how did does do"
)
STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
DEFAULT_K1, DEFAULT_B = 1.5, 0.75
_FORMAT_VERSION = 1
_ARRAYS = {"terms": "<u8", "offsets": "<i8", "passages": "<i4", "weights": "<f4"}


@final
class BM25Index:
    """Passages by the words they hold; made by `build` or `load`."""

    def __init__(
        self,
        terms: "NDArray[np.uint64]",
        offsets: "LongArray",
        passages: "IntArray",
        weights: "FloatArray",
        size: int,
        stem: bool,
    ) -> None:
        """Take the columns as they are; the postings of `terms[t]` are numbers `offsets[t]` to `offsets[t + 1]`.

        Args:
            terms: (v,) hashes, ascending.
            offsets: (v + 1,).
            passages: (m,) passage of each posting.
            weights: (m,) what the term adds to that passage's score.
            size: How many passages there are, n.
            stem: Whether English endings were cut off.
        """
        self._terms = terms
        self._offsets = offsets
        self._passages = passages
        self._weights = weights
        self._size = size
        self._stem = stem

    def __len__(self) -> int:
        return self._size

    @classmethod
    def build(
        cls, texts: Iterable[str], *, stem: bool = True, k1: float = DEFAULT_K1, b: float = DEFAULT_B
    ) -> "BM25Index":
        """Weigh the terms of `texts`; the texts are read once.

        Args:
            texts: One text a passage, commonly its title, a line break and its text.
            stem: Cut English endings (Snowball) off words of plain letters, so that `founded` meets `founding`; it
                found more of the gold on both development sets it was tried on.
            k1: How slowly a repeated word stops counting, 0 or more.
            b: How much a long passage is held against it, 0 to 1.

        Raises:
            InputError: `k1` or `b` is out of range.
        """
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(
                f"k1 is {k1} and b is {b}; k1 must be at least 0 and b between 0 and 1 (usual: {DEFAULT_K1}, "
                f"{DEFAULT_B})"
            )
        analysis = _Analyzer(stem)
        numbers: dict[int, int] = {}
        known: dict[str, int] = {}
        rows: list[array[int]] = []
        for text in texts:
            row = array("i")
            for term in analysis.terms(text):
                number = known.get(term)
                if number is None:
                    number = known[term] = numbers.setdefault(key_hash(term), len(numbers))
                row.append(number)
            rows.append(row)
        return cls(*_compute_postings(numbers, rows, k1, b), len(rows), stem)

    @staticmethod
    def fingerprint(*, stem: bool = True) -> str:
        """Return what changes whenever a text's terms would: a folder made under another one must be built again."""
        if not stem:
            return f"bm25-{_FORMAT_VERSION}"
        from Stemmer import version

        return f"bm25-{_FORMAT_VERSION}-snowball-{version()}"

    def scores(self, question: str) -> "FloatArray":
        """Return the BM25 score (n,) of every passage, 0 where it holds no term of the question; any text will do."""
        scores = np.zeros(self._size, dtype=np.float32)
        counts = Counter(key_hash(term) for term in _Analyzer(self._stem).terms(question))
        if not counts or not len(self._terms):
            return scores
        asked = np.fromiter(counts, dtype=np.uint64, count=len(counts))
        asked.sort()
        columns = np.minimum(np.searchsorted(self._terms, asked), len(self._terms) - 1)
        for column in columns[self._terms[columns] == asked].tolist():
            start, end = self._offsets[column], self._offsets[column + 1]
            _add_postings(
                scores, self._passages, self._weights, start, end, np.float32(counts[int(self._terms[column])])
            )
        return scores

    def save(self, folder: Path) -> None:
        """Write four .npy files and settings.json into `folder`, made when absent; the same texts give the same bytes.

        Raises:
            ProviderError: The disk refused.
        """
        settings = {"fingerprint": self.fingerprint(stem=self._stem), "passages": self._size, "stem": self._stem}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, kind in _ARRAYS.items():
                np.save(folder / f"{name}.npy", getattr(self, f"_{name}").astype(kind), allow_pickle=False)
            (folder / "settings.json").write_bytes(json.dumps(settings, sort_keys=True).encode())
        except OSError as error:
            raise ProviderError(f"{folder}: the BM25 index could not be written ({error}); free some space") from error

    @classmethod
    def load(cls, folder: Path) -> "BM25Index":
        """Map a saved index into memory; nothing but headers is read until a question is scored.

        Raises:
            IndexFormatError: A file is missing, damaged, or of another version's format.
        """
        try:
            settings = json.loads((folder / "settings.json").read_bytes())
            arrays = {name: _memory_map(folder / f"{name}.npy") for name in _ARRAYS}
        except (OSError, ValueError, EOFError) as error:
            raise _unusable_error(folder, str(error)) from error
        wrong = _find_fault(settings, arrays)
        if wrong:
            raise _unusable_error(folder, wrong)
        return cls(**arrays, size=settings["passages"], stem=settings["stem"])


@njit(cache=True, nogil=True)
def _add_postings(scores, passages, weights, start, end, times):  # type: ignore[no-untyped-def]
    for posting in range(start, end):
        scores[passages[posting]] += times * weights[posting]


class _Analyzer:
    """Text to terms; made anew for every question, since a stemmer must not be shared between threads."""

    def __init__(self, stem: bool) -> None:
        self._term: Callable[[str], str] | None = None
        if stem:
            from Stemmer import Stemmer

            cut = Stemmer("english").stemWord
            # A corpus has few different words; each is cut once.
            self._term = lru_cache(maxsize=None)(lambda key: cut(key) if key.isascii() else key)

    def terms(self, text: str) -> list[str]:
        found = [key for key in token_keys(text) if key not in STOP_WORDS]
        if self._term:
            found = list(map(self._term, found))
        if not is_plain(text):
            words = tokens(text)
            # Words that touch: only where one of them is a letter of a script without spaces.
            found += [left.key + right.key for left, right in pairwise(words) if left.end == right.start]
        return found


def _compute_postings(
    numbers: dict[int, int], rows: list["array[int]"], k1: float, b: float
) -> tuple["NDArray[np.uint64]", "LongArray", "IntArray", "FloatArray"]:
    """Return terms, offsets, passages and weights of the index over `rows`, whose entries are values of `numbers`."""
    terms = np.fromiter(numbers, dtype=np.uint64, count=len(numbers))
    if not numbers:
        return terms, np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    from bm25s import BM25
    from bm25s.tokenization import Tokenized

    order = np.argsort(terms)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    ids = [array("i", places[row].tolist()) for row in rows]
    vocabulary = {str(number): number for number in range(len(order))}
    engine = BM25(k1=k1, b=b, method="lucene")
    engine.index(Tokenized(ids=ids, vocab=vocabulary), create_empty_token=False, show_progress=False)
    columns = engine.scores
    return (
        terms[order],
        np.asarray(columns["indptr"], dtype=np.int64),
        np.asarray(columns["indices"], dtype=np.int32),
        np.asarray(columns["data"], dtype=np.float32),
    )


def _memory_map(path: Path) -> Any:
    # A plain view of the mapping: slicing a memmap object costs more than the addition it is sliced for.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _find_fault(settings: Any, arrays: dict[str, Any]) -> str:
    """Say what does not fit, "" when everything does."""
    seen = json.dumps(settings)[:200]
    if not isinstance(settings, dict) or not {"fingerprint", "passages", "stem"} <= settings.keys():
        return f"settings.json is {seen}; wanted fingerprint, passages and stem"
    if not isinstance(settings["passages"], int) or not isinstance(settings["stem"], bool):
        return f"settings.json is {seen}; wanted a whole number of passages, and true or false for stem"
    wanted = BM25Index.fingerprint(stem=settings["stem"])
    if settings["fingerprint"] != wanted:
        return f"it was made under {settings['fingerprint']}, this is {wanted}"
    for name, kind in _ARRAYS.items():
        if arrays[name].dtype != np.dtype(kind) or arrays[name].ndim != 1:
            return f"{name}.npy holds {arrays[name].dtype} of shape {arrays[name].shape}, not one row of {kind}"
    lengths = {name: len(values) for name, values in arrays.items()}
    if lengths["offsets"] != lengths["terms"] + 1 or not (
        lengths["passages"] == lengths["weights"] == arrays["offsets"][-1]
    ):
        return f"the lengths do not fit together: {lengths}"
    return ""


def _unusable_error(folder: Path, reason: str) -> IndexFormatError:
    return IndexFormatError(f"{folder}: no usable BM25 index ({reason}); delete the folder and build it again")


@final
class BM25Scorer:
    """BM25 of texts that are no index: they are weighed anew for each question."""

    def score(self, question: str, texts: Sequence[str]) -> "FloatArray":
        """Return BM25 scores (len(texts),)."""
        return BM25Index.build(texts).scores(question)


LEXICAL = "lexical"
