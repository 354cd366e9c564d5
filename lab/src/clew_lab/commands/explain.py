"""`clew explain`: the walks that raise the score of an entity or passage, as text, JSON, SVG or HTML."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clew.commands.options import (
    DeviceOption,
    IndexOption,
    JsonFlag,
    StrictOption,
    WhereOption,
    check_file,
)
from clew.commands.output import print_line
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.text.display import escape_control

if TYPE_CHECKING:
    from clew_lab.gfm.target_explanations import TargetExplanation

_SCORES = ("mean", "sum")
_FORMATS = ("text", "json", "svg", "html")
_RETRIEVER = "gfm"  # by default


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """Options of `clew explain`."""

    retriever: Annotated[
        str | None,
        typer.Option(help="gfm (the default), with settings after a colon."),
    ] = None
    walks: Annotated[int, typer.Option(help="How many walks.", min=1, max=100)] = 5
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


def explain(
    question: str,
    index: IndexOption,
    target: Annotated[str, typer.Option(help="Name of an entity, or id or title of a passage.")],
    options: ExplainOptions,
) -> None:
    """Explain why gfm ranks an entity or passage where it does: the walks to it, with the weight of each edge."""
    from clew.store.atomic import atomic_file
    from clew_lab.commands.explanation_output import format_explanation

    form = _choose_format(options)
    if options.score not in _SCORES:
        raise InputError(f"--score is {options.score!r}; wanted one of {', '.join(_SCORES)}")
    if options.out is not None:
        check_file("--out", options.out)
    text = format_explanation(_explain(question, index, target, options), form)
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


def _explain(question: str, location: str, target: str, options: ExplainOptions) -> "TargetExplanation":
    from clew.commands.opening import open_index, parse_retriever
    from clew.commands.options import apply_strict
    from clew.retrievers.gfm.retriever import GFMRetriever
    from clew_lab.gfm.target_explanations import explain_target

    name = options.retriever or _RETRIEVER
    with progress_on_stderr() as progress:
        opened = open_index(location, progress, None, options.device)
        opened, where = apply_strict(opened, options.where, strict=options.strict_filters)
        retriever = opened.retriever(parse_retriever(name), 0)
        if not len(opened.snapshot.passage_ids):
            raise InputError("this index has no passages, which gfm ranks: add documents with `clew index`")
        if not isinstance(retriever, GFMRetriever):
            raise InputError(f"--retriever is {name!r}; wanted gfm, the one that clew explain explains")
        return explain_target(
            retriever,
            question,
            target,
            options.walks,
            by_mean=options.score == "mean",
            loops=options.loops,
            where=where,
        )
