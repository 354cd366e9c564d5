"""IRCoT: retrieve, think a sentence, retrieve with that sentence, until a thought answers the question.

Source: Trivedi et al., "Interleaving Retrieval with Chain-of-Thought Reasoning" (2023), as GFM-RAG and HippoRAG use it.
Differs from the source: rankings of the steps are fused by reciprocal ranks (k = 60); all questions take their steps
together; a step that finds nothing new ends a search.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from clew.plugins.records import Amount, SettingsRecord, WholeNumber, setting
from clew.protocols import LOCAL_READER, AgentReader, Retriever, fingerprint_of
from clew.query.context import IndexContext
from clew.retrievers.agents.gear import MAX_PATHS, AgentSearch, BudgetedReader, run_steps
from clew.retrievers.agents.settings import open_reader
from clew.retrievers.evidence import check_k, insert_empty_questions
from clew.retrievers.fused import FUSION_DEPTH, weighted_rank_fusion
from clew.retrievers.graph_expansion import ExpansionSettings
from clew.retrievers.spec import OpenRetriever
from clew.types import AgentStep, Evidence, Filter, Passage, ReaderInput, Scored, Thought


@dataclass(slots=True, kw_only=True)
class _Search(AgentSearch):
    query: str
    thoughts: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class IRCoTAgent:
    """Searches with one thought after the other."""

    base: Retriever
    reader: AgentReader  # generates the thoughts
    steps: int = 4  # maximum number of steps
    read_depth: int = 10  # number of passages that the reader reads: the best of all steps so far

    @property
    def fingerprint(self) -> str:
        """Joined fingerprints of base and reader."""
        return fingerprint_of(self.base, self.reader)

    def retrieve(self, questions: Sequence[str], k: int, where: Filter | None = None) -> list[Evidence]:
        """Return at most `k` passages a question and every step."""
        check_k(k, questions)
        self.base.retrieve([], k, where)  # an unusable filter raises even where no question is asked
        searches = [_Search(question=question, query=question) for question in questions if question.strip()]
        budget, depth = BudgetedReader(), max(k, FUSION_DEPTH)
        run_steps(searches, self.steps, budget, lambda active: self._step(active, depth, where, budget))
        return insert_empty_questions(questions, (_evidence(search, k) for search in searches))

    def _step(self, active: Sequence[_Search], depth: int, where: Filter | None, budget: BudgetedReader) -> None:
        started = time.perf_counter()
        bases = self.base.retrieve([search.query for search in active], depth, where)
        new_passages = [_new_passages(search, base) for search, base in zip(active, bases, strict=True)]
        for search, base in zip(active, bases, strict=True):
            search.evidence.append(base)
            search.notes += base.notes
        inputs = [
            ReaderInput(
                search.question,
                tuple(scored.item for scored in _fuse_rankings(search)[: self.read_depth]),
                queries=tuple(step.query for step in search.steps),
                thoughts=tuple(search.thoughts),
                where=where,
            )
            for search in active
        ]
        thoughts = budget.ask(self.reader.think, inputs, Thought(""))
        each = (time.perf_counter() - started) / len(active)
        for search, base, new, thought in zip(active, bases, new_passages, thoughts, strict=True):
            search.notes += thought.notes
            step = AgentStep(search.query, new=new, usage=replace(thought.usage + base.usage, seconds=each))
            query = thought.text if thought.text not in search.thoughts else ""
            if search.end_step(
                step,
                budget,
                enough=thought.answered,
                added=bool(new),
                next_query=query,
                reasoning=thought.text,
                query_kind="thought",
            ):
                search.query = query
                search.thoughts.append(query)


def _new_passages(search: _Search, base: Evidence) -> tuple[str, ...]:
    known = {scored.item.id for earlier in search.evidence for scored in earlier.passages[:MAX_PATHS]}
    return tuple(scored.item.id for scored in base.passages[:MAX_PATHS] if scored.item.id not in known)


def _fuse_rankings(search: _Search) -> list[Scored[Passage]]:
    rankings = [[scored.item for scored in evidence.passages] for evidence in search.evidence]
    return weighted_rank_fusion(rankings, [1.0] * len(rankings))


def _evidence(search: _Search, k: int) -> Evidence:
    started = time.perf_counter()
    paths = [path for evidence in search.evidence for path in evidence.paths]
    return search.make_evidence(_fuse_rankings(search)[:k], paths, started)


class IRCoT(SettingsRecord):
    """Settings of `ircot`."""

    label: ClassVar[str] = "ircot"

    base: SettingsRecord | str = setting("bm25", "retriever whose passages are read")
    reader: str = setting(LOCAL_READER, "`local`, or a language model such as openai:gpt-4o-mini")
    steps: WholeNumber = setting(4, "steps, at most")
    context: Amount = setting(
        ExpansionSettings().context, "share of the stating passage in a triple's score", "docs/decisions"
    )


def build_ircot(context: IndexContext, settings: IRCoT, open_retriever: OpenRetriever) -> Retriever:
    """Return IRCoT over a base retriever; raises InputError for an unknown base or reader."""
    base = open_retriever(settings.base, context.with_paths_per_passage(0))
    return IRCoTAgent(base, open_reader(context, settings.reader, settings.context), settings.steps)
