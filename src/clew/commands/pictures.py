"""Results as files to look at: `--svg` and `--html` of `clew search` and `clew ask`, `--plot` of `clew eval`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clew.commands.options import check_file
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import Answer, Evidence

_SCORE = "recall@"


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """Files that a result is drawn into."""

    svg: Annotated[Path | None, typer.Option(help="Draw how the evidence connects, hop by hop, into a file.")] = None
    html: Annotated[
        Path | None, typer.Option(help="Write the result as a page of one file: the drawing, and passages with quotes.")
    ] = None

    def check(self) -> None:
        """Refuse files that cannot be written, before time is spent on their content."""
        for option, path in (("--svg", self.svg), ("--html", self.html)):
            if path is not None:
                check_new_file(option, path)
        if self.svg is not None and self.svg == self.html:
            raise InputError(f"--svg and --html are both {str(self.svg)!r}: name two files")


def check_new_file(option: str, path: Path) -> None:
    """Refuse a file that cannot be written where it shall lie."""
    check_file(option, path)
    if not path.absolute().parent.is_dir():
        raise InputError(f"{option} is {str(path)!r}, and there is no folder {path.parent}: create it or name another")


def write_evidence_pictures(options: PictureOptions, question: str, evidence: "Evidence") -> None:
    """Write the files that were asked for of the evidence for a question."""
    from clew.rendering.evidence_page import render_evidence, render_page

    if options.html is not None:
        _write(options.html, render_page(render_evidence(evidence, question), question))
    _write_drawing(options, question, evidence)


def write_answer_pictures(options: PictureOptions, question: str, answer: "Answer") -> None:
    """Write the files that were asked for of an answer."""
    from clew.rendering.evidence_page import render_answer, render_page

    if options.html is not None:
        _write(options.html, render_page(render_answer(answer, question), question))
    _write_drawing(options, question, answer.evidence)


def write_plot(path: Path, report: Mapping[str, Any]) -> None:
    """Draw an evaluation, as of `EvaluationReport.to_json`: recall at the largest cut-off against seconds."""
    from clew.rendering.score_plot import Point, draw_plot

    summaries: Mapping[str, Mapping[str, Any]] = report["retrievers"]
    names = {name for summary in summaries.values() for name in summary if name.startswith(_SCORE)}
    score = max(names, key=lambda name: int(name.removeprefix(_SCORE)))
    points = [
        Point(name, summary[score], summary["seconds_p50"], _interval(summary, score))
        for name, summary in summaries.items()
    ]
    _write(path, draw_plot(points, score))


def _interval(summary: Mapping[str, Any], score: str) -> tuple[float, float] | None:
    ends = summary.get("intervals", {}).get(score)
    return None if ends is None else (ends[0], ends[1])


def _write_drawing(options: PictureOptions, question: str, evidence: "Evidence") -> None:
    from clew.rendering.evidence_drawing import draw_evidence

    if options.svg is not None:
        _write(options.svg, draw_evidence(evidence, question))


def _write(path: Path, text: str) -> None:
    from clew.store.atomic import write_text

    write_text(path, f"{text}\n")
