"""Similarity of the words of a question to the relations of a graph.

Each relation has a vector of its name, and one for each direction that also covers the commonest names at its end. The
words of a question that may name a relation are compared with these vectors one by one.

Mediator nodes: nodes that only join the facts of one event, such as a marriage, and answer no question.

Freebase calls them compound value types (CVT). A search goes through them, and no path ends at one.

Source: the published experiments on WebQSP and CWQ, whose graphs are of Freebase.
Differs from the source: a setting says how they are recognised, since their types are not in the graph.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, final

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray, sort_distinct
from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.models.encoders.memory import VectorMemory
from clew.plugins.records import setting
from clew.query.linking import MaskedQuestion, find_relation_words
from clew.text.normalization import is_identifier

RelationPath = tuple[int, ...]
"""Relation codes: twice the relation, plus one when it is walked from tail to head."""
PathScorer = Callable[[Sequence[RelationPath]], FloatArray]
"""Function from relation paths to scores (n,)."""
_EXAMPLE_COUNT = 10  # entity names that stand for the ends of a relation
_SAMPLE_SIZE = 500_000  # triples in which those names are counted
_MAX_NAME_CHARACTERS = 60


@final
class RelationTexts:
    """Relations as texts: their names, and the names at either end; the vectors of all texts are cached.

    `ends` returns for a relation code the commonest names where such a step ends, as one text; `encode` and
    `encode_words` encode texts of relations and words of questions to unit rows (n, d).
    """

    def __init__(
        self,
        name: Callable[[int], str],
        ends: Callable[[int], str],
        encode: Callable[[Sequence[str]], FloatArray],
        encode_words: Callable[[Sequence[str]], FloatArray],
    ) -> None:
        self._name = lru_cache(maxsize=None)(name)  # reading a string from the index costs more than comparing it
        self._ends = ends
        self.text_memory = VectorMemory(encode)
        self.word_memory = VectorMemory(encode_words)

    def path_text(self, path: RelationPath) -> str:
        """Return the names of a path's relations, joined by commas."""
        return ", ".join(self._name(code >> 1) for code in path)

    def name_vectors(self, codes: IntArray) -> FloatArray:
        """Return unit rows (n, d) of the names of relation codes (n,)."""
        return self.text_memory([self._name(int(code) >> 1) for code in codes])

    def end_vectors(self, codes: IntArray) -> FloatArray:
        """Return unit rows (n, d) of the names where steps of relation codes (n,) end."""
        return self.text_memory([self._ends(int(code)) for code in codes])

    def step_vectors(self, codes: IntArray) -> FloatArray:
        """Return unit rows (n, d) of steps (n,): the normalised sum of name vector and end vector."""
        both = self.name_vectors(codes) + self.end_vectors(codes)
        return np.asarray(both / np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def end_examples(snapshot: Snapshot) -> Callable[[int], str]:
    """Return a function from a relation code to the most frequent entities at its end, counted in a sample."""
    sample = snapshot.triples[:: max(1, len(snapshot.triples) // _SAMPLE_SIZE)]

    def list_examples(code: int) -> str:
        ends = sample[sample[:, 1] == code >> 1, 0 if code & 1 else 2]
        common = sorted(Counter(ends.tolist()).items(), key=lambda item: (-item[1], item[0]))[:_EXAMPLE_COUNT]
        return ", ".join(snapshot.entities[entity][:_MAX_NAME_CHARACTERS] for entity, _ in common)

    return list_examples


@dataclass(frozen=True, slots=True, eq=False)
class RelationMatch:
    """Similarities of a question to the relations near its entities: w words, c relation codes."""

    codes: IntArray  # (c,) ascending
    name_similarity: FloatArray  # (w, c) of each word to each relation's name, less the mean over relations
    step_similarity: FloatArray  # (w, c) the same with name and ends together
    name_weights: FloatArray  # (w,) how well each word separates the names
    step_weights: FloatArray  # (w,) the same for `step_similarity`
    reverse_order: IntArray  # (w,) the words in the other order of reading
    end_similarity: FloatArray  # (c,) of the question to the names at the ends
    question_similarity: FloatArray  # (c,) of the question to the relations' names
    relation_similarity: FloatArray  # (c, c) of the relations' names to each other
    question_vector: FloatArray  # (d,) of the masked question


def match_relations(question: MaskedQuestion, codes: IntArray, texts: RelationTexts) -> RelationMatch:
    """Compare a masked question with relations of the codes (c,), ascending."""
    words = find_relation_words(question)
    vector = texts.word_memory([question.text])[0]
    names, ends, steps = texts.name_vectors(codes), texts.end_vectors(codes), texts.step_vectors(codes)
    by_name, name_weights = match_words(words.phrases, names, texts.word_memory)
    by_step, step_weights = match_words(words.phrases, steps, texts.word_memory)
    reverse_order = np.array(words.reverse_order, dtype=np.int32)
    to_ends, to_names = (rows @ vector if len(codes) else np.zeros(0, dtype=np.float32) for rows in (ends, names))
    return RelationMatch(
        codes, by_name, by_step, name_weights, step_weights, reverse_order, to_ends, to_names, names @ names.T, vector
    )


def match_words(
    phrases: Sequence[Sequence[str]], relations: FloatArray, encode: Callable[[Sequence[str]], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the similarity (w, c) of a question's words to relations, and a weight (w,), at least 0, for each word.

    Each of the w words has phrases that contain it, at least one; the most similar one counts. `relations` (c, d) are
    unit rows; `encode` encodes phrases to unit rows (n, d). The mean over all relations is subtracted from the
    similarities of a phrase: it separates no relation.
    """
    if not phrases or not len(relations):
        return np.zeros((len(phrases), len(relations)), dtype=np.float32), np.zeros(len(phrases), dtype=np.float32)
    flat = [phrase for containing in phrases for phrase in containing]
    similarity = encode(flat) @ relations.T
    similarity -= similarity.mean(axis=1, keepdims=True)
    starts = np.cumsum([0, *(len(containing) for containing in phrases)])[:-1]
    best = np.maximum.reduceat(similarity, starts, axis=0)
    return np.asarray(best, dtype=np.float32), np.asarray(np.maximum(best.max(axis=1), 0.0), dtype=np.float32)


UNLABELLED, HEADS_OF, LISTED = "unlabelled", "heads-of", "file"
FORMS = "unlabelled, heads-of:PREFIX (several joined by +), or file:PATH with an id or name on each line"


@final
@dataclass(frozen=True, eq=False)
class Mediators:
    """Recognises the mediator nodes of one snapshot."""

    snapshot: Snapshot
    kind: str  # one of the three above
    names: tuple[str, ...]  # prefixes of relations, or the listed ids and names; () for `unlabelled`

    @property
    def fingerprint(self) -> str:
        """The kind and a hash of the names."""
        return f"{self.kind}-{blake2b(chr(0).join(self.names).encode(), digest_size=8).hexdigest()}"

    def mask(self, entities: IntArray) -> BoolArray:
        """Return for each entity (n,) whether it is a mediator, (n,)."""
        if self.kind == UNLABELLED:
            names = self.snapshot.entities
            return np.array([is_identifier(names[entity]) for entity in entities.tolist()], dtype=bool)
        return np.isin(entities, self._mediators)

    @cached_property
    def _mediators(self) -> IntArray:
        snapshot = self.snapshot
        if self.kind == LISTED:
            found = [snapshot.entities_with_name(name) for name in self.names]
            return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int32)
        relations = [i for i, name in enumerate(snapshot.relations) if name.startswith(self.names)]
        return sort_distinct(snapshot.triples[np.isin(snapshot.triples[:, 1], relations), 0])


def mediators_setting() -> Any:
    """Return the field `mediators` of a retriever's settings: a text for `open_mediators`, or None for none."""
    return setting(
        None,
        "nodes that paths go through and never end at: unlabelled, heads-of:PREFIX+PREFIX or file:PATH",
        "the nodes of Freebase without a name",
        in_repr=False,
    )


def mediators_fingerprint(mediators: Mediators | None) -> str:
    """Return what mediators add to the fingerprint of a retriever; "" for none."""
    return "" if mediators is None else f"\0{mediators.fingerprint}"


def open_mediators(snapshot: Snapshot, text: str | None) -> Mediators | None:
    """Return the mediators that a setting describes, None for none; raises InputError where it is none of `FORMS`."""
    if text is None:
        return None
    kind, colon, value = text.partition(":")
    if kind == UNLABELLED and not colon:
        return Mediators(snapshot, kind, ())
    if kind == HEADS_OF and (prefixes := tuple(filter(None, value.split("+")))):
        return Mediators(snapshot, kind, prefixes)
    if kind == LISTED and value:
        return Mediators(snapshot, kind, tuple(_read_names(Path(value))))
    raise InputError(f"mediators is {text!r}: give {FORMS}")


def _read_names(path: Path) -> Sequence[str]:
    try:
        lines = path.expanduser().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"mediators: the file {path} cannot be read ({error}): name a text file in UTF-8") from error
    return sorted({line.strip() for line in lines if line.strip()})
