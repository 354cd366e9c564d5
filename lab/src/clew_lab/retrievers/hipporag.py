"""HippoRAG: PageRank over phrases from those that the question names; the published baseline before HippoRAG 2.

Nodes are phrases, joined by triples, weighted by the number of passages that state them, and by synonyms. A name of the
question restarts the walk at the phrase with the nearest name, weighted by its specificity, one over the number of its
passages. A passage has the sum over its phrases of where the walk is times how often the phrase occurs in it. Where the
question has no name the ranking is the dense one.

Source: Gutierrez et al., "HippoRAG: Neurobiologically Inspired Long-Term Memory for Large Language Models" (2024,
arXiv 2405.14831), section 2.3, with damping 0.5.
Differs from the source: names of the question are those of the rules for questions, where a language model finds them
there; triples are those of the index, and synonyms are names near by its encoder; an occurrence is that of the name in
the title and the text, one where only another form of it is written.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, FloatArray, IntArray
from clew.graph.csr import Adjacency
from clew.plugins.records import SettingsRecord, Share, setting
from clew.query.context import IndexContext
from clew.query.scope import Scope
from clew.retrievers.dense import Dense, DenseRetriever, build_dense
from clew.retrievers.evidence import PassageRetriever, make_evidence
from clew.types import Evidence
from clew_lab.graph.mention_counts import count_mentions
from clew_lab.graph.nearest_entities import NO_NAME, find_nearest_entities
from clew_lab.graph.phrase_graph import build_triple_graph
from clew_lab.graph.power_iteration import PowerWalk
from clew_lab.graph.synonyms import SYNONYMS, SynonymNames, load_synonyms


class HippoRAG(SettingsRecord):
    """Settings of `hipporag`."""

    label: ClassVar[str] = "hipporag"

    damping: Share = setting(0.5, "probability of another step of the walk", "HippoRAG: section 3")
    specificity: bool = setting(
        default=True, description="whether a phrase of few passages weighs more in the restart", source="HippoRAG"
    )
    synonyms: SynonymNames = SYNONYMS


@dataclass(frozen=True, eq=False)
class NamedPhrases:
    """What a walk from the names of a question reads of an index; without a name the ranking is the dense one."""

    scope: Scope
    dense: DenseRetriever
    entity_vectors: Callable[[], FloatArray]  # returns unit rows (E, d) of the names of entities
    encode_names: Callable[[Sequence[str]], FloatArray]  # returns unit rows (n, d) of names
    count_occurrences: Callable[[], IntArray]  # returns `count_mentions` of the index

    @classmethod
    def of_index(cls, context: IndexContext) -> "NamedPhrases":
        """Return those of an index; raises InputError where it has no vectors."""
        snapshot = context.scope.snapshot
        return cls(
            context.scope,
            build_dense(context, Dense()),
            context.text_vectors.entity_vectors,
            context.encoder.encode,
            lambda: context.cached_array("mention-counts", lambda: count_mentions(snapshot)),
        )

    def find_starts(self, question: str, allowed: BoolArray) -> dict[int, float]:
        """Return for each name in a question the entity with the nearest name, and their cosine."""
        some, names = self.scope.restriction(allowed), self.scope.names(allowed)
        return find_nearest_entities(self.scope.snapshot, names, question, some, self.entity_vectors, self.encode_names)

    def dense_evidence(self, question: str, k: int, allowed: BoolArray, note: str, started: float) -> Evidence:
        """Return the dense ranking of allowed passages (P,), with a note why."""
        ranked, notes = self.dense.rank(question, k, allowed)
        return make_evidence(self.scope.scored_passages(ranked), (), (note, *notes), started)


@dataclass(frozen=True, eq=False)
class HippoRAGRetriever(PassageRetriever):
    """Ranks passages by PageRank over phrases."""

    scope: Scope
    phrases: NamedPhrases
    settings: HippoRAG
    load_synonyms: Callable[[], Adjacency]  # returns those of each phrase (E rows)

    @cached_property
    def _synonyms(self) -> Adjacency:
        return self.load_synonyms()

    @cached_property
    def _walk(self) -> PowerWalk:
        return self._walk_among(np.ones(len(self.scope), dtype=bool))

    def _walk_among(self, allowed: BoolArray) -> PowerWalk:
        return PowerWalk(build_triple_graph(self.scope.snapshot, allowed, self._synonyms))

    @cached_property
    def _occurrences(self) -> IntArray:
        return self.phrases.count_occurrences()

    def retrieve_one(self, question: str, k: int, allowed: BoolArray) -> Evidence:
        """Return at most `k` allowed passages (P,) with a phrase that the walk reaches; without a name by cosine."""
        started, s, some = time.perf_counter(), self.scope.snapshot, self.scope.restriction(allowed)
        starts = self.phrases.find_starts(question, allowed)
        if not starts:
            return self.phrases.dense_evidence(question, k, allowed, NO_NAME, started)
        restart = np.zeros(len(s.entities))
        for entity in starts:
            passages = max(len(s.mentioned_in.row(entity)), 1)
            restart[entity] = 1.0 / passages if self.settings.specificity else 1.0
        walk = self._walk if some is None else self._walk_among(allowed)
        values = walk.values(restart / restart.sum(), self.settings.damping)
        mass = values[s.mentions.indices] * self._occurrences
        scores = np.bincount(s.mentions.row_indices(), weights=mass, minlength=len(self.scope)).astype(np.float32)
        labels = self.scope.names(allowed).entities
        notes = (f"starts from {', '.join(labels[entity] for entity in starts)}",)
        return make_evidence(self.scope.scored_passages(self.scope.rank(scores, k, allowed)), (), notes, started)


def build_hipporag(context: IndexContext, settings: HippoRAG) -> HippoRAGRetriever:
    """Return the retriever over one index; raises InputError where the index has no vectors."""
    synonyms = partial(load_synonyms, context, settings.synonyms)
    return HippoRAGRetriever(context.scope, NamedPhrases.of_index(context), settings, synonyms)
