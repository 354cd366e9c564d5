"""A segment: what the passages of one fragment of the table give on their own, as arrays.

It is made once, by the process that wrote the fragment, and merged with all others into the snapshot of a version
(`clew.indexing.merging`). Nothing in it depends on other fragments: names are as written, not yet resolved to entities,
and no title is linked. Vocabularies (forms, keys, tokens, terms, relations) are distinct and ascend by their hashes
(`clew.text.normalization.key_hash`), so that vocabularies of segments are joined by sorted hashes; their texts stand
beside the hashes, so that two texts with one hash are found.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.arrays import FloatArray, HashArray, IntArray, LongArray, expand_ranges
from clew.graph.string_array import StringArray
from clew.text.bm25 import TermCounts


class CollisionError(Exception):
    """Two texts of a vocabulary have one hash: all have to be hashed again with the next salt."""


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Lists of different lengths: list i is `values[indptr[i]:indptr[i + 1]]`."""

    indptr: LongArray  # (n + 1,)
    values: NDArray[np.integer]  # (m,) or (m, width)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def row(self, index: int) -> NDArray[np.integer]:
        """Return one list, (k,) or (k, width) as the values are."""
        return self.values[self.indptr[index] : self.indptr[index + 1]]

    def values_of(self, indexes: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return the values (k,) or (k, width) of some lists (n,), one list after the other."""
        starts = self.indptr[indexes]
        return self.values[expand_ranges(starts, self.indptr[indexes + 1] - starts)[0]]


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """v distinct texts, ascending by hash."""

    hashes: HashArray  # (v,)
    texts: StringArray  # v

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(frozen=True, slots=True, eq=False)
class SegmentPassages:
    """The columns of p passages, which are in ascending order of their ids."""

    ids: StringArray  # p
    document_ids: StringArray  # p
    titles: StringArray  # p
    texts: StringArray  # p
    metadata: StringArray  # p, JSON objects
    ordinals: IntArray  # (p,) position in the document
    starts: LongArray  # (p,) in characters of the document
    ends: LongArray  # (p,)
    document_hashes: StringArray  # p
    document_id_hashes: HashArray  # (p,) `key_hash` of the document's id
    document_rows: IntArray  # (p,) the number of passages that the document has
    failed: NDArray[np.bool_]  # (p,) whether the extraction failed
    extractor_names: StringArray  # fingerprints of extractors, ascending
    extractors: IntArray  # (p,) positions in `extractor_names`
    vectors: FloatArray  # (p, d) unit rows, (p, 0) without an encoder


@dataclass(frozen=True, slots=True, eq=False)
class SegmentNames:
    """The names in a segment: f forms, as written, and k keys, which all forms of a name share.

    Forms are the names of mentions and the ends of triples, and titles; keys also those of aliases and headings.
    """

    forms: Vocabulary  # f
    form_keys: IntArray  # (f,) the key of each form, -1 for one that has none (see `name_key`)
    keys: Vocabulary  # k
    key_tokens: Ragged  # k lists of positions in the vocabulary of tokens: a key split at its spaces, at least one


@dataclass(frozen=True, slots=True, eq=False)
class SegmentFacts:
    """The names and triples that the extractor found in p passages, in its order."""

    mentions: Ragged  # p lists of forms
    # (m, 2) for each mention the last token that starts at or before it (-1 for none, or where its place is not known),
    # and the first that ends at or after its end: it lies inside the tokens a to b where a <= first and b >= second
    mention_spans: IntArray
    triples: Ragged  # p lists of (head form, relation, tail form)
    relations: Vocabulary  # the relations of triples, stripped; "" is `DEFAULT_RELATION`


@dataclass(frozen=True, slots=True, eq=False)
class SegmentTitles:
    """The names of the documents of p passages, and what these documents link to."""

    keys: IntArray  # (p,) key of the passage's title, -1 for none
    forms: IntArray  # (p,) the title as a form, -1 for none
    names: Ragged  # p lists of keys, distinct: the title, the title without its parentheses, the document's aliases
    headings: Ragged  # p lists of keys, distinct: the headings of the text, for passages with a title
    # p lists of the links that count for the passage; for each the hashes of the two document ids that it may be, and
    # of the keys of the three names that it may be (path, file name, stem), as they are tried; 0: none
    links: Ragged  # values (l, 5) uint64


@dataclass(frozen=True, slots=True, eq=False)
class SegmentTokens:
    """The words of p texts, in order."""

    vocabulary: Vocabulary  # the folded words of texts and of keys
    tokens: Ragged  # p lists of positions in `vocabulary`
    flags: NDArray[np.uint8]  # (n,) bits of `clew.text.token_arrays`: how the token is written


@dataclass(frozen=True, slots=True, eq=False)
class SegmentSentences:
    """The s sentences of p texts, with m mentions of names and v terms for BM25."""

    spans: Ragged  # p lists of (start, end) in characters of the text
    first_tokens: IntArray  # (s,) the first token at or after the start of each sentence, counted in its passage
    mentions: IntArray  # (m,) the sentence of its passage in which each mention starts, -1 where its place is not known
    terms: Ragged  # s lists of terms, ascending and distinct
    bridging: NDArray[np.bool_]  # (v,) whether a term has enough letters to join sentences
    vectors: NDArray[np.int8]  # (s, d) rounded rows, (s, 0) without vectors


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The arrays that the p passages of one fragment give on their own."""

    passages: SegmentPassages
    names: SegmentNames
    facts: SegmentFacts
    titles: SegmentTitles
    tokens: SegmentTokens
    terms: TermCounts  # of "title\ntext", for BM25
    sentences: SegmentSentences

    def __len__(self) -> int:
        return len(self.passages.ids)
