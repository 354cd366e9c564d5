"""Reranking of the pools of a file of candidates, and its evaluation beside the order of the file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from clew.errors import BudgetError, InputError
from clew.evaluation.evaluate_retrieval import RUN_DEPTH
from clew.evaluation.ranking_metrics import check_installed
from clew.evaluation.runs import Run, execute
from clew.evaluation.scoring import EvaluationReport, build_report, compare, score
from clew.index import Index, create
from clew.models.llm.access import LLMClientFactory
from clew.plugins.records import SettingsRecord
from clew.protocols import Retriever
from clew.query.context import IndexContext
from clew.rerankers.registry import open_reranker, reads_index, reranker_text
from clew.retrievers.reranked import RERANK_DEPTH, RerankedRetriever
from clew.settings import Settings
from clew.text.display import format_count
from clew.types import Document, Evidence, Progress
from clew_lab.candidates.candidate_pools import GivenPools, index_pools
from clew_lab.datasets.candidates import CandidatePool, candidate_documents, load_candidates
from clew_lab.evaluation.multi_positive_metrics import score_positives

POSITIVES_DEPTH = 100  # number of passages that G-RAG ranks (arXiv 2405.18414, section 4.1)
AS_FOUND = "candidates"
"""The name of the order of the file."""
_NUMBER = re.compile(r"\d[\d,]*")
_USUAL = "reranked the first 0 passage"  # how the kind of the note ends that all reranked evidence has


@dataclass(frozen=True, slots=True)
class CandidateRanking:
    """Pools, and by name the rankings of them: that of the file, and that of a reranker if one was asked for."""

    pools: Sequence[CandidatePool]
    retrievers: Mapping[str, Retriever]
    context: IndexContext | None = None  # of the reranker, from which it reads passages, vectors and chains


@contextmanager
def open_candidates(
    path: Path,
    reranker: SettingsRecord | None,
    settings: Settings,
    llm_factory: LLMClientFactory,
    progress: Progress,
    depth: int | None = None,
    question: str | None = None,
) -> Iterator[CandidateRanking]:
    """Open a file of candidates for the block, with a reranker of the first `depth` (100) passages of each pool.

    A reranker that reads an index gets one of all passages of the file, in a temporary folder, with the encoder and
    the extractor of the settings; of the passages of one question if it is given. Raises InputError where the file or
    the reranker cannot be used.
    """
    pools = load_candidates(path)
    if question is not None:
        pools = _pool_of(pools, question)
    deepest = max((len(pool.passages) for pool in pools), default=0)
    evidence = {pool.question.text: pool.evidence(deepest) for pool in pools}
    given = GivenPools(evidence)
    if reranker is None:
        yield CandidateRanking(pools, {AS_FOUND: given})
        return
    with TemporaryDirectory(prefix="clew-candidates-") as folder:
        documents = candidate_documents(pools) if reads_index(reranker) else None
        index = _make_index(Path(folder) / "index", documents, settings, llm_factory, progress)
        opened = open_reranker(reranker, index.context)
        base = given
        if documents is not None:
            indexed = index_pools(index.snapshot, list(evidence.values()))
            base = GivenPools(dict(zip(evidence, indexed, strict=True)))
        name = reranker_text(reranker)
        depth = RERANK_DEPTH if depth is None else depth
        rankings: dict[str, Retriever] = {AS_FOUND: given}
        rankings[f"{AS_FOUND}:rerank={name}"] = RerankedRetriever(base, opened, depth, name)
        yield CandidateRanking(pools, rankings, index.context)


def evaluate_candidates(
    ranking: CandidateRanking,
    name: str,
    cutoffs: Sequence[int],
    llm_factory: LLMClientFactory,
    progress: Progress,
    *,
    positives: bool = False,
) -> EvaluationReport:
    """Score all rankings of the pools of a file of some name by their positive passages; see `evaluate_retrievers`."""
    check_installed()
    questions = [pool.question for pool in ranking.pools]
    if not any(question.gold for question in questions):
        raise InputError(
            f"{name}: not one of {format_count(len(questions), 'pool')} has a positive passage: mark them "
            "with has_answer, or give answers that stand in their texts"
        )
    depth = max(RUN_DEPTH, *cutoffs, POSITIVES_DEPTH if positives else 0)
    further = partial(score_positives, ks=cutoffs) if positives else None
    scored = []
    warnings: list[str] = []
    for label, retriever in ranking.retrievers.items():
        run = execute(retriever, label, questions, depth, None, partial(progress, label))
        if ended := llm_factory.budget.exceeded_message:
            raise BudgetError(f"{ended}; an evaluation needs all questions: raise the budget")
        warnings += _counted_notes(label, run)
        scored.append(score(run, questions, cutoffs, further=further))
    measures = [f"{kind}@{k}" for k in cutoffs for kind in ("recall", "all_gold")]
    measures += ["positives_rr", "tied_rr"] if positives else []
    comparisons = [compare(scored[0], other, measure) for other in scored[1:] for measure in measures]
    report = build_report(name, questions, scored, comparisons)
    return replace(report, warnings=(*report.warnings, *warnings))


def _counted_notes(label: str, run: Run) -> list[str]:
    """Return each kind of note that the rankings of a run have, with the number of its questions and its first text."""
    kinds: dict[str, list[str]] = {}
    for ranking in run.rankings:
        for note in ranking.notes:
            kind = _note_kind(note)
            if not kind.endswith(_USUAL):
                kinds.setdefault(kind.partition(":")[0], []).append(note)
    return [
        f"{label}: {len(notes)} of {format_count(len(run.rankings), 'question')}: {notes[0]}"
        for notes in kinds.values()
    ]


def _note_kind(note: str) -> str:
    """Return a note with 0 for its numbers, and what they count in the singular."""
    return _NUMBER.sub("0", note).replace("passages", "passage").replace(" have ", " has ")


def _pool_of(pools: Sequence[CandidatePool], question: str) -> list[CandidatePool]:
    """Return the pool of a question alone."""
    GivenPools({pool.question.text: Evidence() for pool in pools}).retrieve([question], 1)  # refuses another question
    wanted = " ".join(question.split())
    return [pool for pool in pools if " ".join(pool.question.text.split()) == wanted][:1]


def _make_index(
    folder: Path,
    documents: Iterator[Document] | None,
    settings: Settings,
    llm_factory: LLMClientFactory,
    progress: Progress,
) -> Index:
    index = create(folder, settings, progress, llm_factory)
    if documents is None:
        return index
    report = index.add(documents)
    if report.failures:
        failure = report.failures[0]
        raise InputError(f"the passage {failure.item} of the candidates: {failure.reason}: correct the file")
    if report.stop_error is not None:
        raise report.stop_error
    return index
