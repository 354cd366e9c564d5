"""LinearRAG: PageRank over passages and entities without relations, after an activation of entities by sentences.

Each name in the question starts at the entity with the nearest name. From there the activation goes over the sentences
that fit the question best (`graph.sentences.entity_activation`). A passage restarts the walk with
0.05 (1.5 dense + log(1 + bonus)), where dense is its cosine scaled to 0 to 1 over all passages, and the bonus sums for
each active entity its score times log(1 + its occurrences) over its round; an active entity restarts it with the sum of
its scores. The walk goes between passages and their entities, an entity by its share of the passage's occurrences, and
between neighbouring passages, by 1. Where the question has no name the ranking is the dense one.

Source: Zhuang et al., "LinearRAG: Linear Graph Retrieval Augmented Generation on Large-scale Corpora" (2025, arXiv
2510.10114), and its published code (DEEP-PolyU/LinearRAG).
Differs from the source: names are those of the index's extractor and of the rules for questions, where spaCy finds them
there; vectors of sentences are those of the index, read within their passage; the entities of a sentence include that
of its passage's title; an entity occurs in a passage at least once where its name is written in another form, and only
where it is mentioned; neighbours are passages of one document, where the code takes those of the corpus's file
(`neighbours=corpus`).
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from clew.arrays import BoolArray, DoubleArray, FloatArray, IntArray, LongArray
from clew.errors import InputError
from clew.graph.csr import Adjacency
from clew.graph.sentence_index import SentenceIndex, SentenceVectors
from clew.graph.snapshot.snapshot import Snapshot
from clew.plugins.records import Amount, SettingsRecord, Share, WholeNumber, setting
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.evidence import check_k, empty_question_evidence, make_evidence
from clew.types import Evidence, Filter
from clew_lab.graph.entity_activation import ActivatedEntities, ActivationConfig, activate_entities
from clew_lab.graph.nearest_entities import NO_NAME
from clew_lab.graph.power_iteration import PowerWalk, summed_adjacency
from clew_lab.graph.scaled_similarity import scale_similarities
from clew_lab.retrievers.hipporag import NamedPhrases

NO_START = "no entity is similar to a name in the question: dense ranking"
_CODE = "published code: config.py"


class LinearRAG(SettingsRecord):
    """Settings of `linearrag`; the defaults are the authors', who also changed them for each set."""

    label: ClassVar[str] = "linearrag"

    rounds: Annotated[int, Field(ge=1, le=1000)] = setting(
        3, "rounds of the activation, of which the names are the first", f"{_CODE}; 5 for MuSiQue (run.sh)"
    )
    sentences: WholeNumber = setting(
        1, "best sentences that an entity goes over in a round", f"{_CODE}; 4 for MuSiQue (run.sh)"
    )
    threshold: Amount = setting(
        0.5,
        "least score of an active entity",
        f"{_CODE}; 0.4 for HotpotQA and 2WikiMultiHopQA, 0.1 for MuSiQue (run.sh)",
    )
    dense_weight: Amount = setting(
        1.5,
        "weight of a passage's cosine beside the logarithm of its bonus",
        f"{_CODE}; 0.05 for HotpotQA and 2WikiMultiHopQA, 2 for MuSiQue (run.sh)",
    )
    passage_weight: Amount = setting(0.05, "weight of passages beside entities in the restart", _CODE)
    damping: Share = setting(0.5, "probability of another step of the walk", _CODE)
    neighbours: Literal["document", "corpus", "none"] = setting(
        "document", "which passages that follow each other are linked: of one document, in the order of ids, or none"
    )


