"""Output of the commands that index, evaluate and inspect, as short text for people."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.commands.output import print_json, print_line, print_note, print_usage, print_warning, write_json
from clew.errors import BudgetError
from clew.text.display import format_count
from clew.types import Failure, Usage

if TYPE_CHECKING:
    from clew.evaluation.scoring import EvaluationReport
    from clew.indexing.cost_estimate import CostEstimate
    from clew.indexing.kg_import import GraphReport
    from clew.indexing.report import IndexingReport, IndexStats
    from clew.indexing.sources.reading_report import ReadingReport
    from clew.models.llm.budget import Budget

_MODEL_MEASURES = ("calls", "tokens", "cost", "answer_calls", "answer_tokens", "answer_cost", "failed", "unsupported")
_MAX_FAILURES, _MAX_READING_LINES = 20, 5
_LACKING = {"entities": "an entity", "places": "a place", "both": "an entity and a place"}


def print_report(report: "IndexingReport", passages: int, spent: Usage) -> None:
    """Print the counts of an indexing run, its usage of language models, and its failures."""
    counts = (
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, {len(report.failures)} failed"
    )
    removed = f", {report.removed} removed" if report.removed else ""
    retried = f", {format_count(report.retried, 'passage')} tried again" if report.retried else ""
    held = f"the index holds {format_count(passages, 'passage')}"
    print_line(f"{counts}{removed}{retried} in {report.seconds:.1f} s{_describe_new(report)}; {held}")
    if report.stop_error is not None:
        left = format_count(report.remaining, "document is", "documents are")
        print_line(f"stopped early: {left} left, and the same command goes on from there")
    print_usage(spent)
    for note in [*report.notes, *_describe_reading(report.reading)]:
        print_note(note)
    _print_failures(report.failures)


def describe_report(report: "IndexingReport", passages: int, spent: Usage) -> dict[str, Any]:
    """Return an indexing run as the JSON object that `--json` prints; `index_passages` are those of the whole index."""
    counts = ("added", "updated", "unchanged", "removed", "removed_graphs", "retried", "passages", "sentences")
    return {
        **{name: getattr(report, name) for name in counts},
        "index_passages": passages,
        "remaining": report.remaining,
        "stopped": None if report.stop_error is None else str(report.stop_error),
        "seconds": report.seconds,
        "spent": asdict(spent),
        "failures": _describe_failures(report.failures),
        "notes": list(report.notes),
        "reading": report.reading.to_json(),
    }


def describe_estimate(estimate: "CostEstimate") -> dict[str, Any]:
    """Return an estimate as the JSON object that `--json` prints; costs that are not known are null."""
    values = {field.name: getattr(estimate, field.name) for field in fields(estimate)}
    return {**values, "failures": _describe_failures(estimate.failures)}


def _describe_failures(failures: Sequence[Failure]) -> list[dict[str, str]]:
    return [{"item": failure.item, "reason": failure.reason} for failure in failures]


def _print_failures(failures: Sequence[Failure]) -> None:
    """Print the first failures, with -v all of them."""
    shown = failures if _is_verbose() else failures[:_MAX_FAILURES]
    for failure in shown:
        print_warning(f"failed: {failure.item}: {failure.reason}")
    if len(failures) > len(shown):
        print_warning(f"... and {len(failures) - len(shown)} more (-v lists all)")


def _is_verbose() -> bool:
    return logging.getLogger("clew").isEnabledFor(logging.INFO)


def _describe_new(report: "IndexingReport") -> str:
    if not report.passages:
        return ""
    verb = "is" if report.passages == 1 else "are"
    return f"; {format_count(report.passages, 'passage')} of {format_count(report.sentences, 'sentence')} {verb} new"


def _describe_reading(reading: "ReadingReport") -> list[str]:
    """Return notes on how files were read: the first of the guesses, with -v all, and the numbers of each kind."""
    if not _is_verbose():
        return reading.lines(_MAX_READING_LINES)
    return [*([f"read {reading.summary}"] if reading.files else []), *reading.lines()]


def print_graph_report(report: "GraphReport", entities: int, triples: int, passages: int) -> None:
    """Print the counts of an import, the first faults of its file, and the size of the index."""
    numbers = {"triple": report.triples, "name": report.names, "duplicate": report.duplicates}
    counts = ", ".join(format_count(number, noun) for noun, number in numbers.items())
    print_line(f"{report.name}: {counts}, {report.malformed:,} malformed in {report.seconds:.1f} s")
    if report.dropped:
        print_line(f"left out: {format_count(report.dropped, 'triple')} of relations that were not wanted")
    if report.mentions:
        print_line(f"mentions: {report.mentions:,} read, of its entities in documents or passages")
    for kind, number in report.unmatched_by_kind.items():
        if number:
            named = format_count(number, "mention names", "mentions name")
            print_warning(f"{named} {_LACKING[kind]} that the index lacks")
    if report.mentions and not passages:
        print_warning(
            "the index has no passages, so that no mention has a place: index the documents, and the mentions find "
            "their places"
        )
    parts = f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, {report.removed} removed"
    print_line(
        f"parts: {parts}; the index holds {format_count(entities, 'entity')} and {format_count(triples, 'triple')}"
    )
    for fault in report.faults:
        print_warning(f"malformed: {fault}")
    if report.malformed > len(report.faults):
        print_warning(f"... and {report.malformed - len(report.faults):,} more")


def print_estimate(estimate: "CostEstimate") -> None:
    """Print the estimated cost of indexing, and the files that cannot be read."""
    unchanged = f", {estimate.unchanged:,} unchanged" if estimate.unchanged else ""
    documents = f"{format_count(estimate.documents, 'document')} to index{unchanged}"
    print_line(f"{documents}: {format_count(estimate.passages, 'passage')}")
    size = f", whose vectors take {estimate.sentence_bytes / 1000:,.0f} kB" if estimate.sentence_bytes else ""
    print_line(f"{format_count(estimate.sentences, 'sentence')}{size}")
    if not estimate.model:
        money = "no calls" if estimate.embedding_model else "no calls, no money"
        print_line(f"no language model is called: {money}")
    else:
        stored = f" ({estimate.cached_calls:,} more are answered by stored replies)" if estimate.cached_calls else ""
        print_line(f"{estimate.model}: about {format_count(estimate.calls, 'call')}{stored}")
        print_line(f"tokens    {estimate.input_tokens:,} in, {estimate.output_tokens:,} out")
        print_line(f"money     {_format_money(estimate.cost)}")
        print_line(
            f"time      {_format_duration(estimate.seconds)}, {format_count(estimate.max_concurrency, 'call')} at once"
        )
    if estimate.embedding_model:
        requests = format_count(estimate.embedding_requests, "request")
        print_line(f"{estimate.embedding_model}: about {requests} for vectors of passages and sentences")
        print_line(f"tokens    {estimate.embedding_tokens:,} in")
        print_line(f"money     {_format_money(estimate.embedding_cost)}")
        print_line(f"time      {_format_duration(estimate.embedding_seconds)}, one request after the other")
    _print_failures(estimate.failures)


def print_stats(stats: "IndexStats") -> None:
    """Print counts, then the settings of the index."""
    for name, value in asdict(stats).items():
        if name == "sentence_bytes":
            print_line(f"{'bytes of sentences':20} {value}, {stats.sentence_vector_bytes} of them vectors")
        elif name not in ("manifest", "graphs", "sentence_vector_bytes"):
            print_line(f"{name.replace('_', ' '):20} {value}")
    for graph in stats.graphs:
        print_line(
            f"{'graph':20} {graph.name} ({format_count(graph.triples, 'triple')}, {format_count(graph.names, 'name')})"
        )
    manifest = stats.manifest
    known = {name: value for name, value in manifest["settings"].items() if "synonym" not in name}  # of before 0.5
    for name, value in {**known, "corpus": manifest["corpus"]}.items():
        print_line(f"{name.replace('_', ' '):20} {value}")
    for extractor, count in manifest["extractors"].items():
        print_line(f"{'extracted by':20} {extractor} ({format_count(count, 'passage')})")
    print_line(f"{'failures':20} {manifest['failures']}")


def finish_evaluation(report: "EvaluationReport", budget: "Budget", out: Path | None, *, json_: bool) -> None:
    """Write the figures of an evaluation to a file, if one is named, and print them.

    Raises BudgetError, last, where the budget is spent: the figures so far are of use all the same.
    """
    figures = report.to_json()
    if out is not None:
        write_json(out, figures)
    if json_:
        print_json(figures)
    else:
        print_scores(figures)
    if message := budget.exceeded_message:
        raise BudgetError(message)


def print_scores(report: dict[str, Any]) -> None:
    """Print an evaluation as a table, then paired comparisons and warnings."""
    from rich.console import Console
    from rich.table import Table

    names = list(report["retrievers"])
    depth = f", at most {format_count(report['depth'], 'passage')} each" if "depth" in report else ""
    table = Table(
        title=f"{format_count(report['questions'], 'question')} over {report['index']}{depth}", title_justify="left"
    )
    table.add_column("")
    for name in [*names, "ceiling"]:
        table.add_column(name, justify="right")
    for measure in dict.fromkeys(measure for name in names for measure in report["retrievers"][name]):
        values = [report["retrievers"][name].get(measure, 0.0) for name in names]
        if measure == "intervals" or _is_trivial_row(measure, values):
            continue
        cells = [_format_cell(measure, report["retrievers"][name]) for name in names]
        ceiling = report["ceiling"].get(measure)
        table.add_row(measure, *cells, "" if ceiling is None else f"{ceiling:.3f}")
    page = StringIO()
    console = Console(file=page, highlight=False, width=max(80, 24 + 24 * len(names)))
    console.print(table)
    print_line(page.getvalue().rstrip())
    print_comparisons(report)
    for warning in report["warnings"]:
        print_warning(f"warning: {warning}")
    for note in report.get("notes", ()):
        print_note(note)


def print_comparisons(report: Mapping[str, Any]) -> None:
    """Print the paired differences between the first item and each other one."""
    for c in report["comparisons"]:
        interval = f"{c['difference']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f}), p = {c['p']:.4f}"
        interval += f", Wilcoxon's W = {c['statistic']:g}" if "statistic" in c else ""
        print_line(f"{c['a']} minus {c['b']}, {c['measure']}: {interval}")


def _format_money(cost: float | None) -> str:
    return "not known: add a price of the model to clew.toml under [prices]" if cost is None else f"{cost:.4f}"


def _format_duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _is_trivial_row(measure: str, values: Sequence[float]) -> bool:
    """Return whether no retriever takes a second step, or none calls a language model."""
    return (measure == "steps" and max(values) == 1) or (measure in _MODEL_MEASURES and not any(values))


def _format_cell(measure: str, summary: dict[str, Any]) -> str:
    value = summary.get(measure)
    if value is None:
        return ""
    if measure.startswith("seconds"):
        return f"{value * 1000:.1f} ms"
    if not isinstance(value, float):
        return str(value)
    interval = summary.get("intervals", {}).get(measure)
    return f"{value:.3f}" if interval is None else f"{value:.3f} ({interval[0]:.3f}-{interval[1]:.3f})"
