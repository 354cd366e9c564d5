"""The synonyms among the entities of a snapshot: which names are compared, and which pairs are accepted."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clew.arrays import FloatArray, IntArray
from clew.arrays.mapped_files import VectorFile
from clew.graph.snapshot.snapshot import Snapshot, with_equivalences
from clew.graph.string_array import StringArray, take_strings
from clew.indexing.resolution.pair_cache import VectorRows, first_rows, load_pairs, save_pairs
from clew.indexing.resolution.synonyms import EXACT_NAMES, find_relative_synonyms, find_synonyms
from clew.protocols import Encoder
from clew.store.atomic import atomic_folder, temporary_folder
from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import hash_files, snapshot_problems, write_manifest
from clew.store.vector_cache import VectorCache
from clew.text.normalization import tokens
from clew.types import Progress, count_progress

_LETTER, _DIGIT = re.compile("[A-Za-z]"), re.compile("[0-9]")


def add_synonyms(
    snapshot: Snapshot,
    table: PassageTable,
    derived: Path,
    encoder: Encoder,
    progress: Progress,
    origins: IntArray | None,
) -> Snapshot:
    """Add edges between synonyms, without the (maybe millions of) imported entities that no passage mentions.

    Args:
        snapshot: Of E entities; without synonyms.
        table: The table of its version, whose settings say which names are compared, and how similar synonyms are.
        derived: Folder of derived data that is for its passages alone; what is known of pairs of names lies there.
        encoder: Whose vectors of names are compared; one of dimension 0 adds nothing.
        progress: Called with the names encoded so far.
        origins: (E,) or None; entities with one origin, from 0 on, were declared different by a person, however similar
            their names are.
    """
    if not encoder.dimension:
        return snapshot
    of_all = table.settings.get("synonym_names") == "all"
    only_in_graph = (snapshot.mentioned_in.degrees() == 0) & snapshot.imported.any()
    entities: IntArray = np.flatnonzero(~only_in_graph).astype(np.int32)
    if not of_all:
        names = take_strings(snapshot.entities, entities)
        entities = entities[np.fromiter(map(is_comparable, names), dtype=bool, count=len(names))]
    entities = entities[first_rows(take_strings(snapshot.entities, entities))]
    if not len(entities):
        return snapshot
    names = take_strings(snapshot.entities, entities)
    left, right, score = _compare_names(names, table, derived, encoder, progress)
    if origins is not None:
        own = origins[entities]
        is_split = (own[left] >= 0) & (own[left] == own[right])
        left, right, score = left[~is_split], right[~is_split], score[~is_split]
    if of_all:
        return with_equivalences(snapshot, entities[left], entities[right], score)
    is_title = np.zeros(len(snapshot.entities), dtype=bool)
    is_title[snapshot.title_entities[snapshot.title_entities >= 0]] = True
    distinguishable = [are_distinguishable(names[a], names[b]) for a, b in zip(left, right, strict=True)]
    left, right = entities[left], entities[right]
    # Two documents with their own titles are about two things, however similar their names are.
    accepted = np.array(distinguishable, dtype=bool) & ~(is_title[left] & is_title[right])
    return with_equivalences(snapshot, left[accepted], right[accepted], score[accepted])


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


def _compare_names(
    names: StringArray, table: PassageTable, derived: Path, encoder: Encoder, progress: Progress
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of synonyms among distinct names, by rows, and their cosines.

    The vectors of names that are compared by lists lie in a file, where memory holds a block of them.
    """
    cache = VectorCache(table.location.derived / "vectors.lance")
    on_encoded = count_progress(progress, "encoding names")
    threshold, limit = _synonym_settings(table.settings)
    if table.settings.get("synonym_relative"):
        vectors = cache.get_or_encode(names, encoder, on_encoded)
        progress("comparing names", 0, len(names))
        return find_relative_synonyms(names, vectors, threshold, limit)
    with temporary_folder(derived / "names") as folder:
        rows: FloatArray | VectorFile = (
            VectorFile(folder / "vectors", len(names), encoder.dimension)
            if len(names) > EXACT_NAMES
            else np.zeros((len(names), encoder.dimension), dtype=np.float32)
        )
        cache.fill(rows, names, encoder, on_encoded)
        progress("comparing names", 0, len(names))
        return _find_synonyms(derived, names, rows, threshold, limit)


def _find_synonyms(
    derived: Path, names: Sequence[str], vectors: VectorRows, threshold: float, limit: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of names by rows, and their cosines; what is known of earlier names is kept beside the index."""
    folder = derived / "equivalences"
    cache = load_pairs(folder) if folder.is_dir() and not snapshot_problems(folder) else None
    pairs = find_synonyms(names, vectors, threshold, limit, cache)
    with atomic_folder(folder) as temporary:
        save_pairs(pairs.cache, temporary)
        write_manifest({"files": hash_files(temporary)}, temporary)
    return pairs.left, pairs.right, pairs.score


def _synonym_settings(settings: Mapping[str, Any]) -> tuple[float, int]:
    """Return the similarity threshold and the synonyms per name, which older indexes store under other names."""
    threshold = settings.get("synonym_threshold", settings.get("tau"))
    return float(threshold), int(settings.get("max_synonyms", settings.get("neighbours")))
