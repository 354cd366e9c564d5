"""The displayed name of each entity: its most frequent form; a title as its own documents write it most often."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from clew.arrays import BoolArray, IntArray, LongArray
from clew.arrays.kernels import njit
from clew.graph.segments.segment import Segment
from clew.graph.string_array import StringArray
from clew.graph.string_kernels import take_strings
from clew.indexing.merging.match_texts import MatchTexts
from clew.indexing.merging.passage_facts import PassageFacts
from clew.indexing.merging.vocabularies import JoinedVocabulary

_TITLE_COUNT = 1 << 40  # of a title as its own passage writes it, which outweighs all uses elsewhere


@final
@dataclass(frozen=True, slots=True, eq=False)
class NamedKeys:
    """The entities that passages name, among k keys."""

    used: BoolArray  # (k,) whether a key is an entity
    names: StringArray  # the displayed name of each, in the order of the keys


def name_entities(
    segments: Sequence[Segment],
    facts: Sequence[PassageFacts],
    texts: Sequence[MatchTexts],
    forms: JoinedVocabulary,
    form_keys: Sequence[IntArray],
    single: IntArray,
) -> NamedKeys:
    """Return the entities with their names.

    `forms` joins the forms of the segments and then those of their matches; `form_keys` are for each segment the keys
    of its forms, and `single` (k,) is that of `TitleNames`. Equally frequent forms: the first in code-point order.
    """
    counts = np.zeros(len(forms), dtype=np.int64)
    key_of_form = np.full(len(forms), -1, dtype=np.int32)
    uses = [np.zeros(0, dtype=np.int64)]
    for number, (segment, own, match, keys) in enumerate(zip(segments, facts, texts, form_keys, strict=True)):
        numbers, match_numbers = forms.numbers[number], forms.numbers[len(segments) + number]
        key_of_form[numbers] = keys
        counts[numbers] += own.form_counts
        titles = segment.titles.forms[segment.titles.keys >= 0]
        counts[numbers] += np.bincount(titles, minlength=len(numbers)) * _TITLE_COUNT
        uses.append(_pack(own.other_forms[:, 0], numbers[own.other_forms[:, 1]]))
        uses.append(_pack(own.match_forms[:, 0], match_numbers[match.forms[own.match_forms[:, 1]]]))
    other, other_counts = np.unique(np.concatenate(uses), return_counts=True)
    del uses
    best = _most_frequent(counts, key_of_form, single, other, other_counts, forms.texts.data, forms.texts.offsets)
    used = best >= 0
    return NamedKeys(used, take_strings(forms.texts, best[used]))


def _pack(high: IntArray, low: IntArray | LongArray) -> LongArray:
    return high.astype(np.int64) << 32 | low.astype(np.int64)


@njit
def _is_before(data, offsets, one, other):  # type: ignore[no-untyped-def]
    """Return whether string `one` comes before string `other` in the order of code points, which is that of bytes."""
    begin, other_begin = offsets[one], offsets[other]
    size, other_size = offsets[one + 1] - begin, offsets[other + 1] - other_begin
    for byte in range(min(size, other_size)):
        a, b = data[begin + byte], data[other_begin + byte]
        if a != b:
            return a < b
    return size < other_size


@njit
def _most_frequent(counts, key_of_form, single, other, other_counts, data, offsets):  # type: ignore[no-untyped-def]
    """Return for each key (k,) the form with the highest count, the first in code-point order of several; -1 for none.

    A form counts for the single key that it means, and as often as `other_counts` for the key of `other` (a key << 32 |
    a form). Where a pair has counts of both kinds, its sum comes last and is the highest of the three.
    """
    best = np.full(len(single), -1, dtype=np.int32)
    best_counts = np.zeros(len(single), dtype=np.int64)
    for i in range(len(counts) + len(other)):
        if i < len(counts):
            if counts[i] == 0:
                continue
            form, key, count = i, single[key_of_form[i]], counts[i]
        else:
            pair = other[i - len(counts)]
            key, form = pair >> 32, pair & 0xFFFFFFFF
            count = other_counts[i - len(counts)]
            if counts[form] > 0 and single[key_of_form[form]] == key:
                count += counts[form]
        if count > best_counts[key] or (count == best_counts[key] and _is_before(data, offsets, form, best[key])):
            best[key], best_counts[key] = form, count
    return best
