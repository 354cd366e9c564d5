"""`naive-ge` and `sync-ge`: a base ranking, expanded along chains of its triples.

Source: Shen et al., "GeAR" (2024): NaiveGE, SyncGE, and reciprocal rank fusion with the base.
Differs from the source: see `clew.retrievers.graph_expansion`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from clew.arrays import BoolArray, LongArray
from clew.protocols import AgentReader, Retriever, fingerprint_of
from clew.query.context import IndexContext
from clew.retrievers.agents.settings import Expansion, ReaderExpansion, build_expansion, open_reader
from clew.retrievers.evidence import check_k, insert_empty_questions
from clew.retrievers.graph_expansion import ExpansionResult, GraphExpansion, linked_triples
from clew.retrievers.spec import OpenRetriever
from clew.types import Evidence, Filter, ReaderInput, Usage

NO_START_TRIPLE = "no triple to expand from: the ranking of the base alone"


class NaiveGE(Expansion):
    """Settings of `naive-ge`."""

    label: ClassVar[str] = "naive-ge"


class SyncGE(ReaderExpansion):
    """Settings of `sync-ge`."""

    label: ClassVar[str] = "sync-ge"


@dataclass(frozen=True, slots=True, eq=False)
class GraphExpansionRetriever:
    """Fuses a base ranking with its expansion."""

    base: Retriever
    expansion: GraphExpansion  # expansion over the same index
    # selects the start triples; without a reader they are all triples of the passages read
    reader: AgentReader | None = None

    @property
    def fingerprint(self) -> str:
        """Joined fingerprints of base and reader."""
        return fingerprint_of(self.base, self.reader)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question with the beams as paths."""
        check_k(k, questions)
        started = time.perf_counter()
        allowed = self.expansion.scope.mask(where)
        searched = [question for question in questions if question.strip()]
        candidates = max(k, self.expansion.settings.candidates)
        bases = self.base.retrieve(searched, candidates, where) if searched else []
        depth = self.expansion.settings.read_depth
        inputs = [
            ReaderInput(question, tuple(s.item for s in base.passages[:depth]), queries=(question,), where=where)
            for question, base in zip(searched, bases, strict=True)
        ]
        starts, usages, notes = self._start_triples(inputs, allowed)
        vectors = self.expansion.encode_questions(searched) if searched else np.zeros((0, 1), dtype=np.float32)
        each = (time.perf_counter() - started) / max(len(searched), 1)
        evidence = (
            self._combine(base, self.expansion.expand(vector, start, allowed), k, usage, note, each)
            for base, vector, start, usage, note in zip(bases, vectors, starts, usages, notes, strict=True)
        )
        return insert_empty_questions(questions, evidence)

    def _start_triples(
        self, inputs: Sequence[ReaderInput], allowed: BoolArray
    ) -> tuple[list[LongArray | list[int]], list[Usage], list[tuple[str, ...]]]:
        """Return for each question the start triples, the usage of the reader, and notes."""
        if self.reader is None:
            s = self.expansion.scope.snapshot
            every: list[LongArray | list[int]] = [s.passage_triple_positions(p.id for p in i.passages) for i in inputs]
            return every, [Usage()] * len(inputs), [()] * len(inputs)
        readings = self.reader.read(inputs)
        facts = self.expansion.link_facts([r.facts for r in readings], allowed)
        linked: list[LongArray | list[int]] = [linked_triples(of_question) for of_question in facts]
        notes = [(*r.notes, *((f"stopped: {r.stop_reason}",) if r.stop_reason else ())) for r in readings]
        return linked, [r.usage for r in readings], notes

    def _combine(
        self, base: Evidence, expansion: ExpansionResult, k: int, usage: Usage, notes: tuple[str, ...], seconds: float
    ) -> Evidence:
        started = time.perf_counter()
        passages = self.expansion.fuse([s.item for s in base.passages], expansion)[:k]
        all_notes = dict.fromkeys([*base.notes, *notes, *(() if expansion.passages else (NO_START_TRIPLE,))])
        total = replace(base.usage + usage, seconds=seconds + time.perf_counter() - started)
        return Evidence(tuple(passages), expansion.paths or base.paths, tuple(all_notes), total)


def build_naive_ge(context: IndexContext, settings: NaiveGE, open_retriever: OpenRetriever) -> Retriever:
    """Return the expansion of a base ranking along all its triples; raises InputError for an unknown base."""
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    return GraphExpansionRetriever(base, build_expansion(context, settings))


def build_sync_ge(context: IndexContext, settings: SyncGE, open_retriever: OpenRetriever) -> Retriever:
    """Return the expansion of a base ranking along the triples that a reader picks.

    Raises InputError for an unknown base or reader.
    """
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    reader = open_reader(context, settings.reader, settings.context, max_facts=settings.facts, triples=settings.triples)
    return GraphExpansionRetriever(base, build_expansion(context, settings), reader)
