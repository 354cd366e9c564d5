"""`--candidates FILE` of `clew search`, `eval` and `explain`: the pools of a file in the place of an index."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.options import CandidateEncoderOption, RetrieverOptions, find_default_index
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.evaluation.reports import EvaluationReport
    from clew.models.llm.access import LLMClientFactory
    from clew.plugins.records import SettingsRecord
    from clew.retrievers.edge_explanations import RerankExplanation
    from clew.settings import Settings
    from clew.types import Evidence, Progress


@dataclass(frozen=True, slots=True)
class CandidateOptions:
    """A file of pools, and the encoder of what is made of it."""

    candidates: Annotated[
        Path | None,
        typer.Option(help="Rerank the passages found for the questions of a file of DPR or FiD, in place of an index."),
    ] = None
    encoder: CandidateEncoderOption = None


def require_index(index: str | None, options: CandidateOptions) -> str:
    """Return the index, for a command without candidates; raises InputError where there is none."""
    if options.encoder is not None:
        raise InputError("--encoder is of what is made of --candidates, and an index has its own: leave it out")
    index = find_default_index() if index is None else index
    if index is None:
        raise InputError(
            "there is no --index: name a folder or an s3://bucket/prefix, set CLEW_INDEX, or give --candidates FILE"
        )
    return index


def search_candidates(
    question: str,
    options: CandidateOptions,
    retrievers: RetrieverOptions,
    others: Mapping[str, object],
    k: int | None,
    device: str | None,
    llm_factory: "LLMClientFactory",
    progress: "Progress",
) -> "tuple[str, Evidence]":
    """Return the name of the ranking, and the first `k` passages of the pool of a question, without their graphs."""
    from clew.evaluation.candidates import open_candidates

    reranker, settings, file = _check(options, retrievers, others, device)
    with open_candidates(file, reranker, settings, llm_factory, progress, retrievers.rerank_depth, question) as ranking:
        name, retriever = list(ranking.retrievers.items())[-1]
        (evidence,) = retriever.retrieve([question], settings.k if k is None else k)
    plain = [replace(one, item=replace(one.item, metadata={})) for one in evidence.passages]
    return name, replace(evidence, passages=tuple(plain))


def explain_candidates(
    question: str,
    options: CandidateOptions,
    retrievers: RetrieverOptions,
    others: Mapping[str, object],
    target: str | None,
    count: int,
    device: str | None,
    progress: "Progress",
) -> "RerankExplanation":
    """Return the explanation of a passage of the reranked pool of a question, by at most `count` edges."""
    from clew.commands.opening import make_llm_factory
    from clew.commands.options import LLMOptions
    from clew.evaluation.candidates import open_candidates
    from clew.retrievers.edge_explanations import explain_reranking
    from clew.retrievers.reranked import RerankedRetriever

    reranker, settings, file = _check(options, retrievers, others, device)
    factory = make_llm_factory(LLMOptions())
    with open_candidates(file, reranker, settings, factory, progress, retrievers.rerank_depth, question) as ranking:
        ranked = list(ranking.retrievers.values())[-1]
        if not isinstance(ranked, RerankedRetriever) or ranking.context is None:
            raise InputError(f"--rerank is {retrievers.rerank!r}, which has no edges; wanted g-rag:FOLDER")
        parts = ranked.base, ranked.reranker, ranked.rerank_depth
        return explain_reranking(ranking.context, *parts, question, target, count)


def evaluate_candidate_file(
    options: CandidateOptions,
    retrievers: RetrieverOptions,
    others: Mapping[str, object],
    cutoffs: Sequence[int],
    device: str | None,
    llm_factory: "LLMClientFactory",
    progress: "Progress",
    *,
    positives: bool,
) -> "EvaluationReport":
    """Return the figures of the order of the file, and of the reranker if one is given."""
    from clew.evaluation.candidates import evaluate_candidates, open_candidates

    reranker, settings, file = _check(options, retrievers, others, device)
    with open_candidates(file, reranker, settings, llm_factory, progress, retrievers.rerank_depth) as ranking:
        return evaluate_candidates(ranking, str(file), cutoffs, llm_factory, progress, positives=positives)


def _check(
    options: CandidateOptions, retrievers: RetrieverOptions, others: Mapping[str, object], device: str | None
) -> "tuple[SettingsRecord | None, Settings, Path]":
    """Return reranker, settings and file; refuse options that read an index or find passages."""
    from clew.rerankers.registry import NO_RERANKER, parse_reranker
    from clew.settings import load_settings

    assert options.candidates is not None
    finding = {name: value for name, value in asdict(retrievers).items() if not name.startswith("rerank")}
    if others.get("index") is not None:
        raise InputError("--index and --candidates both say where passages are: leave one of them out")
    for name, value in {**others, **finding}.items():
        if value is not None and value is not False:
            raise InputError(
                f"--{name.replace('_', '-')} needs an index, and the passages of --candidates are found already: "
                "leave it out"
            )
    named = retrievers.rerank
    reranker = None if named in (None, NO_RERANKER) else parse_reranker(str(named))
    if reranker is None and retrievers.rerank_depth is not None:
        raise InputError("--rerank-depth is given, and no --rerank: give both")
    given = {"encoder": options.encoder, "device": device}
    changes = {name: value for name, value in given.items() if value is not None}
    return reranker, load_settings().model_copy(update=changes), options.candidates
