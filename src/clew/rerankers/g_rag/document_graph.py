"""The passages found for a question as a graph: what each brings, and how any two of them are connected.

A passage's part of the graph is what the index knows of it: the entities that it mentions or is called by, and the
triples that it states. Two passages are joined where they share an entity, or where one states a triple about what the
other is called by. All that needs no model is there beforehand; the question's vector is compared with the vectors of
passages and relations that the index keeps.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), section 3.1 and 3.2.2,
for an edge between passages with common nodes, and its two features.
Differs from the source: entities and triples of the index stand where the paper has AMR (`meaning_graphs` has that);
shared entities are also counted by how rare they are; links have a direction, and how near the words of their relation
are to the question; passages bring numbers of how they match the question and where they stood.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, final

import numpy as np

from clew.graph.csr import Adjacency
from clew.graph.snapshot.snapshot import Snapshot
from clew.query.linking import LinkedQuestion, link_question
from clew.text.bm25 import BM25Index
from clew.types import Passage, Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, LongArray

NODE_FEATURES = (
    "score",
    "reciprocal rank",
    "rank",
    "words",
    "other words",
    "likeness",
    "likeness in the pool",
    "named",
    "mentions what is named",
    "share of what is named",
    "nearest relation",
)
"""What a passage brings, in order; all between about -1 and 1."""

EDGE_FEATURES = (
    "common nodes",
    "common edges",
    "rare common nodes",
    "rare common nodes not named",
    "link to",
    "link from",
    "asked link to",
    "asked link from",
)
"""The features of an edge, in order; the first two are the source's."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentGraph:
    """A question's passages as a network reads them. n passages, d wide vectors, l features of an edge.

    Attributes:
        vectors: (n, d) unit rows of the passages' texts; (n, 0) where they are not read.
        node_features: (n, f) what each brings.
        edge_features: (n, n, l) at least 0; [i, j] is what joins passage i to passage j, zeros on the diagonal.
        question: (d,) its unit vector; (0,) where vectors are not read.
        notes: For people.
    """

    vectors: "FloatArray"
    node_features: "FloatArray"
    edge_features: "FloatArray"
    question: "FloatArray"
    notes: tuple[str, ...] = ()


class DocumentGraphBuilder(Protocol):
    """Questions and the passages found for them in, graphs out."""

    @property
    def node_features(self) -> tuple[str, ...]:
        """The names of what each passage brings, in order."""
        ...

    @property
    def edge_features(self) -> tuple[str, ...]:
        """The names of the features of an edge, in order."""
        ...

    def build(
        self, questions: Sequence[str], ranked_passages: Sequence[Sequence[Scored[Passage]]]
    ) -> list[DocumentGraph]:
        """Return one graph a question; each depends on its own question and passages only.

        Args:
            questions: Any strings.
            ranked_passages: For each its passages, best first, each once.
        """
        ...


