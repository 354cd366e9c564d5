"""BM25 index over passages: term weights are computed when it is built and stored as four memory-mapped arrays.

Terms are the folded words of `clew.text.normalization` without English function words. ASCII words are stemmed with the
English Snowball stemmer, so that `founded` matches `founding`, which raised recall. In scripts written without spaces
each letter is a term, and so is each pair of neighbouring letters. Terms are stored as 64-bit hashes, so that opening
an index reads no vocabulary and a query term is found by binary search; two terms with the same hash (about 1 in 400
million for 300,000 terms) are treated as one. The weights come from `bm25s`; queries are scored directly on its arrays,
faster than its `np.add.at`.
Source: Lù, "BM25S: Orders of magnitude faster lexical search via eager sparse scoring" (2024), with the formula that
Kamphuis et al., "Which BM25 do you mean?" (2020) call Lucene (accurate).
Differs from the source: a term repeated in a query is weighted by its count; terms are added in the order of their
hashes, so that the word order of the query never changes a bit of the scores.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from Stemmer import Stemmer
from Stemmer import version as stemmer_version

from clew.arrays import FloatArray, IntArray, LongArray
from clew.errors import IndexFormatError, InputError, ProviderError
from clew.text.normalization import is_plain, key_hash, token_keys, tokens

# Function words, question words, and the letters left over after an apostrophe.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "  # noqa: SIM905
    "to was will with s t what which who whom whose when where why how did does do".split()
)
DEFAULT_K1, DEFAULT_B = 1.5, 0.75
LEXICAL = "lexical"  # folder of an index version's BM25 index
_FORMAT_VERSION = 1
_ARRAYS = {"terms": "<u8", "offsets": "<i8", "passages": "<i4", "weights": "<f4"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """The terms of p texts and how often each occurs in each."""

    hashes: NDArray[np.uint64]  # (v,) hashes of the terms, ascending
    indptr: LongArray  # (p + 1,) the terms of text i are `terms[indptr[i]:indptr[i + 1]]`
    terms: IntArray  # (m,) positions in `hashes`, ascending within a text
    counts: IntArray  # (m,) how often each occurs in the text
    lengths: IntArray  # (p,) the number of terms of each text, with repetitions


def terms_of_words(keys: Iterable[str]) -> list[str]:
    """Return the term of each folded word (see `clew.text.normalization.token_keys`), "" for a word that is none."""
    stem = _Analyzer().stem
    return ["" if key in STOP_WORDS else stem(key) for key in keys]


def count_terms(texts: Iterable[str]) -> TermCounts:
    """Return the terms of texts, counted in one pass."""
    analyzer = _Analyzer()
    numbers: dict[int, int] = {}
    number_of_term: dict[str, int] = {}
    terms, counts, sizes, lengths = array("i"), array("i"), [0], []
    for text in texts:
        row: dict[int, int] = {}
        for term in analyzer.terms(text):
            number = number_of_term.get(term)
            if number is None:
                number = number_of_term[term] = numbers.setdefault(key_hash(term), len(numbers))
            row[number] = row.get(number, 0) + 1
        terms.extend(row)
        counts.extend(row.values())
        sizes.append(len(row))
        lengths.append(sum(row.values()))
    hashes = np.fromiter(numbers, dtype=np.uint64, count=len(numbers))
    order = np.argsort(hashes)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    indptr = np.cumsum(np.array(sizes, dtype=np.int64))
    ranked = rank[np.frombuffer(terms, dtype=np.int32)] if terms else np.zeros(0, dtype=np.int32)
    by_text = np.lexsort((ranked, np.repeat(np.arange(len(lengths)), np.diff(indptr))))
    counted = np.frombuffer(counts, dtype=np.int32) if counts else np.zeros(0, dtype=np.int32)
    return TermCounts(hashes[order], indptr, ranked[by_text], counted[by_text], np.array(lengths, dtype=np.int32))


@final
@dataclass(frozen=True, slots=True, eq=False)
class BM25Index:
    """Inverted index of passages with BM25 weights; created by `build` or `load`."""

    terms: NDArray[np.uint64]  # (v,) term hashes, ascending
    offsets: LongArray  # (v + 1,) the postings of `terms[t]` are `offsets[t]` to `offsets[t + 1]`
    passages: IntArray  # (m,) passage of each posting
    weights: FloatArray  # (m,) contribution of the term to that passage's score
    size: int  # number of passages, n

    def __len__(self) -> int:
        return self.size

    @classmethod
    def build(cls, texts: Iterable[str], *, k1: float = DEFAULT_K1, b: float = DEFAULT_B) -> "BM25Index":
        """Build an index of texts in one pass; k1 (at least 0) saturates term frequency, b (0 to 1) weighs length."""
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(f"k1 is {k1} and b is {b}: wanted k1 of at least 0 (usual: 1.5), b from 0 to 1 (0.75)")
        analyzer = _Analyzer()
        numbers: dict[int, int] = {}
        number_of_term: dict[str, int] = {}
        rows: list[array[int]] = []
        for text in texts:
            row = array("i")
            for term in analyzer.terms(text):
                number = number_of_term.get(term)
                if number is None:
                    number = number_of_term[term] = numbers.setdefault(key_hash(term), len(numbers))
                row.append(number)
            rows.append(row)
        return cls(*_compute_postings(numbers, rows, k1, b), len(rows))

    @staticmethod
    def fingerprint() -> str:
        """Identify the text analysis; an index with another fingerprint must be rebuilt."""
        return f"bm25-{_FORMAT_VERSION}-snowball-{stemmer_version()}"

    def scores(self, question: str) -> FloatArray:
        """Return the BM25 score (n,) of every passage, 0 where no term matches; `question` may be any text."""
        scores = np.zeros(self.size, dtype=np.float32)
        counts = Counter(key_hash(term) for term in _Analyzer().terms(question))
        if not counts or not len(self.terms):
            return scores
        hashes = np.fromiter(counts, dtype=np.uint64, count=len(counts))
        hashes.sort()
        columns = np.minimum(np.searchsorted(self.terms, hashes), len(self.terms) - 1)
        for column in columns[self.terms[columns] == hashes].tolist():
            start, end = self.offsets[column], self.offsets[column + 1]
            count = np.float32(counts[int(self.terms[column])])
            scores[self.passages[start:end]] += (
                count * self.weights[start:end]
            )  # a passage is in a term's postings once
        return scores

    def save(self, folder: Path) -> None:
        """Write four .npy files and settings.json into `folder`, created if absent; the bytes are deterministic."""
        settings = {"fingerprint": self.fingerprint(), "passages": self.size, "stem": True}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, kind in _ARRAYS.items():
                np.save(folder / f"{name}.npy", getattr(self, name).astype(kind), allow_pickle=False)
            (folder / "settings.json").write_bytes(json.dumps(settings, sort_keys=True).encode())
        except OSError as error:
            raise ProviderError(f"{folder}: the BM25 index could not be written ({error}); free some space") from error

    @classmethod
    def load(cls, folder: Path) -> "BM25Index":
        """Map a saved index into memory; a file that is missing, damaged or of another format: IndexFormatError."""
        try:
            settings = json.loads((folder / "settings.json").read_bytes())
            # Plain views of the mapping: slicing a memmap object costs more than the addition it is sliced for.
            mapped = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in _ARRAYS}
            arrays: dict[str, Any] = {name: np.asarray(array) for name, array in mapped.items()}
        except (OSError, ValueError, EOFError) as error:
            raise _unusable_error(folder, str(error)) from error
        if fault := _find_fault(settings, arrays):
            raise _unusable_error(folder, fault)
        return cls(**arrays, size=settings["passages"])


class _Analyzer:
    """Splits text into terms; each query gets its own, since a stemmer must not be shared between threads."""

    def __init__(self) -> None:
        stem_word = Stemmer("english").stemWord
        # A corpus has few distinct words; each is stemmed once.
        self.stem = lru_cache(maxsize=None)(lambda key: stem_word(key) if key.isascii() else key)

    def terms(self, text: str) -> list[str]:
        terms: list[str] = [self.stem(key) for key in token_keys(text) if key not in STOP_WORDS]
        if not is_plain(text):
            # Adjacent tokens without a gap occur only where one is a letter of a script without spaces.
            terms += [left.key + right.key for left, right in pairwise(tokens(text)) if left.end == right.start]
        return terms


def _compute_postings(
    numbers: dict[int, int], rows: list["array[int]"], k1: float, b: float
) -> tuple[NDArray[np.uint64], LongArray, IntArray, FloatArray]:
    """Return terms, offsets, passages and weights, from the numbers of term hashes and of each passage's terms."""
    terms = np.fromiter(numbers, dtype=np.uint64, count=len(numbers))
    if not numbers:
        return terms, np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
    from bm25s import BM25
    from bm25s.tokenization import Tokenized

    order = np.argsort(terms)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    ids = [array("i", rank[row].tolist()) for row in rows]
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


