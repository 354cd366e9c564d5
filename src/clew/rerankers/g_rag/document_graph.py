"""Document graphs of a question's passages: features of each passage, and of each pair of connected passages.

A passage's nodes are the entities that it mentions or is titled by, its facts the triples extracted from it. Two
passages are connected if they share an entity, or if one states a triple about the other's title entity. No model runs
for that at query time; the question's vector is compared with the index's vectors of passages and relations.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), section 3.1 and 3.2.2,
for an edge between passages with common nodes, and its two features.
Differs from the source: entities and triples of the index replace AMR (`amr_document_graph` has the published form);
shared entities are also weighted by rarity; links have a direction, and the similarity of their relation to the
question; passages have features of their match with the question and of their rank; chains of sentences, where they are
searched, are features of passages and of pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from clew.arrays import BoolArray, FloatArray, LongArray, expand_ranges
from clew.graph.csr import Adjacency
from clew.graph.snapshot.snapshot import Snapshot
from clew.graph.snapshot.spellings import are_tied, find_spelling, label_among
from clew.query.chain_search import CHAIN_FEATURES, ChainSearch, chain_edges, describe_passages, texts_to_encode
from clew.query.entity_linker import EntityLinker
from clew.query.linking import LinkedQuestion
from clew.query.question_linker import QuestionLinker
from clew.text.bm25 import BM25Index
from clew.types import Passage, Scored

NODE_FEATURES = (
    "score", "reciprocal rank", "rank", "words", "other words", "likeness", "likeness in the pool", "named",
    "mentions what is named", "share of what is named", "nearest relation",
)  # fmt: skip
"""Names of the node features, in order; values are between about -1 and 1."""

EDGE_FEATURES = (
    "common nodes", "common edges", "rare common nodes", "rare common nodes not named", "link to", "link from",
    "asked link to", "asked link from",
)  # fmt: skip
"""Names of the edge features, in order; the first two are the source's."""


CHAIN_NODE_FEATURES = tuple(f"chains: {name}" for name in CHAIN_FEATURES)
"""Names of the further node features of graphs with chains of sentences, in order."""

CHAIN_EDGE_FEATURES = ("chain to", "chain from")
"""Names of the further edge features of graphs with chains of sentences, in order."""


@dataclass(frozen=True, slots=True, eq=False)
class DocumentGraph:
    """Input of the reranking network for one question, with n passages."""

    vectors: FloatArray  # (n, d) unit rows of the passage texts; (n, 0) if they are not used
    node_features: FloatArray  # (n, f) features of the passages
    edge_features: FloatArray  # (n, n, l) at least 0; [i, j] connects passage i to passage j, zeros on the diagonal
    question: FloatArray  # (d,) unit vector of the question; (0,) if vectors are not used
    notes: tuple[str, ...] = ()  # notes for the user
    lacks_amr: bool = False  # whether the graph is of AMR and no passage has an AMR graph


class DocumentGraphBuilder(Protocol):
    """Builds the document graphs of questions."""

    @property
    def node_features(self) -> tuple[str, ...]:
        """Names of the node features, in order."""

    @property
    def edge_features(self) -> tuple[str, ...]:
        """Names of the edge features, in order."""

    def build(self, questions: Sequence[str], rankings: Sequence[Sequence[Scored[Passage]]]) -> list[DocumentGraph]:
        """Return one graph per question, which depends on it and its passages only (best first, each once)."""

    def shared_parts(
        self, question: str, passages: Sequence[Scored[Passage]], first: int, second: int
    ) -> dict[str, tuple[str, ...]]:
        """Return what joins two passages of a pool, given by their places, by kind and the rarest first."""


