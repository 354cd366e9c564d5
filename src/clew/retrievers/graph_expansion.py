"""Graph expansion: from triples, by diverse beam search, to the passages that chains of them lead to.

`naive-ge` starts from all triples of the base retriever's passages; `sync-ge` from those that a reader takes from them,
linked to triples of the index.

Source: Shen et al., "GeAR" (2024): NaiveGE, SyncGE, and reciprocal rank fusion with the base.
Differs from the source: a chain's score also looks at the passage that states its last triple (`context`; 0 for the
published score); the base's own ranking may weigh more than the expansion (`base_weight`; 1 as published).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.paths.beam_search import Beam, BeamSettings, TripleGraph, diverse_beam_search
from clew.graph.triple_embeddings import TripleEmbeddings
from clew.protocols import AgentReader, Retriever, fingerprint_of
from clew.query.scope import Scope
from clew.retrievers.evidence import EMPTY_QUESTION, check_k, make_evidence
from clew.retrievers.fused import FUSION_DEPTH, weighted_rank_fusion
from clew.types import Evidence, Fact, Filter, Passage, Path, ReaderInput, Scored, Usage

if TYPE_CHECKING:
    from clew.types import BoolArray, FloatArray, IntArray, LongArray

NO_START_TRIPLE = "no triple to expand from: the ranking of the base alone"


@dataclass(frozen=True, slots=True)
class ExpansionSettings:
    """How a ranking is expanded.

    Attributes:
        beam: Of the search.
        context: 0 to 1, how much the passage that states a chain's last triple counts in the chain's score.
        read_depth: Passages of the base that are read.
        base_weight: What the base's ranking weighs against the expansion's.
        rank_constant: Of the fusion: 60 as published; the smaller, the more the first ranks count.
    """

    beam: BeamSettings = field(default_factory=BeamSettings)
    context: float = 0.7
    read_depth: int = 10
    base_weight: float = 2.0
    rank_constant: float = 1.0


@dataclass(frozen=True, slots=True)
class ExpansionResult:
    """What an expansion led to.

    Attributes:
        passages: Positions, in the order of the beams.
        paths: The beams.
    """

    passages: tuple[int, ...]
    paths: tuple[Scored[Path], ...]
    beams: tuple[Beam, ...] = ()


class GraphExpansion:
    """Searches chains of triples in one index.

    Args:
        scope: What is searched.
        graph: Its triples, by what they share.
        vectors: Of its triples.
        encode: Texts to unit rows (n, d), as questions are encoded.
        settings: How.

    Attributes:
        scope: As given.
        settings: As given.
    """

    def __init__(
        self,
        scope: Scope,
        graph: TripleGraph,
        vectors: TripleEmbeddings,
        encode: "Callable[[Sequence[str]], FloatArray]",
        settings: ExpansionSettings,
    ) -> None:
        self.scope = scope
        self.settings = settings
        self._graph = graph
        self._vectors = vectors
        self._encode = encode

    def encode_questions(self, questions: Sequence[str]) -> "FloatArray":
        """Return unit rows (n, d)."""
        return self._encode(questions)

    def expand(
        self, question: "FloatArray", starts: "LongArray | IntArray | Sequence[int]", allowed: "BoolArray"
    ) -> ExpansionResult:
        """Return the passages that chains from some triples lead to.

        Args:
            question: (d,) unit vector.
            starts: Positions of triples.
            allowed: (P,) passages that may state a triple.
        """
        everything = bool(allowed.all())
        scores = self._vectors.path_scorer(question, self.settings.context, None if everything else allowed)
        open_ = None if everything else self.scope.snapshot.stated_triple_mask(allowed)
        beams = diverse_beam_search(self._graph, [int(t) for t in starts], scores, self.settings.beam, open_)
        stated = self.scope.snapshot.triple_passages
        passages = dict.fromkeys(
            int(passage)
            for beam in beams
            for triple in beam.triples
            for passage in stated.row(triple)
            if allowed[passage]
        )
        paths = tuple(
            Scored(tuple(self.scope.snapshot.triple(t, allowed) for t in beam.triples), beam.score) for beam in beams
        )
        return ExpansionResult(tuple(passages), paths, tuple(beams))

    def link_facts(self, facts: Sequence[Sequence[Fact]], allowed: "BoolArray") -> list[tuple[Fact, ...]]:
        """Return each question's facts, those without a triple with the nearest one that an allowed passage states.

        Where nothing is near to a fact, since no passage that is allowed states a triple, it stays without.
        """
        strange = list(dict.fromkeys(fact for many in facts for fact in many if fact.triple < 0))
        if not strange or not len(self.scope.snapshot.triples):
            return [tuple(many) for many in facts]
        vectors = self._encode([fact.text for fact in strange])
        nearest = self._vectors.nearest_triples(vectors, self.scope.snapshot.stated_triple_mask(allowed))
        known = {fact: replace(fact, triple=int(triple)) for fact, triple in zip(strange, nearest, strict=True)}
        return [tuple(known.get(fact, fact) for fact in many) for many in facts]

    def triple_text(self, triple: int) -> str:
        """Return a triple in words."""
        found = self.scope.snapshot.triple(triple)
        return f"{found.head} {found.relation} {found.tail}"

    def passages_stating(self, triple: int, allowed: "BoolArray") -> tuple[Passage, ...]:
        """Return the allowed passages that state a triple."""
        s = self.scope.snapshot
        return tuple(s.passage(int(p)) for p in s.triple_passages.row(triple) if allowed[p])

    def fuse(self, base: Sequence[Passage], expanded: ExpansionResult) -> list[Scored[Passage]]:
        """Return the base's ranking and the expansion's as one."""
        more = [self.scope.snapshot.passage(position) for position in expanded.passages]
        weights = (self.settings.base_weight, 1.0)
        return weighted_rank_fusion([base, more], weights, self.settings.rank_constant)


def linked_triples(facts: Sequence[Fact]) -> list[int]:
    """Return the triples that facts are linked to, each once."""
    return list(dict.fromkeys(fact.triple for fact in facts if fact.triple >= 0))


class GraphExpansionRetriever:
    """Fuses a base ranking with what expanding it leads to.

    Args:
        base: Any retriever.
        expansion: Of the same index.
        reader: Chooses the triples to start from; without one, all triples of the passages read.

    Attributes:
        fingerprint: What tells its rankings from those of other readers and bases.
    """

    def __init__(self, base: Retriever, expansion: GraphExpansion, reader: AgentReader | None = None) -> None:
        self.fingerprint = fingerprint_of(base, reader)
        self._base = base
        self._expansion = expansion
        self._reader = reader

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question with the beams as paths."""
        check_k(k)
        started = time.perf_counter()
        allowed = self._expansion.scope.mask(where)
        asked = [question for question in questions if question.strip()]
        bases = self._base.retrieve(asked, max(k, FUSION_DEPTH), where) if asked else []
        shown = [
            ReaderInput(
                question,
                tuple(s.item for s in base.passages[: self._expansion.settings.read_depth]),
                queries=(question,),
            )
            for question, base in zip(asked, bases, strict=True)
        ]
        starts, usages, notes = self._start_triples(shown, allowed)
        vectors = self._expansion.encode_questions(asked) if asked else np.zeros((0, 1), dtype=np.float32)
        each = (time.perf_counter() - started) / max(len(asked), 1)
        made = iter(
            self._combine(base, self._expansion.expand(vector, start, allowed), k, usage, note, each)
            for base, vector, start, usage, note in zip(bases, vectors, starts, usages, notes, strict=True)
        )
        empty = make_evidence((), (), (EMPTY_QUESTION,), time.perf_counter())
        return [next(made) if question.strip() else empty for question in questions]

    def _start_triples(
        self, shown: Sequence[ReaderInput], allowed: "BoolArray"
    ) -> tuple[list["LongArray | list[int]"], list[Usage], list[tuple[str, ...]]]:
        """Return for each question the triples to start from, what reading cost, and notes."""
        if self._reader is None:
            s = self._expansion.scope.snapshot
            every: list[LongArray | list[int]] = [
                s.passage_triple_positions(p.id for p in sought.passages) for sought in shown
            ]
            return every, [Usage()] * len(shown), [()] * len(shown)
        readings = self._reader.read(shown)
        facts = self._expansion.link_facts([r.facts for r in readings], allowed)
        linked: list[LongArray | list[int]] = [linked_triples(some) for some in facts]
        notes = [(*r.notes, *((f"stopped: {r.stop_reason}",) if r.stop_reason else ())) for r in readings]
        return linked, [r.usage for r in readings], notes

    def _combine(
        self, base: Evidence, expanded: ExpansionResult, k: int, usage: Usage, notes: tuple[str, ...], seconds: float
    ) -> Evidence:
        started = time.perf_counter()
        passages = self._expansion.fuse([s.item for s in base.passages], expanded)[:k]
        said = dict.fromkeys([*base.notes, *notes, *(() if expanded.passages else (NO_START_TRIPLE,))])
        spent = replace(base.usage + usage, seconds=seconds + time.perf_counter() - started)
        return Evidence(tuple(passages), expanded.paths or base.paths, tuple(said), spent)
