"""ToG's form of retrieval: a beam over relations and entities, both picked by a ranker or a language model.

Of each entity at the end of a path the relations are scored against the question, and the best (path, relation) pairs
are followed; of the entities that they lead to the best are the ends of the next beam. Scores of a step are shares
(a softmax over its candidates), and those of a path are multiplied.

Source: Sun et al., "Think-on-Graph: Deep and Responsible Reasoning of Large Language Model on Knowledge Graph" (ToG,
2024), section 3 (width 3, depth 3), a baseline of Gao et al., "FRAG" (2025), table 1.
Differs from the source: any ranker of texts picks, a language model among them, which scores each candidate on its own;
it is not asked whether the paths suffice, so that the beams of all depths are returned, by the geometric mean of their
steps' scores; of the entities behind one relation the first `candidates` are scored, not random ones.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from clew.arrays import BoolArray, DoubleArray
from clew.graph.subgraphs.k_hop import LocalGraph
from clew.graph.subgraphs.textual_graph import FactGraph
from clew.models.validation import replace_surrogates
from clew.plugins.records import SettingsRecord, WholeNumber, setting
from clew.protocols import LanguageModel, TextScorer
from clew.query.context import IndexContext
from clew.query.relation_matching import Mediators, mediators_fingerprint, mediators_setting, open_mediators
from clew.query.scope import Scope
from clew.retrievers.evidence import empty_question_evidence
from clew.retrievers.frag.text_rankers import (
    BI_ENCODER,
    BM25,
    LANGUAGE_MODEL,
    TEMPERATURES,
    LanguageModelScorer,
    make_text_scorer,
    path_text,
)
from clew.retrievers.supporting_passages import PathRetriever, path_evidence
from clew.text.bm25 import BM25Index
from clew.types import Evidence, Failure, Prompt, Reply, Usage
from clew_lab.retrievers.topic_start import explore, find_start


@final
class CountedModel:
    """Passes prompts on to a model, and adds up the usage of its replies until it is taken."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._usage = Usage()

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def complete(
        self, prompts: Sequence[Prompt], on_text: Callable[[str], None] | None = None
    ) -> list[Reply | Failure]:
        """Return one result a prompt (see `LanguageModel`)."""
        results = self._model.complete(prompts, on_text)
        self._usage = sum((result.usage for result in results), self._usage)
        return results

    def take_usage(self) -> Usage:
        """Return the usage since it was last taken."""
        usage, self._usage = self._usage, Usage()
        return usage


class ToG(SettingsRecord):
    """Settings of `tog`."""

    label: ClassVar[str] = "tog"

    width: WholeNumber = setting(3, "paths of the beam", "ToG: N = 3")
    depth: WholeNumber = setting(3, "relations of a path, at most", "ToG: D = 3")
    candidates: WholeNumber = setting(32, "entities behind one relation that are scored, at most")
    edges: WholeNumber = setting(300_000, "edges read around the topics, at most")
    ranker: str | None = setting(
        None,
        "picks relations and entities: bi-encoder, bi-encoder:NAME, bm25, cross-encoder:NAME, late-interaction or "
        "llm:MODEL",
        unset="bi-encoder, or bm25 without an encoder",
    )
    mediators: str | None = mediators_setting()


