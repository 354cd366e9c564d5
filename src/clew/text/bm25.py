"""BM25 index over passages: the terms of each passage, and for each term its passages, strongest first.

Terms are the folded words of `clew.text.normalization` without English function words. ASCII words are stemmed with the
English Snowball stemmer, so that `founded` matches `founding`, which raised recall. In scripts written without spaces
each letter is a term, and so is each pair of neighbouring letters. Identifiers have terms of their own, which count
for no length (`clew.text.identifiers`). Terms are stored as 64-bit hashes, so that opening
an index reads no vocabulary and a query term is found by binary search; two terms with the same hash (about 1 in 400
million for 300,000 terms) are treated as one.

An index is merged from the counted terms of its parts (`TermCounts`) by array operations. Scores of given passages are
computed from their rows by `clew.text.row_scores`, the best passages are found by `clew.text.best_passages`; both read
a small part of it.
Source: the formula that Kamphuis et al., "Which BM25 do you mean?" (2020) call Lucene (accurate).
Differs from the source: a term repeated in a query is weighted by its count; terms are added in the order of their
hashes, so that the word order of the query never changes a bit of the scores; a term that a passage repeats more than
65,535 times counts as if it stood there 65,535 times.
"""

import json
import math
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from Stemmer import version as stemmer_version

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray, LongArray, expand_ranges, sort_distinct
from clew.arrays.mapped_files import map_array
from clew.errors import IndexFormatError, InputError, ProviderError
from clew.text.best_passages import LAYERS, best_passages, layer_postings
from clew.text.identifiers import MARKED, find_identifiers, identifier_terms, question_terms
from clew.text.normalization import find_terms, key_hash, terms_of_words, tokens
from clew.text.row_scores import fill_rows, length_norms, score_rows, term_slots

DEFAULT_K1, DEFAULT_B = 1.5, 0.75
LEXICAL = "lexical"  # folder of an index version's BM25 index
_FORMAT_VERSION = 3
_ARRAYS = {
    "terms": "<u8", "offsets": "<i8", "passages": "<i4", "bounds": "<f4", "layered_terms": "<i4",
    "layer_offsets": "<i8", "layer_bounds": "<f4", "row_offsets": "<i8", "row_terms": "<i4", "row_counts": "<u2",
    "lengths": "<i4",
}  # fmt: skip
_READ_BY_NUMPY = 30_000  # postings: up to this number numpy is faster than loading the compiled functions
_TABLES = ("layer_offsets", "layer_bounds")
_NUMBERS = ("mean_length", "k1", "b")
_hash_term = lru_cache(maxsize=1 << 15)(key_hash)


@final
@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """The terms of p texts and how often each occurs in each."""

    hashes: NDArray[np.uint64]  # (v,) hashes of the terms, ascending
    indptr: LongArray  # (p + 1,) the terms of text i are `terms[indptr[i]:indptr[i + 1]]`
    terms: IntArray  # (m,) positions in `hashes`, ascending within a text
    counts: IntArray  # (m,) how often each occurs in the text
    lengths: IntArray  # (p,) the number of terms of each text, with repetitions, without those of identifiers


def count_terms(texts: Iterable[str]) -> TermCounts:
    """Return the terms of texts, counted in one pass."""
    numbers: dict[int, int] = {}
    number_of_term: dict[str, int] = {}
    terms, counts, sizes, lengths = array("i"), array("i"), [0], []
    for text in texts:
        row: dict[int, int] = {}
        own = find_terms(text)
        inner = (term for *_, written in find_identifiers(text, tokens(text)) for term in identifier_terms(written))
        for term in (*own, *inner):
            number = number_of_term.get(term)
            if number is None:
                number = number_of_term[term] = numbers.setdefault(key_hash(term), len(numbers))
            row[number] = row.get(number, 0) + 1
        terms.extend(row)
        counts.extend(row.values())
        sizes.append(len(row))
        lengths.append(len(own))
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
class QueryTerms:
    """The q terms of a question that an index knows."""

    terms: IntArray  # (q,) positions in the index's vocabulary, ascending
    weights: DoubleArray  # (q,) inverse document frequency times the number of times that the question has the term
    slots: IntArray  # where each term is in `terms` (see `clew.text.row_scores.term_slots`)

    @classmethod
    def from_weights(cls, terms: IntArray, weights: DoubleArray) -> "QueryTerms":
        """Return the terms (q,), ascending, with weights (q,)."""
        return cls(terms, weights, term_slots(terms))

    @property
    def arrays(self) -> tuple[IntArray, DoubleArray, IntArray]:
        """Terms (q,), weights (q,) and slots, as the compiled functions take them."""
        return self.terms, self.weights, self.slots


