"""`clew explain`: the walks that raise the score of an entity or passage, as text, JSON, SVG or HTML."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.candidates import CandidateOptions, explain_candidates, require_index
from clew.commands.options import (
    DeviceOption,
    JsonFlag,
    OptionalIndexOption,
    RetrieverOptions,
    StrictOption,
    WhereOption,
    check_file,
)
from clew.commands.output import print_line
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.text.sanitize import escape_control

if TYPE_CHECKING:
    from clew.retrievers.gfm.target_explanations import TargetExplanation

_SCORES = ("mean", "sum")
_FORMATS = ("text", "json", "svg", "html")
_RETRIEVER = "gfm"  # by default


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """Options of `clew explain`."""

    retriever: Annotated[
        str | None,
        typer.Option(help="gfm (the default), with settings after a colon; with --rerank any retriever of passages."),
    ] = None
    rerank: Annotated[
        str | None, typer.Option(help="Explain this reranker, g-rag, by the edges between the passages found.")
    ] = None
    walks: Annotated[int, typer.Option(help="How many walks, or edges.", min=1, max=100)] = 5
    score: Annotated[str, typer.Option(help="Score of a walk: mean of its edges' weights, as published, or sum.")] = (
        "mean"
    )
    loops: Annotated[bool, typer.Option(help="Keep walks that meet a node twice.")] = True
    where: WhereOption = None
    strict_filters: StrictOption = False
    device: DeviceOption = None
    form: Annotated[str | None, typer.Option("--format", help="text, json, svg or html; text by default.")] = None
    json_: JsonFlag = False
    out: Annotated[Path | None, typer.Option(help="File to write to, in place of standard output.")] = None
    candidates: CandidateOptions = field(default_factory=CandidateOptions)


def explain(
    question: str,
    options: ExplainOptions,
    index: OptionalIndexOption = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="Name of an entity, or id or title of a passage; with --rerank the first passage by default."
        ),
    ] = None,
) -> None:
    """Explain why gfm ranks an entity or passage where it does: the walks to it, with the weight of each edge."""
    from clew.commands.explanation_output import format_explanation
    from clew.store.atomic import atomic_file

    if options.rerank is None and options.candidates.candidates is not None:
        raise InputError("--candidates are explained with --rerank: add --rerank g-rag or g-rag:FOLDER")
    if options.rerank is None and target is None:
        raise InputError("there is no --target: name an entity, or the id or title of a passage")
    form = _choose_format(options)
    if options.score not in _SCORES:
        raise InputError(f"--score is {options.score!r}; wanted one of {', '.join(_SCORES)}")
    if options.out is not None:
        check_file("--out", options.out)
    if options.rerank is None and target is not None:
        text = format_explanation(_explain(question, index, target, options), form)
    else:
        text = _explain_reranker(question, index, target, options, form)
    text = escape_control(text)
    if options.out is None:
        print_line(text)
        return
    with atomic_file(options.out) as temporary:
        temporary.write_text(f"{text}\n", encoding="utf-8")


def _choose_format(options: ExplainOptions) -> str:
    """Return the format of the output; --json is --format json, as of the other commands."""
    if options.json_:
        if options.form not in (None, "json"):
            raise InputError(f"--json and --format {options.form} are two formats: give one of them")
        return "json"
    form = options.form or "text"
    if form not in _FORMATS:
        raise InputError(f"--format is {options.form!r}; wanted one of {', '.join(_FORMATS)}")
    return form


def _explain_reranker(
    question: str, location: str | None, target: str | None, options: ExplainOptions, form: str
) -> str:
    from clew.commands.rerank_explanation import FORMATS, explain_reranker, format_reranking

    if form not in FORMATS:
        raise InputError(f"--format is {form!r}; with --rerank wanted one of {', '.join(FORMATS)}")
    if options.score != _SCORES[0] or not options.loops:
        raise InputError("--score and --no-loops are of walks, and --rerank has edges: leave them out")
    if options.candidates.candidates is not None:
        retrievers = RetrieverOptions(retriever=options.retriever, rerank=options.rerank)
        others = {"index": location, "where": options.where, "strict_filters": options.strict_filters}
        given = options.candidates, retrievers, others, target, options.walks, options.device
        with progress_on_stderr() as progress:
            return format_reranking(explain_candidates(question, *given, progress), form)
    base = options.retriever or _RETRIEVER
    name = f"{base}{',' if ':' in base else ':'}rerank={options.rerank}"
    with progress_on_stderr() as progress:
        found = explain_reranker(
            question,
            require_index(location, options.candidates),
            target,
            name,
            options.walks,
            options.where,
            options.device,
            progress,
            strict=options.strict_filters,
        )
    return format_reranking(found, form)


def _explain(question: str, location: str | None, target: str, options: ExplainOptions) -> "TargetExplanation":
    from clew.commands.opening import open_index, parse_retriever
    from clew.commands.strict_filters import apply_strict
    from clew.retrievers.gfm.retriever import GFMRetriever
    from clew.retrievers.gfm.target_explanations import explain_target

    name = options.retriever or _RETRIEVER
    with progress_on_stderr() as progress:
        opened = open_index(require_index(location, options.candidates), progress, None, options.device)
        opened, where = apply_strict(opened, options.where, strict=options.strict_filters)
        retriever = opened.retriever(parse_retriever(name), 0)
        if not len(opened.snapshot.passage_ids):
            raise InputError("this index has no passages, which gfm ranks: add documents with `clew index`")
        if not isinstance(retriever, GFMRetriever):
            raise InputError(f"--retriever is {name!r}; wanted gfm, the one that clew explain explains")
        explanation = explain_target(
            retriever,
            question,
            target,
            options.walks,
            by_mean=options.score == "mean",
            loops=options.loops,
            where=where,
        )
        notes = opened.describe_aliases([edge.triple for walk in explanation.walks for edge in walk.edges])
        return replace(explanation, notes=(*explanation.notes, *notes))