@final
class IndexDocumentGraphs:
    """Makes the graphs of questions from what an index holds.

    Args:
        snapshot: The index, with vectors.
        lexical: The words of the same passages.
        encode: Gives unit rows (n, d) of questions.
        relations: Gives unit rows (R, d) of the index's relations.
        vectors: Whether the passages' vectors go into the graph.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        lexical: BM25Index,
        encode: "Callable[[Sequence[str]], FloatArray]",
        relations: "Callable[[], FloatArray]",
        *,
        vectors: bool = False,
    ) -> None:
        self._snapshot = snapshot
        self._lexical = lexical
        self._encode = encode
        self._relations = relations
        self._vectors = vectors
        titles = np.asarray(snapshot.title_entities)
        self._nodes = np.asarray(snapshot.entity_nodes).astype(np.int64)
        places = np.arange(len(titles), dtype=np.int64)
        self._own = np.where(titles >= 0, self._nodes[np.maximum(titles, 0)], places) if len(self._nodes) else places
        degrees = np.maximum(snapshot.walk.degrees(), 1)
        self._rarity = (1.0 - np.log(degrees) / np.log(len(degrees) + 1.0)).astype(np.float32)

    @property
    def node_features(self) -> tuple[str, ...]:
        """See `NUMBERS`."""
        return NODE_FEATURES

    @property
    def edge_features(self) -> tuple[str, ...]:
        """See `EDGES`."""
        return EDGE_FEATURES

    def build(
        self, questions: Sequence[str], ranked_passages: Sequence[Sequence[Scored[Passage]]]
    ) -> list[DocumentGraph]:
        """Return one graph a question (see `DocumentGraphBuilder`)."""
        vectors = self._encode(questions)
        return [self._build_one(*asked) for asked in zip(questions, vectors, ranked_passages, strict=True)]

    def _build_one(self, question: str, vector: "FloatArray", passages: Sequence[Scored[Passage]]) -> DocumentGraph:
        linked = link_question(self._snapshot, question)
        positions = np.array([self._snapshot.position(scored.item.id) for scored in passages], dtype=np.int64)
        scores = np.array([scored.score for scored in passages], dtype=np.float32)
        texts = np.asarray(self._snapshot.vectors[positions], dtype=np.float32)
        owners, nodes = self._member_nodes(positions)
        columns, places = np.unique(nodes, return_inverse=True)
        members = np.zeros((len(positions), len(columns)), dtype=np.float32)
        members[owners, places] = 1.0
        named = self._named_weights(linked, columns)
        own = self._own[positions]
        asked, stated, nearest = self._passage_links(positions, own, vector)
        linked_to = members[:, np.searchsorted(columns, own)] * (own[:, None] != own[None, :])
        rare = members * self._rarity[columns]
        edges = np.stack(
            (
                members @ members.T,
                stated + stated.T,
                rare @ members.T,
                (rare * (named == 0)) @ members.T,
                linked_to,
                linked_to.T,
                asked,
                asked.T,
            ),
            axis=-1,
        )
        edges[np.arange(len(own)), np.arange(len(own))] = 0.0
        numbers = self._match_features(linked, positions, scores, texts @ vector)
        naming = np.stack(
            (named[np.searchsorted(columns, own)], members @ named, _named_share(members, named), nearest), 1
        )
        read = (texts, vector) if self._vectors else (texts[:, :0], vector[:0])
        return DocumentGraph(read[0], np.concatenate((numbers, naming), 1).astype(np.float32), edges, read[1])

    def _member_nodes(self, positions: "LongArray") -> "tuple[LongArray, LongArray]":
        """Return the nodes of the walk that belong to some passages: positions among them, and nodes."""
        owners, entities = gather_neighbours(self._snapshot.mentions, positions)
        places = np.arange(len(positions), dtype=np.int64)
        return np.concatenate((owners, places)), np.concatenate((self._nodes[entities], self._own[positions]))

    def _named_weights(self, linked: LinkedQuestion, columns: "LongArray") -> "FloatArray":
        """Return the weight of each node (c,) that the question names, rare ones more; they sum to 1 over all nodes."""
        weights: dict[int, float] = {}
        for name in linked.linked_names:
            for entity in name.entities:
                node = int(self._nodes[entity])
                weights[node] = weights.get(node, 0.0) + float(self._rarity[node]) / len(name.entities)
        shares = np.zeros(len(columns), dtype=np.float32)
        total = sum(weights.values())
        for node, weight in weights.items():  # few, where the columns are thousands
            place = int(np.searchsorted(columns, node))
            if place < len(columns) and columns[place] == node:
                shares[place] = weight / total if total else 0.0
        return shares

    def _passage_links(
        self, positions: "LongArray", own: "LongArray", vector: "FloatArray"
    ) -> "tuple[FloatArray, FloatArray, FloatArray]":
        """Return what passages state about each other.

        Returns:
            (n, n) the greatest cosine of question and relation of a triple that one states about the other, (n, n) how
            many there are, and (n,) the greatest cosine of any triple that one states.
        """
        n = len(positions)
        owners, triples = gather_neighbours(self._snapshot.passage_triples, positions)
        heads, relations, tails = np.asarray(self._snapshot.triples)[triples].T.astype(np.int64)
        kinds, places = np.unique(relations, return_inverse=True)
        near = (np.asarray(self._relations()[kinds], dtype=np.float32) @ vector)[places] if len(kinds) else places * 0.0
        nearest = np.zeros(n, dtype=np.float32)
        np.maximum.at(nearest, owners, near)
        asked, stated = np.zeros((n, n), dtype=np.float32), np.zeros((n, n), dtype=np.float32)
        order = np.argsort(own, kind="stable")
        for ends in (self._nodes[heads], self._nodes[tails]):
            first, last = (np.searchsorted(own[order], ends, side=side) for side in ("left", "right"))
            count = last - first  # several where passages of one document are called alike
            one = np.repeat(np.arange(len(ends)), count)
            other = order[np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)]
            proper = own[owners[one]] != own[other]
            one, other = one[proper], other[proper]
            np.maximum.at(asked, (owners[one], other), near[one])
            np.add.at(stated, (owners[one], other), 1.0)
        return asked, stated, nearest

    def _match_features(
        self, linked: LinkedQuestion, positions: "LongArray", scores: "FloatArray", similarity: "FloatArray"
    ) -> "FloatArray":
        """Return (n, 7): where passages stood, and how they match the question."""
        ranks = np.arange(1, len(positions) + 1)
        words, others = (self._lexical.scores(text)[positions] for text in (linked.text, linked.remainder))
        columns = (
            _min_max_scale(scores),
            1.0 / ranks,
            1.0 / np.log2(ranks + 1),
            _scale_to_max(words),
            _scale_to_max(others),
        )
        return np.stack((*columns, similarity, _min_max_scale(similarity)), axis=1).astype(np.float32)


def gather_neighbours(adjacency: Adjacency, positions: "NDArray[np.integer]") -> "tuple[LongArray, LongArray]":
    """Return the neighbours of some rows together: for each the place among `positions`, and the neighbour."""
    starts, counts = adjacency.indptr[positions], np.diff(adjacency.indptr)[positions]
    owners = np.repeat(np.arange(len(positions), dtype=np.int64), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owners, adjacency.indices[np.repeat(starts, counts) + within].astype(np.int64)


def _min_max_scale(values: "FloatArray") -> "FloatArray":
    """Return values (n,) moved and scaled to 0 to 1; ones where all are equal."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if not high > low:
        return np.ones_like(values)
    spread: FloatArray = (values - low) / (high - low)
    return spread


def _scale_to_max(values: "FloatArray") -> "FloatArray":
    """Return values (n,) of at least 0 as shares of the greatest."""
    shares: FloatArray = values / np.float32(max(float(values.max(initial=0.0)), 1e-9))
    return shares


def _named_share(members: "FloatArray", named: "FloatArray") -> "FloatArray":
    """Return which share of the named nodes that any passage holds each passage (n,) does."""
    found: FloatArray = members @ (named > 0).astype(np.float32) / np.float32(max(1, int((named > 0).sum())))
    return found