@dataclass(frozen=True, slots=True)
class BeamPath:
    """A path from a topic entity."""

    positions: tuple[int, ...]  # of its entities
    edges: tuple[int, ...]  # edge codes
    log_score: float  # sum of the logarithms of its steps' shares, two a hop

    @property
    def mean_score(self) -> float:
        """Geometric mean of the scores of its hops."""
        return float(np.exp(self.log_score / max(len(self.edges), 1)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class ToGRetriever(PathRetriever[list[BeamPath]]):
    """Finds paths by a beam search that a ranker of texts decides step by step."""

    scope: Scope
    lexical: BM25Index  # BM25 of its passages
    graph: Callable[[], FactGraph]  # returns its facts, which are made when first needed
    scorer: TextScorer
    temperature: float  # divisor of the scorer's scores
    settings: ToG
    model: CountedModel | None = None  # the language model that scores, if one does
    mediators: Mediators | None = None  # entities that no path ends at

    @property
    def fingerprint(self) -> str:
        """The settings."""
        return f"{self.settings!r}{mediators_fingerprint(self.mediators)}"

    @property
    def path_limit(self) -> int:
        """Maximum number of paths of a question."""
        return self.settings.width * self.settings.depth

    def search(self, question: str, local: LocalGraph, starts: Sequence[int], allowed: BoolArray) -> list[BeamPath]:
        """Return the beams of all depths, best first, ties: shorter first, then by edges; `starts` are positions.

        Names that only passages beside the allowed ones (P,) write are not read.
        """
        labels = self.scope.names(allowed).entities
        beam = [BeamPath((start,), (), 0.0) for start in sorted(set(starts))]
        found: list[BeamPath] = []
        for _ in range(self.settings.depth):
            beam = self._extend(question, local, beam, labels)
            found += beam
        if self.mediators is not None:
            ends = local.nodes[np.array([path.positions[-1] for path in found], dtype=np.int64)]
            found = [found[row] for row in np.flatnonzero(~self.mediators.mask(ends)).tolist()]
        return sorted(found, key=lambda path: (-path.mean_score, len(path.edges), path.edges))

    def _extend(
        self, question: str, local: LocalGraph, beam: Sequence[BeamPath], labels: Sequence[str]
    ) -> list[BeamPath]:
        """Return the next beam: the best entities behind the best relations of each path's end."""
        triples, names = self.scope.snapshot.triples, self.scope.snapshot.relations
        ways: dict[tuple[int, int], list[int]] = {}  # (path, relation code) -> edges of the local graph
        for number, path in enumerate(beam):
            for edge in range(int(local.indptr[path.positions[-1]]), int(local.indptr[path.positions[-1] + 1])):
                if int(local.neighbours[edge]) not in path.positions:
                    code = int(local.edges[edge])
                    ways.setdefault((number, 2 * int(triples[code >> 1, 1]) + (code & 1)), []).append(edge)
        pairs = sorted(ways)
        if not pairs:
            return []
        shares = self._log_shares(question, [names[code >> 1] for _, code in pairs])
        totals = [beam[number].log_score + share for (number, _), share in zip(pairs, shares.tolist(), strict=True)]
        best = sorted(range(len(pairs)), key=lambda row: (-totals[row], pairs[row]))[: self.settings.width]
        ends = [
            BeamPath((*path.positions, int(local.neighbours[edge])), (*path.edges, int(local.edges[edge])), totals[row])
            for row in best
            for path in [beam[pairs[row][0]]]
            for edge in ways[pairs[row]][: self.settings.candidates]
        ]
        by_end = self._log_shares(question, [self._text(local, path, labels) for path in ends])
        scored = [
            replace(path, log_score=path.log_score + share) for path, share in zip(ends, by_end.tolist(), strict=True)
        ]
        return sorted(scored, key=lambda path: (-path.log_score, path.edges))[: self.settings.width]

    def _log_shares(self, question: str, texts: Sequence[str]) -> DoubleArray:
        """Return the logarithms of the candidates' shares (n,); equal texts are scored once."""
        distinct = list(dict.fromkeys(texts))
        row_of = {text: row for row, text in enumerate(distinct)}
        scores = np.asarray(self.scorer.score(question, distinct), dtype=np.float64) / self.temperature
        scores = scores[[row_of[text] for text in texts]]
        return np.asarray(scores - scores.max() - np.log(np.exp(scores - scores.max()).sum()), dtype=np.float64)

    def _text(self, local: LocalGraph, path: BeamPath, labels: Sequence[str]) -> str:
        snapshot = self.scope.snapshot
        names = [labels[int(local.nodes[position])] for position in path.positions]
        relations = [snapshot.relations[int(snapshot.triples[edge >> 1, 1])] for edge in path.edges]
        return path_text(names, relations, [bool(edge & 1) for edge in path.edges])

    def retrieve_one(
        self, question: str, names: Sequence[str], k: int, allowed: BoolArray, blocked_triples: BoolArray | None
    ) -> tuple[Evidence, list[BeamPath]]:
        """Return the beams of all depths as evidence, with the calls of a language model, and the beams.

        Only allowed passages (P,) count, and no blocked triples (T,).
        """
        started = time.perf_counter()
        if not question.strip():
            return empty_question_evidence(started), []
        start = find_start(self.scope, question, names, allowed)
        found: list[BeamPath] = []
        if len(start.entities):
            local = explore(self.graph(), start, self.settings.depth, self.settings.edges, blocked_triples)
            text, positions = replace_surrogates(start.topics.text), local.positions(start.entities).tolist()
            found = self.search(text, local, positions, allowed)
        walks = [(np.array(path.edges, dtype=np.int32), path.mean_score) for path in found]
        evidence = path_evidence(
            *(self.scope, self.lexical, question, walks, start.entities, start.notes, k, allowed, started)
        )
        if self.model is not None:
            evidence = replace(evidence, usage=evidence.usage + replace(self.model.take_usage(), seconds=0.0))
        return evidence, found


def build_tog(context: IndexContext, settings: ToG) -> ToGRetriever:
    """Return the retriever over one index; raises InputError for an unknown ranker."""
    name = settings.ranker or (BM25 if context.index_encoder is None else BI_ENCODER)
    kind, _, model_name = name.partition(":")
    graph = lru_cache(maxsize=1)(context.load_fact_graph)
    mediators = open_mediators(context.scope.snapshot, settings.mediators)
    if kind == LANGUAGE_MODEL and model_name:
        model = CountedModel(context.open_model(model_name))
        scorer: TextScorer = LanguageModelScorer(model)
    else:
        model, scorer = None, make_text_scorer(name, context, lru_cache(maxsize=1)(context.relation_texts), "tog")
    return ToGRetriever(context.scope, context.lexical, graph, scorer, TEMPERATURES[kind], settings, model, mediators)