@final
class IndexDocumentGraphBuilder:
    """Builds document graphs from an index; with `vectors` the graphs hold the passages' vectors.

    `encode` returns unit rows (n, d) of questions, `relations` unit rows (R, d) of the index's relations. With `chains`
    nodes and edges have features of the chains of sentences, of a question's passages alone.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        lexical: BM25Index,
        encode: Callable[[Sequence[str]], FloatArray],
        relations: Callable[[], FloatArray],
        *,
        vectors: bool = False,
        linker: EntityLinker | None = None,
        chains: ChainSearch | None = None,
    ) -> None:
        self.node_features = NODE_FEATURES if chains is None else (*NODE_FEATURES, *CHAIN_NODE_FEATURES)
        self.edge_features = EDGE_FEATURES if chains is None else (*EDGE_FEATURES, *CHAIN_EDGE_FEATURES)
        self._chains = chains
        self._snapshot = snapshot
        self._linker: EntityLinker = QuestionLinker(snapshot) if linker is None else linker
        self._lexical = lexical
        self._encode = encode
        self._relations = relations
        self._vectors = vectors
        titles = np.asarray(snapshot.title_entities)
        self._nodes = np.asarray(snapshot.entity_nodes).astype(np.int64)
        places = np.arange(len(titles), dtype=np.int64)
        self._title_nodes = (
            np.where(titles >= 0, self._nodes[np.maximum(titles, 0)], places) if len(self._nodes) else places
        )
        degrees = np.maximum(snapshot.walk.degrees(), 1)
        self._rarity = (1.0 - np.log(degrees) / np.log(len(degrees) + 1.0)).astype(np.float32)

    def build(self, questions: Sequence[str], rankings: Sequence[Sequence[Scored[Passage]]]) -> list[DocumentGraph]:
        """Return one graph per question (see `DocumentGraphBuilder`)."""
        links = [self._linker.link(question) for question in questions]
        texts = [linked.corrected_text(question) for linked, question in zip(links, questions, strict=True)]
        return [self._build_one(*each) for each in zip(links, self._encode(texts), rankings, strict=True)]

    def shared_parts(
        self,
        question: str,  # noqa: ARG002 - of the protocol; names are those of the index
        passages: Sequence[Scored[Passage]],
        first: int,
        second: int,
    ) -> dict[str, tuple[str, ...]]:
        """Return the names that both mention, and the triples of one about the title of the other.

        They are as the two passages write them; two that only other documents call one are left out.
        """
        snapshot = self._snapshot
        positions = [snapshot.position(passages[place].item.id) for place in (first, second)]
        members = [
            {*snapshot.mentions.row(position).tolist(), int(snapshot.title_entities[position])} - {-1}
            for position in positions
        ]
        common = members[0] & members[1]
        rarest = sorted(common, key=lambda entity: (-float(self._rarity[self._nodes[entity]]), entity))
        facts: dict[str, None] = {}
        for stating, about in (positions, positions[::-1]):
            title = int(snapshot.title_entities[about])
            for row in snapshot.passage_triples.row(stating).tolist():
                head, _, tail = snapshot.triples[row].tolist()
                if title >= 0 and title in (head, tail) and title != int(snapshot.title_entities[stating]):
                    facts[self._write_fact(row, stating)] = None
        either = self._mask(*positions)
        spellings = [[find_spelling(snapshot, place, entity, either) for place in positions] for entity in rarest]
        names = [
            label_among(snapshot, entity, either)
            for entity, (one, other) in zip(rarest, spellings, strict=True)
            if are_tied(snapshot, entity, one, other, either)
        ]
        return {"names": tuple(filter(None, names)), "facts": tuple(filter(None, facts))}

    def _write_fact(self, triple: int, passage: int) -> str:
        """Return a triple as a passage writes it, "" where it does not write both ends."""
        written = self._snapshot.triple(triple, self._mask(passage))
        return f"{written.head} | {written.relation} | {written.tail}" if all(written.entities) else ""

    def _mask(self, *positions: int) -> BoolArray:
        mask = np.zeros(len(self._snapshot.passage_ids), dtype=np.bool_)
        mask[list(positions)] = True
        return mask

    def _build_one(
        self, linked: LinkedQuestion, vector: FloatArray, passages: Sequence[Scored[Passage]]
    ) -> DocumentGraph:
        positions = np.array([self._snapshot.position(scored.item.id) for scored in passages], dtype=np.int64)
        scores = np.array([scored.score for scored in passages], dtype=np.float32)
        texts = self._snapshot.vectors.rows(positions)
        owners, nodes = self._member_nodes(positions)
        columns, places = np.unique(nodes, return_inverse=True)
        members = np.zeros((len(positions), len(columns)), dtype=np.float32)
        members[owners, places] = 1.0
        named = self._named_weights(linked, columns)
        titles = self._title_nodes[positions]
        relevant_links, links, nearest = self._passage_links(positions, titles, vector)
        mentions_title = members[:, np.searchsorted(columns, titles)] * (titles[:, None] != titles[None, :])
        rare = members * self._rarity[columns]
        edges = np.stack(
            (
                members @ members.T,
                links + links.T,
                rare @ members.T,
                (rare * (named == 0)) @ members.T,
                mentions_title,
                mentions_title.T,
                relevant_links,
                relevant_links.T,
            ),
            axis=-1,
        )
        edges[np.arange(len(titles)), np.arange(len(titles))] = 0.0
        match = self._match_features(linked, positions, scores, texts @ vector)
        title_weights = named[np.searchsorted(columns, titles)]
        naming = np.stack((title_weights, members @ named, _named_share(members, named), nearest), 1)
        features: FloatArray = np.concatenate((match, naming), 1).astype(np.float32)
        if self._chains is not None:
            chain_features, chain_pairs = self._chain_features(self._chains, linked, positions)
            features, edges = np.concatenate((features, chain_features), 1), np.concatenate((edges, chain_pairs), 2)
        texts, vector = (texts, vector) if self._vectors else (texts[:, :0], vector[:0])
        return DocumentGraph(texts, features, edges, vector)

    def _chain_features(
        self, search: ChainSearch, linked: LinkedQuestion, positions: LongArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the chains' features of passages (n, f) and of pairs (n, n, 2), of chains through these passages."""
        n = len(positions)
        if not linked.text.strip():
            no_nodes = np.zeros((n, len(CHAIN_NODE_FEATURES)), dtype=np.float32)
            return no_nodes, np.zeros((n, n, len(CHAIN_EDGE_FEATURES)), dtype=np.float32)
        allowed = np.zeros(len(self._snapshot.passage_ids), dtype=np.bool_)
        allowed[positions] = True
        found = search.search_vectors(linked, self._encode(texts_to_encode(linked)).__getitem__, allowed)
        order = np.argsort(positions)
        ranks, ascending = np.argsort(order), positions[order].astype(np.int32)
        nodes = describe_passages(search.sentences, self._snapshot.title_entities, found, ascending)[ranks]
        onward = chain_edges(search.sentences, found, ascending)[np.ix_(ranks, ranks)]
        return nodes, np.stack((onward, onward.T), axis=-1)

    def _member_nodes(self, positions: LongArray) -> tuple[LongArray, LongArray]:
        """Return the walk-graph nodes of passages as two columns: place in `positions`, and node."""
        owners, entities = gather_neighbours(self._snapshot.mentions, positions)
        places = np.arange(len(positions), dtype=np.int64)
        return np.concatenate((owners, places)), np.concatenate((self._nodes[entities], self._title_nodes[positions]))

    def _named_weights(self, linked: LinkedQuestion, columns: LongArray) -> FloatArray:
        """Return the weights (c,) of nodes named by the question, by rarity; they sum to 1 over all nodes."""
        weights: dict[int, float] = {}
        for name in linked.linked_names:
            for entity in name.entities:
                node = int(self._nodes[entity])
                weights[node] = weights.get(node, 0.0) + float(self._rarity[node]) / len(name.entities)
        shares = np.zeros(len(columns), dtype=np.float32)
        total = sum(weights.values())
        for node, weight in weights.items():  # a few nodes, but thousands of columns
            place = int(np.searchsorted(columns, node))
            if place < len(columns) and columns[place] == node:
                shares[place] = weight / total if total else 0.0
        return shares

    def _passage_links(
        self, positions: LongArray, titles: LongArray, vector: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Compare the triples that passages state about each other's title entity with the question.

        Returns:
            (n, n) maximum cosine of the question and the relation of a triple that one passage states about the other,
            (n, n) the number of such triples, and (n,) the maximum cosine over all triples of a passage.
        """
        n = len(positions)
        owners, triples = gather_neighbours(self._snapshot.passage_triples, positions)
        heads, relations, tails = np.asarray(self._snapshot.triples)[triples].T.astype(np.int64)
        distinct, places = np.unique(relations, return_inverse=True)
        cosines = places * 0.0
        if len(distinct):
            cosines = (np.asarray(self._relations()[distinct], dtype=np.float32) @ vector)[places]
        nearest = np.zeros(n, dtype=np.float32)
        np.maximum.at(nearest, owners, cosines)
        relevant, counts = np.zeros((n, n), dtype=np.float32), np.zeros((n, n), dtype=np.float32)
        order = np.argsort(titles, kind="stable")
        for ends in (self._nodes[heads], self._nodes[tails]):
            first, last = (np.searchsorted(titles[order], ends, side=side) for side in ("left", "right"))
            places, stated = expand_ranges(first, last - first)  # several where passages of one document share a title
            about = order[places]
            differ = titles[owners[stated]] != titles[about]
            stated, about = stated[differ], about[differ]
            np.maximum.at(relevant, (owners[stated], about), cosines[stated])
            np.add.at(counts, (owners[stated], about), 1.0)
        return relevant, counts, nearest

    def _match_features(
        self, linked: LinkedQuestion, positions: LongArray, scores: FloatArray, similarity: FloatArray
    ) -> FloatArray:
        ranks = np.arange(1, len(positions) + 1)
        full, remainder = (
            _scale_to_max(self._lexical.scores_at(self._lexical.query(text), positions))
            for text in (linked.text, linked.remainder)
        )
        columns = (_min_max_scale(scores), 1.0 / ranks, 1.0 / np.log2(ranks + 1), full, remainder)
        return np.stack((*columns, similarity, _min_max_scale(similarity)), axis=1).astype(np.float32)


def gather_neighbours(adjacency: Adjacency, positions: NDArray[np.integer]) -> tuple[LongArray, LongArray]:
    """Return the neighbours of rows (n,) as two columns (m,): place in `positions`, and neighbour."""
    starts = adjacency.indptr[positions]
    counts = adjacency.indptr[positions + 1] - starts
    owners = np.repeat(np.arange(len(positions), dtype=np.int64), counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owners, adjacency.indices[np.repeat(starts, counts) + within].astype(np.int64)


def _min_max_scale(values: FloatArray) -> FloatArray:
    """Scale values (n,) to 0 to 1; ones if all are equal."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if not high > low:
        return np.ones_like(values)
    scaled: FloatArray = (values - low) / (high - low)
    return scaled


def _scale_to_max(values: FloatArray) -> FloatArray:
    shares: FloatArray = values / np.float32(max(float(values.max(initial=0.0)), 1e-9))
    return shares


def _named_share(members: FloatArray, named: FloatArray) -> FloatArray:
    """Return for each passage (n,) its share of the named nodes that any passage has."""
    shares: FloatArray = members @ (named > 0).astype(np.float32) / np.float32(max(1, int((named > 0).sum())))
    return shares
