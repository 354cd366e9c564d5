"""`clew candidates`: the pools of a file of DPR or FiD, and reranked pools of an index, searched, scored, explained."""

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from clew.commands.answers import evidence_json, print_evidence
from clew.commands.evaluate import parse_cutoffs
from clew.commands.opening import load_settings, make_llm_factory
from clew.commands.options import (
    DeviceOption,
    EncoderOption,
    JsonFlag,
    LLMOptions,
    OutOption,
    WhereOption,
    fill_model,
    find_default_index,
)
from clew.commands.output import print_json, print_line
from clew.commands.progress import progress_on_stderr
from clew.commands.reports import finish_evaluation
from clew.errors import InputError
from clew.models.llm.access import LLMClientFactory
from clew.rerankers.registry import NO_RERANKER, parse_reranker
from clew.retrievers.reranked import RerankedRetriever
from clew.types import Progress
from clew_lab.candidates.edge_explanations import RerankExplanation, explain_reranking
from clew_lab.commands.rerank_explanation import explain_reranker, format_reranking
from clew_lab.evaluation.candidates import CandidateRanking, evaluate_candidates, open_candidates

FileArgument = Annotated[Path, typer.Argument(help="A file of DPR or FiD: {question, answers, ctxs}.")]
RerankOption = Annotated[
    str | None, typer.Option(help="Reranker: g-rag, g-rag-amr:FOLDER, cross-encoder:NAME, or llm for that of --model.")
]
DepthOption = Annotated[int | None, typer.Option(min=1, help="Passages that are reranked; 100.")]


def search(
    file: FileArgument,
    question: str,
    k: Annotated[int, typer.Option("-k", min=1, help="How many passages.")] = 10,
    rerank: RerankOption = None,
    depth: DepthOption = None,
    encoder: EncoderOption = None,
    device: DeviceOption = None,
    json_: JsonFlag = False,
    *,
    llm: LLMOptions,
) -> None:
    """Rerank the passages found for a question of a file of DPR or FiD."""
    factory = make_llm_factory(llm)
    rerank = fill_model("--rerank", rerank, llm.model)
    with (
        progress_on_stderr() as progress,
        _open(file, rerank, depth, encoder, device, factory, progress, question) as ranking,
    ):
        name, retriever = list(ranking.retrievers.items())[-1]
        (evidence,) = retriever.retrieve([question], k)
    plain = tuple(replace(one, item=replace(one.item, metadata={})) for one in evidence.passages)
    evidence = replace(evidence, passages=plain)
    if message := factory.budget.exceeded_message:
        evidence = replace(evidence, notes=(*evidence.notes, message))
    if json_:
        print_json(evidence_json(question, name, evidence))
    else:
        print_evidence(evidence, question)


def evaluate(
    file: FileArgument,
    cutoffs: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, separated by commas.")] = "2,5,10",
    positives: Annotated[
        bool,
        typer.Option(
            "--positives", help="Also score the ranks of all gold ids among the first 100, ties at their mean."
        ),
    ] = False,
    rerank: RerankOption = None,
    depth: DepthOption = None,
    encoder: EncoderOption = None,
    device: DeviceOption = None,
    json_: JsonFlag = False,
    out: OutOption = None,
    *,
    llm: LLMOptions,
) -> None:
    """Evaluate rerankers on the pools of a file of DPR or FiD."""
    factory = make_llm_factory(llm)
    rerank = fill_model("--rerank", rerank, llm.model)
    ks = parse_cutoffs(cutoffs)
    with progress_on_stderr() as progress, _open(file, rerank, depth, encoder, device, factory, progress) as ranking:
        report = evaluate_candidates(ranking, str(file), ks, factory, progress, positives=positives)
    finish_evaluation(report, factory.budget, out, json_=json_)


def explain(
    question: str,
    file: Annotated[Path | None, typer.Option(help="A file of DPR or FiD whose pool is reranked.")] = None,
    index: Annotated[str | None, typer.Option(help="Or an index, whose retriever finds the pool.")] = None,
    retriever: Annotated[str, typer.Option(help="Retriever of an index whose passages are reranked.")] = "pagerank",
    target: Annotated[
        str | None, typer.Option(help="Id or title of a passage; the one that is ranked first by default.")
    ] = None,
    rerank: Annotated[str, typer.Option(help="Reranker whose order is explained.")] = "g-rag",
    count: Annotated[int, typer.Option(min=1, max=100, help="How many edges.")] = 5,
    depth: DepthOption = None,
    where: WhereOption = None,
    encoder: EncoderOption = None,
    device: DeviceOption = None,
    json_: JsonFlag = False,
) -> None:
    """Explain why g-rag ranks a passage of a pool of such a file, or of an index, where it does."""
    with progress_on_stderr() as progress:
        if file is None:
            index = find_default_index() if index is None else index
            if index is None:
                raise InputError("there is neither --file nor --index: give one of them")
            name = f"{retriever}{',' if ':' in retriever else ':'}rerank={rerank}"
            found = explain_reranker(question, index, target, name, count, where, device, progress)
        else:
            found = _explain_pool(question, file, target, rerank, count, (depth, encoder, device), progress)
    print_line(format_reranking(found, "json" if json_ else "text"))


def _explain_pool(
    question: str,
    file: Path,
    target: str | None,
    rerank: str,
    count: int,
    options: tuple[int | None, str | None, str | None],
    progress: Progress,
) -> RerankExplanation:
    with _open(file, rerank, *options, make_llm_factory(LLMOptions()), progress, question) as ranking:
        ranked = list(ranking.retrievers.values())[-1]
        if not isinstance(ranked, RerankedRetriever) or ranking.context is None:
            raise InputError(f"--rerank is {rerank!r}, which has no edges; wanted g-rag:FOLDER")
        parts = ranked.base, ranked.reranker, ranked.rerank_depth
        return explain_reranking(ranking.context, *parts, question, target, count)


def _open(
    file: Path,
    rerank: str | None,
    depth: int | None,
    encoder: str | None,
    device: str | None,
    factory: LLMClientFactory,
    progress: Progress,
    question: str | None = None,
) -> AbstractContextManager[CandidateRanking]:
    """Open the pools of a file for a block, with a reranker if one is named."""
    reranker = None if rerank in (None, NO_RERANKER) else parse_reranker(str(rerank))
    if reranker is None and depth is not None:
        raise InputError("--depth is given, and no --rerank: give both")
    given = {"encoder": encoder, "device": device}
    changes = {name: value for name, value in given.items() if value is not None}
    settings = load_settings().model_copy(update=changes)
    return open_candidates(file, reranker, settings, factory, progress, depth, question)
