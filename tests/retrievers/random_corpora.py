"""Small random corpora as snapshots in memory, with entities, occurrences, sentences and vectors that tests draw."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from clew.arrays import FloatArray
from clew.graph.csr import build_adjacency
from clew.graph.sentence_index import SentenceIndex
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.question_vectors import SimilarPassages
from clew.query.scope import Scope
from clew.retrievers.dense import DenseRetriever
from clew.text.normalization import key_hash, name_key
from tests.built_snapshots import PassageFacts, PassageTexts, build_snapshot

NAMES = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon")
GRID = 16
"""Similarities are drawn as multiples of 1 / GRID, so that ties are real, and products exact."""

similarities = st.integers(-4, GRID).map(lambda number: number / GRID)


@dataclass(frozen=True)
class RandomPassage:
    """A passage as it is drawn."""

    document: str
    names: list[str]  # occurrences in the text, in their order
    others: list[str]  # mentioned under another form
    similarity: float
    keep: bool
    sentences: list[tuple[list[str], float]]  # entities of each sentence, and its similarity to the question

    @property
    def mentions(self) -> set[str]:
        """The entities of the passage."""
        return {*self.names, *self.others}


names = st.sampled_from(NAMES)
passages = st.builds(
    RandomPassage,
    st.sampled_from("ab"),
    st.lists(names, max_size=4),
    st.lists(names, max_size=1),
    similarities,
    st.booleans(),
    st.lists(st.tuples(st.lists(names, min_size=1, max_size=3, unique=True), similarities), max_size=2),
)
corpora = st.lists(passages, min_size=1, max_size=6)


class GivenSimilarities:
    """Vectors of sentences whose similarity to every question is given."""

    def __init__(self, values: Sequence[float]) -> None:
        self._values = np.array(values, dtype=np.float32)

    def rows(self, sentences: NDArray[np.integer]) -> FloatArray:
        """Return rows (n, 1)."""
        return self.similarities(sentences, self._values)

    def similarities(self, sentences: NDArray[np.integer], vectors: FloatArray) -> FloatArray:
        """Return the given similarities (n, 1)."""
        values: FloatArray = self._values[sentences][:, None]
        return values


def passage_id(number: int) -> str:
    """Return the id of a passage by its number."""
    return f"p{number}"


def make_text(passage: RandomPassage) -> str:
    """Return the text of a passage."""
    return " met ".join(passage.names) or "nobody"


def make_snapshot(corpus: Sequence[RandomPassage]) -> Snapshot:
    """Return the snapshot of a corpus, without sentences; every name of `NAMES` is an entity."""
    ids = [passage_id(number) for number in range(len(corpus))]
    columns = PassageTexts(
        ids,
        [passage.document for passage in corpus],
        [""] * len(corpus),
        [make_text(passage) for passage in corpus],
        [json.dumps({"keep": passage.keep}) for passage in corpus],
        list(range(len(corpus))),
        list(range(1, len(corpus) + 1)),
        np.array([[passage.similarity] for passage in corpus], dtype=np.float32),
    )
    facts = [PassageFacts("", [(name_key(n), 1.0) for n in sorted(passage.mentions)], []) for passage in corpus]
    keys = {name: name_key(name) for name in NAMES}
    hashes = {key_hash(key): (key,) for key in keys.values()}
    return build_snapshot(columns, facts, {key: Counter({name: 1}) for name, key in keys.items()}, hashes)


def make_sentences(corpus: Sequence[RandomPassage], snapshot: Snapshot) -> SentenceIndex:
    """Return the sentences of a corpus, whose vectors are `GivenSimilarities`."""
    number = {name: position for position, name in enumerate(snapshot.entities)}
    rows = [(entities, similarity) for passage in corpus for entities, similarity in passage.sentences]
    pairs = [(row, number[name]) for row, (entities, _) in enumerate(rows) for name in entities]
    entities = build_adjacency([r for r, _ in pairs], [e for _, e in pairs], [1.0] * len(pairs), len(rows))
    none = build_adjacency([], [], [], 0)
    offsets = np.cumsum([0, *(len(passage.sentences) for passage in corpus)])
    spans = np.zeros((len(rows), 2), dtype=np.int32)
    vectors = GivenSimilarities([similarity for _, similarity in rows])
    return SentenceIndex(offsets, entities, none, none, none, spans, vectors)


def make_dense(scope: Scope) -> DenseRetriever:
    """Return the dense retriever of a corpus; each passage has its given similarity to every question."""
    return DenseRetriever(scope, SimilarPassages(scope), lambda texts: np.ones((len(texts), 1), dtype=np.float32))
