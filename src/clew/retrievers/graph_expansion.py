"""Graph expansion: from triples, by diverse beam search, to the passages that chains of triples lead to.

Source: Shen et al., "GeAR" (2024): NaiveGE, SyncGE, and reciprocal rank fusion with the base.
Differs from the source: a chain's score includes the passage that states its last triple (`context`; 0 for the
published score); the base's own ranking may weigh more than the expansion (`base_weight`; 1 as published).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from clew.arrays import BoolArray, FloatArray, IntArray, LongArray
from clew.graph.paths.beam_search import Beam, BeamSettings, TripleGraph, diverse_beam_search
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.query.scope import Scope
from clew.retrievers.evidence import keep_named
from clew.retrievers.fused import FUSION_DEPTH, weighted_rank_fusion
from clew.types import Fact, Passage, Path, Scored


@dataclass(frozen=True, slots=True)
class ExpansionSettings:
    """Settings of an expansion."""

    beam: BeamSettings = field(default_factory=BeamSettings)
    context: float = 0.7  # 0 to 1, the weight of the passage that states a chain's last triple in the chain's score
    read_depth: int = 10  # number of the base's passages that are read
    base_weight: float = 2.0  # weight of the base's ranking; the expansion's is 1
    rank_constant: float = 1.0  # constant of the fusion: 60 as published; the smaller, the more the first ranks count
    candidates: int = FUSION_DEPTH  # number of passages of each ranking that are fused


@dataclass(frozen=True, slots=True)
class ExpansionResult:
    """Result of an expansion."""

    passages: tuple[int, ...]  # positions, in the order of the beams
    paths: tuple[Scored[Path], ...]  # the beams as paths
    beams: tuple[Beam, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class GraphExpansion:
    """Searches chains of triples in one index."""

    scope: Scope
    graph: TripleGraph  # its triples, linked by shared entities
    vectors: TripleEmbeddings  # vectors of its triples
    encode_questions: Callable[[Sequence[str]], FloatArray]  # encodes texts as queries, to unit rows (n, d)
    settings: ExpansionSettings

    def expand(
        self, question: FloatArray, starts: LongArray | IntArray | Sequence[int], allowed: BoolArray
    ) -> ExpansionResult:
        """Return the passages that chains from start triples lead to, by a question (d,) and allowed passages (P,)."""
        snapshot, some = self.scope.snapshot, self.scope.restriction(allowed)
        scores = self.vectors.path_scorer(question, self.settings.context, some)
        usable = None if some is None else snapshot.stated_triple_mask(some)
        beams = diverse_beam_search(self.graph, [int(t) for t in starts], scores, self.settings.beam, usable)
        passages = dict.fromkeys(
            int(passage)
            for beam in beams
            for triple in beam.triples
            for passage in snapshot.triple_passages.row(triple)
            if allowed[passage]
        )
        paths = keep_named(
            [Scored(tuple(snapshot.triple(t, some) for t in beam.triples), beam.score) for beam in beams]
        )
        return ExpansionResult(tuple(passages), paths, tuple(beams))

    def link_facts(self, facts: Sequence[Sequence[Fact]], allowed: BoolArray) -> list[tuple[Fact, ...]]:
        """Link the facts without a triple to the most similar one that an allowed passage (P,) states, if any."""
        unlinked = list(dict.fromkeys(fact for of_question in facts for fact in of_question if fact.triple < 0))
        if not unlinked or not len(self.scope.snapshot.triples):
            return [tuple(of_question) for of_question in facts]
        vectors = self.encode_questions([fact.text for fact in unlinked])
        nearest = self.vectors.nearest_triples(vectors, self.scope.snapshot.stated_triple_mask(allowed))
        linked = {fact: replace(fact, triple=int(triple)) for fact, triple in zip(unlinked, nearest, strict=True)}
        return [tuple(linked.get(fact, fact) for fact in of_question) for of_question in facts]

    def triple_text(self, triple: int, allowed: BoolArray) -> str:
        """Return a triple that allowed passages (P,) state as a phrase."""
        t = self.scope.snapshot.triple(triple, self.scope.restriction(allowed))
        return f"{t.head} {t.relation} {t.tail}"

    def passages_stating(self, triple: int, allowed: BoolArray) -> tuple[Passage, ...]:
        """Return the allowed passages (P,) that state a triple."""
        s = self.scope.snapshot
        return tuple(s.passage(int(p)) for p in s.triple_passages.row(triple) if allowed[p])

    def fuse(self, base: Sequence[Passage], expansion: ExpansionResult) -> list[Scored[Passage]]:
        """Fuse the rankings of the base and of the expansion."""
        more = [self.scope.snapshot.passage(position) for position in expansion.passages]
        weights = (self.settings.base_weight, 1.0)
        return weighted_rank_fusion([base, more], weights, self.settings.rank_constant)


def linked_triples(facts: Sequence[Fact]) -> list[int]:
    """Return the distinct triples that facts are linked to."""
    return list(dict.fromkeys(fact.triple for fact in facts if fact.triple >= 0))
