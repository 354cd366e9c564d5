"""Columns of the names in the passages of one segment that searches read."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import HashArray, IntArray
from clew.graph.segments.segment import Ragged
from clew.graph.string_array import StringArray


@final
@dataclass(frozen=True, slots=True, eq=False)
class StoredNames:
    """The names in p passages: f forms as written and k keys, as of `clew.graph.segments.segment`."""

    forms: StringArray  # f
    form_keys: IntArray  # (f,) the key of each form, -1 for one that has none
    key_hashes: HashArray  # (k,)
    mentions: Ragged  # p lists of forms
    triples: Ragged  # p lists of (head form, relation, tail form)
    relations: StringArray  # relations of triples
    title_names: Ragged  # p lists of keys: the title, the title without its parentheses, the document's aliases
    headings: Ragged  # p lists of keys, for passages with a title

    def hashes_of_forms(self, forms: NDArray[np.integer]) -> HashArray:
        """Return the hashes (n,) of the keys of forms (n,), 0 for one without a key."""
        keys = self.form_keys[forms]
        return np.where(keys >= 0, self.key_hashes[keys], np.uint64(0)) if len(self.key_hashes) else keys.astype("u8")

    def forms_of(self, rows: NDArray[np.integer]) -> IntArray:
        """Return the forms (n,) of the mentions of rows (p,), and of the ends of their triples, with repetitions."""
        mentions = [self.mentions.row(row) for row in rows.tolist()]
        ends = [self.triples.row(row)[:, [0, 2]].ravel() for row in rows.tolist()]
        return np.concatenate([*mentions, *ends]) if len(rows) else np.zeros(0, dtype=np.int32)

    def hashes_of_document(self, row: int) -> HashArray:
        """Return the hashes (n,) of the names that a passage's document gives its subject: of title and headings."""
        keys = np.concatenate([self.title_names.row(row), self.headings.row(row)])
        return self.key_hashes[keys] if len(keys) else np.zeros(0, dtype=np.uint64)