@final
@dataclass(frozen=True, slots=True, eq=False)
class BM25Index:
    """BM25 of P passages, with m pairs of a passage and a term; created by `merge`, `build` or `load`."""

    terms: NDArray[np.uint64]  # (v,) term hashes, ascending
    offsets: LongArray  # (v + 1,) the postings of `terms[t]` are `passages[offsets[t]:offsets[t + 1]]`
    passages: IntArray  # (m,) passages of terms, those of each layer ascending (see `clew.text.best_passages`)
    bounds: FloatArray  # (v,) highest impact of each term in a passage
    layered_terms: IntArray  # (f,) the terms whose postings are in layers, ascending
    layer_offsets: LongArray  # (f, LAYERS + 1) where their layers begin in `passages`
    layer_bounds: FloatArray  # (f, LAYERS) highest impact in each layer
    row_offsets: LongArray  # (P + 1,) the terms of a passage are `row_terms[row_offsets[p]:row_offsets[p + 1]]`
    row_terms: IntArray  # (m,) ascending within a passage
    row_counts: NDArray[np.uint16]  # (m,) how often each occurs
    lengths: IntArray  # (P,) the number of terms of each passage, as in `TermCounts`
    mean_length: float
    k1: float = DEFAULT_K1
    b: float = DEFAULT_B
    _scratch: threading.local = field(default_factory=threading.local, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.lengths)

    @classmethod
    def build(cls, texts: Iterable[str], *, k1: float = DEFAULT_K1, b: float = DEFAULT_B) -> "BM25Index":
        """Build an index of texts in one pass; k1 (at least 0) saturates term frequency, b (0 to 1) weighs length."""
        counts = count_terms(texts)
        size = len(counts.lengths)
        return cls.merge([counts], [np.arange(size, dtype=np.int32)], size, k1=k1, b=b)

    @classmethod
    def merge(
        cls,
        parts: Sequence[TermCounts],
        rows: Sequence[IntArray],
        size: int,
        *,
        k1: float = DEFAULT_K1,
        b: float = DEFAULT_B,
    ) -> "BM25Index":
        """Return the index of `size` texts whose terms are counted in parts.

        `rows[i]` (n,) are the positions in the index of the n texts of part i; each position is given once. `k1` and
        `b` are as in `build`; InputError where they are out of range.
        """
        if not (k1 >= 0 and 0 <= b <= 1):
            raise InputError(f"k1 is {k1} and b is {b}: wanted k1 of at least 0 (usual: 1.5), b from 0 to 1 (0.75)")
        terms = sort_distinct(np.concatenate([np.zeros(0, dtype=np.uint64), *(part.hashes for part in parts)]))
        lengths, sizes = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int64)
        for part, places in zip(parts, rows, strict=True):
            lengths[places], sizes[places] = part.lengths, np.diff(part.indptr)
        row_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        row_terms = np.empty(row_offsets[-1], dtype=np.int32)
        row_counts = np.empty(row_offsets[-1], dtype=np.uint16)
        frequencies = np.zeros(len(terms), dtype=np.int64)
        for part, places in zip(parts, rows, strict=True):
            columns = np.searchsorted(terms, part.hashes).astype(np.int32)
            fill_rows(
                part.indptr, part.terms, part.counts, columns, places, row_offsets, row_terms, row_counts, frequencies
            )
        if not frequencies.all():  # a term of no text that is left
            row_terms = (np.cumsum(frequencies > 0, dtype=np.int32) - 1)[row_terms]
            terms, frequencies = terms[frequencies > 0], frequencies[frequencies > 0]
        mean = float(lengths.sum()) / size if size else 0.0
        norms = length_norms(k1, b, mean)
        postings = layer_postings(row_offsets, row_terms, row_counts, lengths, frequencies, *norms)
        return cls(terms, *postings, row_offsets, row_terms, row_counts, lengths, mean, k1, b)

    @staticmethod
    def fingerprint() -> str:
        """Identify the text analysis and the format; an index with another fingerprint must be rebuilt."""
        return f"bm25-{_FORMAT_VERSION}-snowball-{stemmer_version()}"

    def query(self, question: str) -> QueryTerms:
        """Return the terms of a question, which may be any text."""
        return self._known_terms([*find_terms(question), *question_terms(question)])

    def query_identifiers(self, question: str) -> QueryTerms:
        """Return those terms of a question that stand for identifiers, or for two neighbouring parts of one.

        Those are all words of a question that has no others than with digits, as `4521`; none is a term that spells
        a word of more passages, as an odd `CounTry` does.
        """
        words = find_terms(question)
        if words and all(not word.isalpha() for word in words):
            return self._known_terms(words)
        terms = [term for term in question_terms(question) if term[0] == MARKED[0]]
        spelt = terms_of_words(term[1:] for term in terms)
        pairs = [[_hash_term(term), _hash_term(word)] for term, word in zip(terms, spelt, strict=True)]
        if not pairs or not len(self.terms):
            return self._known_terms([])
        holders = self._count_holders(np.array(pairs, dtype=np.uint64))
        return self._known_terms([t for t, (own, word) in zip(terms, holders.tolist(), strict=True) if own >= word])

    def weigh_words(self, question: str) -> float:
        """Return the weight of a question's words, as in `query`; those that no passage has count as the rarest."""
        words = find_terms(question)
        known = self._known_terms(words)
        return float(known.weights.sum()) + (len(set(words)) - len(known.terms)) * math.log(2 * len(self) + 2)

    def count_holders(self, question: str) -> dict[str, int]:
        """Return the terms of a question's words, and the number of passages that have each."""
        terms = sorted(set(find_terms(question)))
        if not len(self.terms):
            return dict.fromkeys(terms, 0)
        holders = self._count_holders(np.array([key_hash(term) for term in terms], dtype=np.uint64))
        return dict(zip(terms, holders.tolist(), strict=True))

    def _known_terms(self, terms: Sequence[str]) -> QueryTerms:
        counts = Counter(map(_hash_term, terms))
        hashes = np.sort(np.fromiter(counts, dtype=np.uint64, count=len(counts)))
        if not len(hashes) or not len(self.terms):
            return QueryTerms.from_weights(np.zeros(0, dtype=np.int32), np.zeros(0))
        columns = np.minimum(np.searchsorted(self.terms, hashes), len(self.terms) - 1)
        known = self.terms[columns] == hashes
        columns = columns[known]
        marked = [term for term in terms if term[0] in MARKED]  # a joined term is as frequent as the word it spells
        words = map(_hash_term, terms_of_words(term[1:] for term in marked))
        spelt = dict(zip(map(_hash_term, marked), words, strict=True))
        counted = np.array([[term, spelt.get(term, term)] for term in hashes[known].tolist()], dtype=np.uint64)
        holders = self._count_holders(counted.reshape(-1, 2)).max(axis=1)
        rarity = np.log(1.0 + (len(self) - holders + 0.5) / (holders + 0.5))
        repeats = np.array([counts[hash_] for hash_ in hashes[known].tolist()], dtype=np.float64)
        return QueryTerms.from_weights(columns.astype(np.int32), rarity * repeats)

    def _count_holders(self, hashes: NDArray[np.uint64]) -> LongArray:
        columns = np.minimum(np.searchsorted(self.terms, hashes), len(self.terms) - 1)
        counts: LongArray = self.offsets[columns + 1] - self.offsets[columns]
        return np.where(self.terms[columns] == hashes, counts, 0)

    def has_words(self, keys: Sequence[str], allowed: BoolArray | None = None) -> list[bool]:
        """Return for folded words whether a passage has them, or words of their stem; True for function words.

        Of the passages (P,) only the allowed ones count, if given.
        """
        terms = terms_of_words(keys)
        if not len(self.terms):
            return [not term for term in terms]
        hashes = np.array([_hash_term(term) for term in terms], dtype=np.uint64)
        columns = np.minimum(self.terms.searchsorted(hashes), len(self.terms) - 1)
        is_term = self.terms[columns] == hashes
        if allowed is not None:
            for row in np.flatnonzero(is_term).tolist():
                holders = self.passages[self.offsets[columns[row]] : self.offsets[columns[row] + 1]]
                is_term[row] = allowed[holders].any()
        return [not term or bool(known) for term, known in zip(terms, is_term, strict=True)]

    @property
    def row_arrays(self) -> tuple[LongArray, IntArray, NDArray[np.uint16], IntArray, float, float]:
        """The terms of passages, as the compiled functions take them.

        Where each passage's begin (P + 1,), terms (m,), their counts (m,), lengths (P,), and the two `length_norms`.
        """
        norms = length_norms(self.k1, self.b, self.mean_length)
        return self.row_offsets, self.row_terms, self.row_counts, self.lengths, *norms

    def passage_terms(self, passage: int) -> IntArray:
        """Return the terms (n,) of a passage by its position, ascending, as positions in the vocabulary."""
        return self.row_terms[self.row_offsets[passage] : self.row_offsets[passage + 1]]

    def has_terms(self, query: QueryTerms, positions: IntArray | LongArray) -> BoolArray:
        """Return which of the q terms of a query each of n passages has, (n, q)."""
        starts = self.row_offsets[positions]
        rows, owners = expand_ranges(starts, self.row_offsets[positions + 1] - starts)
        found = np.zeros((len(positions), len(query.terms)), dtype=np.bool_)
        if len(query.terms):
            columns = np.minimum(query.terms.searchsorted(self.row_terms[rows]), len(query.terms) - 1)
            is_found = query.terms[columns] == self.row_terms[rows]
            found[owners[is_found], columns[is_found]] = True
        return found

    def scores(self, question: str) -> FloatArray:
        """Return the BM25 score (P,) of every passage, 0 where no term matches; it reads the whole index."""
        return self.scores_at(self.query(question), np.arange(len(self), dtype=np.int32))

    def scores_at(self, query: QueryTerms, positions: IntArray | LongArray) -> FloatArray:
        """Return the BM25 scores (n,) of passages (n,)."""
        if not len(query.terms):
            return np.zeros(len(positions), dtype=np.float32)
        scores: FloatArray = score_rows(*self.row_arrays, *query.arrays, positions.astype(np.int32, copy=False))
        return scores

    def top(self, query: QueryTerms, k: int, allowed: BoolArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return the `k` best passages with a score above 0, of the allowed ones (P,) if given, and their scores.

        Both are (n,) for n of at most `k`: best first, ties by position.
        """
        if not len(query.terms):
            return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
        postings = int((self.offsets[query.terms + 1] - self.offsets[query.terms]).sum())
        read = getattr(self._scratch, "read_by_numpy", 0) + postings
        if read <= _READ_BY_NUMPY:
            self._scratch.read_by_numpy = read
            return self._top_by_numpy(query, k, allowed)
        none = np.zeros(0, dtype=np.bool_)
        places = np.searchsorted(self.layered_terms, query.terms)
        layered = np.minimum(places, max(len(self.layered_terms) - 1, 0))
        is_layered = (
            self.layered_terms[layered] == query.terms if len(self.layered_terms) else np.zeros(len(places), bool)
        )
        positions, scores = best_passages(
            *self.row_arrays,
            self.offsets,
            self.passages,
            self.bounds,
            self.layer_offsets,
            self.layer_bounds,
            *query.arrays,
            np.where(is_layered, layered, -1),
            min(k, len(self)),
            none if allowed is None else allowed,
            self._zeros(),
        )
        order = np.lexsort((positions, -scores))[:k]
        return positions[order], scores[order]

    def _top_by_numpy(self, query: QueryTerms, k: int, allowed: BoolArray | None) -> tuple[IntArray, FloatArray]:
        """Return the same as `top`, to the bit, without a compiled function: all passages with a term are scored."""
        found = [self.passages[self.offsets[term] : self.offsets[term + 1]] for term in query.terms]
        positions = np.unique(np.concatenate(found))
        if allowed is not None:
            positions = positions[allowed[positions]]
        starts = self.row_offsets[positions]
        entries, rows = expand_ranges(starts, self.row_offsets[positions + 1] - starts)
        columns = np.minimum(np.searchsorted(query.terms, self.row_terms[entries]), len(query.terms) - 1)
        known = query.terms[columns] == self.row_terms[entries]
        rows, columns, counts = rows[known], columns[known], self.row_counts[entries[known]].astype(np.float64)
        base, slope = length_norms(self.k1, self.b, self.mean_length)
        impacts = counts / (counts + base + slope * self.lengths[positions[rows]])
        scores = np.zeros(len(positions), dtype=np.float32)
        np.add.at(scores, rows, (query.weights[columns] * impacts).astype(np.float32))  # in order, as the terms stand
        best = np.lexsort((positions, -scores))[:k]
        best = best[scores[best] > 0]
        return positions[best], scores[best]

    def _zeros(self) -> NDArray[np.uint8]:
        """Return zeros (P,) of this thread; `best_passages` leaves them as zeros."""
        scratch: NDArray[np.uint8] | None = getattr(self._scratch, "zeros", None)
        if scratch is None:
            scratch = self._scratch.zeros = np.zeros(len(self), dtype=np.uint8)
        return scratch

    def save(self, folder: Path) -> None:
        """Write the arrays and settings.json into `folder`, created if absent; the bytes are deterministic."""
        settings = {
            "fingerprint": self.fingerprint(),
            "passages": len(self),
            "mean_length": self.mean_length,
            "k1": self.k1,
            "b": self.b,
        }
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, kind in _ARRAYS.items():
                np.save(folder / f"{name}.npy", getattr(self, name).astype(kind, copy=False), allow_pickle=False)
            (folder / "settings.json").write_bytes(json.dumps(settings, sort_keys=True).encode())
        except OSError as error:
            raise ProviderError(f"{folder}: the BM25 index could not be written ({error}); free some space") from error

    @classmethod
    def load(cls, folder: Path) -> "BM25Index":
        """Map a saved index into memory; a file that is missing, damaged or of another format: IndexFormatError.

        One that may not be read is an OSError.
        """
        try:
            settings = json.loads((folder / "settings.json").read_bytes())
            arrays: dict[str, Any] = {name: map_array(folder / f"{name}.npy") for name in _ARRAYS}
        except (FileNotFoundError, ValueError, EOFError) as error:
            raise _unusable_error(folder, str(error)) from error
        if fault := _find_fault(settings, arrays):
            raise _unusable_error(folder, fault)
        return cls(**arrays, mean_length=settings["mean_length"], k1=settings["k1"], b=settings["b"])


def _find_fault(settings: Any, arrays: dict[str, Any]) -> str:
    wanted = BM25Index.fingerprint()
    if not isinstance(settings, dict) or settings.get("fingerprint") != wanted:
        found = settings.get("fingerprint") if isinstance(settings, dict) else json.dumps(settings)[:200]
        return f"its fingerprint is {found}, wanted {wanted}"
    if not all(isinstance(settings.get(name), float | int) for name in ("passages", *_NUMBERS)):
        return f"settings.json is {json.dumps(settings)[:200]}; wanted numbers for passages, {', '.join(_NUMBERS)}"
    for name, kind in _ARRAYS.items():
        array, dimensions = arrays[name], 2 if name in _TABLES else 1
        if array.dtype != np.dtype(kind) or array.ndim != dimensions:
            return f"{name}.npy has {array.dtype} of shape {array.shape}; wanted {dimensions} dimensions of {kind}"
    lengths = {name: len(values) for name, values in arrays.items()}
    terms, passages, layered = lengths["terms"], int(settings["passages"]), lengths["layered_terms"]
    postings = arrays["offsets"][-1] if lengths["offsets"] else -1
    wanted_lengths = {
        "offsets": terms + 1, "bounds": terms, "passages": postings, "row_terms": postings, "row_counts": postings,
        "row_offsets": passages + 1, "lengths": passages, "layer_offsets": layered, "layer_bounds": layered,
    }  # fmt: skip
    tables = {"layer_offsets": LAYERS + 1, "layer_bounds": LAYERS}
    if any(arrays[name].shape[1] != width for name, width in tables.items()):
        return f"its tables of layers have other widths than {tables}"
    if any(lengths[name] != length for name, length in wanted_lengths.items()):
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