@dataclass(frozen=True, eq=False)
class LinearRAGRetriever:
    """Ranks passages by PageRank from active entities and from all passages."""

    scope: Scope
    phrases: NamedPhrases
    sentences: SentenceIndex
    sentence_vectors: SentenceVectors
    settings: LinearRAG

    @cached_property
    def _walk(self) -> PowerWalk:
        return self._make_walk(np.ones(len(self.scope), dtype=bool))

    @cached_property
    def _occurrences(self) -> tuple[IntArray, Adjacency]:
        """The counts of `mentions`, and those of its transpose, as weights."""
        counts, mentions = self.phrases.count_occurrences(), self.scope.snapshot.mentions
        weighted = Adjacency(mentions.indptr, mentions.indices, counts.astype(np.float32))
        return counts, weighted.transpose(len(self.scope.snapshot.entities))

    @cached_property
    def _entity_sentences(self) -> Adjacency:
        return self.sentences.entities.transpose(len(self.scope.snapshot.entities))

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question; for one without a name the dense ranking."""
        check_k(k, questions)
        allowed = self.scope.mask(where)
        walk = self._walk if self.scope.restriction(allowed) is None else self._make_walk(allowed)
        return [
            self._retrieve_one(question, k, allowed, walk) if question.strip() else empty_question_evidence()
            for question in questions
        ]

    def _make_walk(self, allowed: BoolArray) -> PowerWalk:
        return PowerWalk(
            build_occurrence_graph(self.scope.snapshot, self._occurrences[0], allowed, self.settings.neighbours)
        )

    def _retrieve_one(self, question: str, k: int, allowed: BoolArray, walk: PowerWalk) -> Evidence:
        started = time.perf_counter()
        starts = self.phrases.find_starts(question, allowed)
        if not starts:
            return self.phrases.dense_evidence(question, k, allowed, NO_NAME, started)
        active = self._activate(question, starts, allowed)
        dense = self.phrases.dense
        similarity = dense.scope.snapshot.vectors.similarities(dense.question_vector(question))
        restart = self._restart(active, similarity, allowed)
        if not restart.any():  # passages may have the weight 0, and no entity may be similar to a name
            return self.phrases.dense_evidence(question, k, allowed, NO_START, started)
        values = walk.values(restart / restart.sum(), self.settings.damping)[: len(allowed)].astype(np.float32)
        ranked = self.scope.rank(values, k, allowed, floor=-np.inf)
        labels = self.scope.names(allowed).entities
        names = ", ".join(labels[entity] for entity in starts)
        notes = (f"starts from {names}; active entities: {len(active.scores)}",)
        return make_evidence(self.scope.scored_passages(ranked), (), notes, started)

    def _activate(self, question: str, starts: Mapping[int, float], allowed: BoolArray) -> ActivatedEntities:
        vector, some = self.phrases.dense.question_vector(question)[None], self.scope.restriction(allowed)

        def find_sentences(entity: int) -> IntArray:
            sentences = self._entity_sentences.row(entity)
            if some is None:
                return sentences
            return sentences[some[np.searchsorted(self.sentences.offsets, sentences, "right") - 1]]

        return activate_entities(
            starts,
            find_sentences,
            self.sentences.entities,
            lambda sentences: self.sentence_vectors.similarities(sentences, vector)[:, 0],
            ActivationConfig(self.settings.rounds, self.settings.sentences, self.settings.threshold),
        )

    def _restart(self, active: ActivatedEntities, cosines: FloatArray, allowed: BoolArray) -> DoubleArray:
        count, rows = len(allowed), self._occurrences[1]
        bonus = np.zeros(count)
        for entity, score in active.scores.items():
            entries = slice(rows.indptr[entity], rows.indptr[entity + 1])
            bonus[rows.indices[entries]] += score * np.log1p(rows.weights[entries]) / active.rounds[entity]
        weights = self.settings.dense_weight * scale_similarities(cosines, allowed) + np.log1p(np.maximum(bonus, 0.0))
        restart = np.zeros(count + len(self.scope.snapshot.entities))
        restart[:count] = self.settings.passage_weight * np.where(allowed, weights, 0.0)
        for entity, weight in active.weights.items():
            restart[count + entity] = max(weight, 0.0)
        return restart


def build_occurrence_graph(
    snapshot: Snapshot, counts: IntArray, allowed: BoolArray, neighbours: Literal["document", "corpus", "none"]
) -> Adjacency:
    """Return passages 0 to P - 1 and entities P to P + E - 1, with the edges of allowed passages (P,), both ways.

    `counts` (m,) are those of `count_mentions`. An entity has the weight of its share in the passage's counts, and a
    neighbour (see `LinearRAG.neighbours`) the weight 1.
    """
    count = len(snapshot.passage_ids)
    passages = snapshot.mentions.row_indices()
    shares = counts / np.maximum(np.bincount(passages, weights=counts, minlength=count), 1.0)[passages]
    is_open = allowed[passages]
    before, after = _neighbour_pairs(snapshot, neighbours)
    both_open = allowed[before] & allowed[after]
    one = np.concatenate([passages[is_open], before[both_open]])
    two = np.concatenate([snapshot.mentions.indices[is_open].astype(np.int64) + count, after[both_open]])
    weights = np.concatenate([shares[is_open], np.ones(int(both_open.sum()))]).astype(np.float32)
    rows, columns = np.concatenate([one, two]), np.concatenate([two, one])
    return summed_adjacency(rows, columns, np.tile(weights, 2), count + len(snapshot.entities))


def _neighbour_pairs(
    snapshot: Snapshot, neighbours: Literal["document", "corpus", "none"]
) -> tuple[LongArray, LongArray]:
    """Return passages (n,), and the passage (n,) that follows each."""
    count = len(snapshot.passage_ids)
    order = np.arange(count)
    if neighbours == "corpus":
        return order[:-1], order[1:]
    if neighbours == "none":
        return order[:0], order[:0]
    _, documents = np.unique(np.array(list(snapshot.document_ids), dtype=object), return_inverse=True)
    order = np.lexsort((order, np.array(list(snapshot.starts), dtype=np.int64), documents))
    same = documents[order[:-1]] == documents[order[1:]]
    return order[:-1][same], order[1:][same]


def build_linearrag(context: IndexContext, settings: LinearRAG) -> LinearRAGRetriever:
    """Return the retriever over one index; raises InputError where it has no vectors of passages or of sentences."""
    phrases, sentences = NamedPhrases.of_index(context), context.scope.snapshot.sentences
    if sentences.vectors is None:
        raise InputError(
            "linearrag compares sentences with the question, and this index has no vectors of sentences; add them with "
            "`clew reencode --sentences vectors`"
        )
    return LinearRAGRetriever(context.scope, phrases, sentences, sentences.vectors, settings)
