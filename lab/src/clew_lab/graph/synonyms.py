"""Synonyms: pairs of names whose vectors are nearly equal, which the published graphs join.

They are found when a retriever first needs them, by products of all vectors with all vectors, block by block; the score
of a pair is computed again on its own in double precision, so that no result depends on the blocks.

Source: Gutiérrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models", 2024
(synonymy edges: cosine of at least 0.8, 100 of a name); for `relative` the authors' code of GFM-RAG, entity resolution:
the scores of a name's neighbours are divided by the best one. Differs from the source: an edge stays when either end
proposes it, so that a hub may have more; equal neighbours are ordered by name; with `relative` any encoder's cosines
stand in place of late interaction, and the name itself is no neighbour.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, IntArray
from clew.errors import InputError
from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.records import setting
from clew.query.context import IndexContext
from clew.text.normalization import tokens

SynonymNames = Literal["comparable", "all", "relative"]
"""The names that are compared: without figures, and no pair of two titles; all, as published; or all, by `relative`."""

THRESHOLD, LIMIT = 0.8, 100
MAX_NAMES = 400_000
"""Names that are compared, at most."""
_BLOCK_ROWS = 512
_SLACK = 1e-4  # above any rounding of a product in single precision
_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")

SYNONYMS = setting(
    "comparable",
    "the names that may be synonyms: comparable (no figures, no two titles), all, or relative (to the best of a name)",
    "HippoRAG, GFM-RAG: all; GFM-RAG's code: relative",
)


def load_synonyms(context: IndexContext, names: SynonymNames = "comparable") -> Adjacency:
    """Return the synonyms of each of E entities with their cosines, found at first use and cached on disk.

    An index without vectors has none, and nor have imported entities that no passage mentions. Parts of an entity that
    was split may be synonyms.

    Raises:
        InputError: There are more than `MAX_NAMES` names.
    """
    snapshot, encoder = context.scope.snapshot, context.index_encoder
    pairs = np.zeros((0, 3))
    if encoder is not None:
        pairs = context.cached_array(
            f"synonyms-{names}-{encoder.fingerprint}",
            lambda: _entity_pairs(snapshot, context.encode_texts, names),
        )
    left, right = (pairs[:, end].astype(np.int32) for end in (0, 1))
    both = np.concatenate([left, right]), np.concatenate([right, left])
    return build_adjacency(*both, np.tile(pairs[:, 2].astype(np.float32), 2), len(snapshot.entities))


def _entity_pairs(
    snapshot: Snapshot, encode: Callable[[Sequence[str]], FloatArray], compared: SynonymNames
) -> NDArray[np.float64]:
    """Return the pairs (m, 3) of entities that are synonyms: both, ascending, and their cosine."""
    names = list(snapshot.entities)
    usable = (snapshot.mentioned_in.degrees() > 0) | ~snapshot.imported.any()
    if compared == "comparable":
        usable &= np.fromiter(map(is_comparable, names), dtype=bool, count=len(names))
    first_of_name = {names[entity]: entity for entity in np.flatnonzero(usable)[::-1].tolist()}
    entities = np.array(sorted(first_of_name.values()), dtype=np.int32)
    chosen = [names[entity] for entity in entities.tolist()]
    if len(chosen) > MAX_NAMES:
        raise InputError(
            f"synonyms compare each name with all others, and this index has {len(chosen):,}; wanted at most "
            f"{MAX_NAMES:,}: choose another retriever"
        )
    left, right, score = find_synonyms(chosen, encode(chosen), THRESHOLD, LIMIT, relative=compared == "relative")
    if compared == "comparable":
        is_title = np.zeros(len(names), dtype=bool)
        is_title[snapshot.title_entities[snapshot.title_entities >= 0]] = True
        told = [are_distinguishable(chosen[a], chosen[b]) for a, b in zip(left, right, strict=True)]
        # Two documents with their own titles are about two things, however similar their names are.
        kept: BoolArray = np.array(told, dtype=bool) & ~(is_title[entities[left]] & is_title[entities[right]])
        left, right, score = left[kept], right[kept], score[kept]
    return np.column_stack([entities[left], entities[right], score]).astype(np.float64)


def are_distinguishable(one: str, other: str) -> bool:
    """Return False for names in a script without spaces that share no letter: to an encoder all may be one word."""
    if one.isascii() and other.isascii():
        return True
    letters = [{token.key for token in tokens(name) if len(token.key) == 1} for name in (one, other)]
    unspaced = any(not letter.isascii() for letter in letters[0] | letters[1])
    return not unspaced or bool(letters[0] & letters[1])


def is_comparable(name: str) -> bool:
    """Return whether a name can be compared by its vector: digits make different things similar (1963 and 1964)."""
    if name.isascii():
        return _LETTER.search(name) is not None and _DIGIT.search(name) is None
    return any(letter.isalpha() for letter in name) and not any(letter.isdigit() for letter in name)


def find_synonyms(
    names: Sequence[str], vectors: FloatArray, threshold: float, limit: int, *, relative: bool = False
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of names whose cosine is at least a threshold, and among the best of at least one end.

    Args:
        names: n distinct names.
        vectors: Their unit vectors (n, d).
        threshold: The least cosine, above 0 and at most 1; with `relative` as a share of the best one of an end.
        limit: Pairs that a name proposes, at least 1; of equal ones those with the first names.
        relative: Whether the threshold is a share.

    Returns:
        Left and right rows (m,), left below right, ascending, and cosines (m,).
    """
    rank = np.empty(len(names), dtype=np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(names), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS] @ vectors.T
        own = np.arange(len(block))
        block[own, start + own] = -1.0
        least = threshold * block.max(axis=1, keepdims=True) if relative else threshold
        rows, columns = np.nonzero(block >= np.maximum(least - _SLACK, _SLACK))
        scores = np.einsum("ij,ij->i", vectors[start + rows].astype(np.float64), vectors[columns].astype(np.float64))
        for row, (first, last) in enumerate(zip(*_bounds(rows, len(block)), strict=True)):
            others, cosines = columns[first:last], scores[first:last]
            order = np.lexsort((rank[others], -cosines))[:limit]
            floor = threshold * cosines.max() if relative and len(cosines) else threshold
            for at in order[cosines[order] >= floor].tolist():
                other = int(others[at])
                found[min(start + row, other), max(start + row, other)] = float(cosines[at])
    pairs = sorted(found)
    left, right = (np.array([pair[end] for pair in pairs], dtype=np.int32) for end in (0, 1))
    return left, right, np.array([found[pair] for pair in pairs], dtype=np.float32)


def _bounds(rows: NDArray[np.int64], count: int) -> tuple[list[int], list[int]]:
    """Return where the entries of each of some rows begin and end, among ascending numbers of rows."""
    numbers = np.arange(count)
    return np.searchsorted(rows, numbers).tolist(), np.searchsorted(rows, numbers, "right").tolist()