def _find_fault(settings: Any, arrays: dict[str, Any]) -> str:
    wanted = BM25Index.fingerprint()
    if not isinstance(settings, dict) or not isinstance(settings.get("passages"), int):
        return f"settings.json is {json.dumps(settings)[:200]}; wanted a fingerprint and a number of passages"
    if settings.get("fingerprint") != wanted:
        return f"its fingerprint is {settings.get('fingerprint')}, wanted {wanted}"
    for name, dtype in _ARRAYS.items():
        if arrays[name].dtype != np.dtype(dtype) or arrays[name].ndim != 1:
            return f"{name}.npy has {arrays[name].dtype} of shape {arrays[name].shape}; wanted one dimension of {dtype}"
    lengths = {name: len(values) for name, values in arrays.items()}
    postings = arrays["offsets"][-1] if lengths["offsets"] == lengths["terms"] + 1 else -1
    if not lengths["passages"] == lengths["weights"] == postings:
        return f"the lengths of its arrays are inconsistent: {lengths}"
    return ""


def _unusable_error(folder: Path, reason: str) -> IndexFormatError:
    return IndexFormatError(f"{folder}: the BM25 index cannot be used ({reason}); delete the folder to rebuild it")


@final
class BM25Scorer:
    """BM25 scorer of texts without a stored index: each call builds a temporary one."""

    def score(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return BM25 scores (len(texts),)."""
        return BM25Index.build(texts).scores(question)
