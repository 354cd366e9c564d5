"""How results look: JSON of a fixed shape for programs, short text for people. Text from a corpus is never markup."""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from io import StringIO
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from clew.graph.snapshot.diff import SnapshotDiff
from clew.indexing.cost_estimate import CostEstimate
from clew.indexing.index_stats import IndexStats
from clew.indexing.kg_import import GraphReport
from clew.indexing.pipeline import IndexingReport
from clew.models.llm.reply_cache import CachedReplies
from clew.text.sanitize import escape_control
from clew.types import AgentStep, Answer, Evidence, Passage, Path, Scored, Usage
from clew.types import Progress as ProgressFunction

_NO_USABLE_REPLY = "No answer: the language model gave none that can be used."
_MODEL_MEASURES = ("calls", "tokens", "cost", "answer_calls", "answer_tokens", "answer_cost", "failed", "unsupported")
_MAX_CHARACTERS = 300
_MAX_FAILURES = 20
_MAX_VALUES = 5
_MAX_PATHS = 10
_SECONDS_PER_LINE = 10.0


def evidence_json(question: str, retriever: str, evidence: Evidence) -> dict[str, Any]:
    """Return evidence in the shape of `clew search --json`."""
    return {
        "question": question,
        "retriever": retriever,
        "passages": [_passage_json(scored) for scored in evidence.passages],
        "paths": [
            {"score": path.score, "triples": [{**asdict(t), "passages": list(t.passages)} for t in path.item]}
            for path in evidence.paths
        ],
        "notes": list(evidence.notes),
        "usage": asdict(evidence.usage),
        "steps": [asdict(step) for step in evidence.steps],
        "topics": list(evidence.topics),
    }


def answer_json(question: str, retriever: str, answer: Answer) -> dict[str, Any]:
    """Return an answer in the shape of `clew ask --json`."""
    return {
        "question": question,
        "retriever": retriever,
        "answer": answer.text,
        "weak": answer.weak,
        "citations": [asdict(citation) for citation in answer.citations],
        "candidates": [{"text": c.item, "score": c.score} for c in answer.candidates],
        "notes": list(answer.notes),
        "usage": asdict(answer.usage),
        "evidence": evidence_json(question, retriever, answer.evidence),
    }


def print_evidence(evidence: Evidence) -> None:
    """Print ranked passages, then the paths that lead to them."""
    for rank, scored in enumerate(evidence.passages, 1):
        passage = scored.item
        _print_line(f"{rank}. {passage.title or passage.id}  [{passage.id}]  {scored.score:.4f}")
        _print_line(f"   {_shorten(passage.text)}")
    if evidence.paths:
        _print_line("\nHow they connect:" if evidence.passages else "Paths:")
    for path in evidence.paths[:_MAX_PATHS]:
        _print_line(f"  {_format_path(path.item)}")
    if len(evidence.paths) > _MAX_PATHS:
        _print_line(f"  ... and {len(evidence.paths) - _MAX_PATHS} more (--json has them all)")
    _print_notes(evidence.notes)
    _print_usage(evidence.usage)


def print_steps(steps: Sequence[AgentStep]) -> None:
    """Print what an agent did, step by step."""
    for number, step in enumerate(steps, 1):
        usage = step.usage
        cost = f"{usage.seconds:.2f} s, {usage.calls} calls, {usage.input_tokens} + {usage.output_tokens} tokens"
        _print_line(f"\nStep {number} ({cost}): {step.query}")
        for label, values in (("read", step.read), ("linked", step.linked), ("noted", step.gist), ("new", step.new)):
            if values:
                more = f"; ... ({len(values)})" if len(values) > _MAX_VALUES else ""
                _print_line(f"  {label}: {'; '.join(values[:_MAX_VALUES])}{more}")
        _print_line(f"  {step.verdict}{f': {step.reasoning}' if step.reasoning else ''}")


class StreamingAnswer:
    """Shows an answer while it is written.

    Attributes:
        shown: What stands on the terminal.
    """

    def __init__(self) -> None:
        self.shown = ""

    def __call__(self, text: str) -> None:
        """Add what is new; a text that starts anew gets a line of its own."""
        if not text.startswith(self.shown):
            sys.stdout.write("\n")
            self.shown = ""
        sys.stdout.write(escape_control(text[len(self.shown) :]))
        sys.stdout.flush()
        self.shown = text


def streaming_answer() -> StreamingAnswer | None:
    """Return what shows an answer while it is written; None where no one watches."""
    return StreamingAnswer() if sys.stdout.isatty() else None


def print_answer(answer: Answer, stream: StreamingAnswer | None = None) -> None:
    """Print an answer, the sentences it stands on, and other candidates; what has been shown is not said again.

    Where a language model failed, what was found for it is printed in the answer's place.
    """
    said = "" if stream is None else stream.shown
    if said:
        sys.stdout.write("\n")
    if not said or " ".join(said.split()) != answer.text:
        _print_line(
            answer.text or (_NO_USABLE_REPLY if answer.failure else "No answer: the evidence does not hold one.")
        )
    if answer.failure:
        print_evidence(replace(answer.evidence, notes=(*answer.evidence.notes, *answer.notes)))
        return
    for number, citation in enumerate(answer.citations, 1):
        place = f"{citation.document_id}, characters {citation.start}-{citation.end}"
        _print_line(f"\n[{number}] {citation.title or citation.document_id} ({place})")
        _print_line(f"    \u201c{citation.quote}\u201d")
    others = [c.item for c in answer.candidates if c.item != answer.text][:5]
    if others:
        _print_line(f"\nOther candidates: {', '.join(others)}")
    if answer.evidence.paths:
        _print_line("\nHow the passages connect:" if answer.evidence.passages else "\nThe paths it stands on:")
        for path in answer.evidence.paths[:3]:
            _print_line(f"  {_format_path(path.item)}")
    _print_notes(answer.notes)
    _print_usage(answer.evidence.usage + answer.usage)


def print_report(report: IndexingReport, passages: int, spent: Usage = Usage()) -> None:  # noqa: B008 - it cannot change
    """Print what an indexing run did, what a language model was paid for it, and every failure."""
    counts = (
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, {len(report.failures)} failed"
    )
    retried = f", {report.retried} passages tried again" if report.retried else ""
    _print_line(f"{counts}{retried} in {report.seconds:.1f} s; the index holds {passages} passages")
    if report.stop_error is not None:
        _print_line(f"stopped early: {report.remaining} documents are left, and the same command goes on with them")
    _print_usage(spent)
    for failure in report.failures[:_MAX_FAILURES]:
        _print_warning(f"failed: {failure.item}: {failure.reason}")
    if len(report.failures) > _MAX_FAILURES:
        _print_warning(f"... and {len(report.failures) - _MAX_FAILURES} more")


def print_graph_report(report: GraphReport, entities: int, triples: int) -> None:
    """Print what the import of a graph did, the first faults of its file, and what the index holds now."""
    counts = f"{report.triples:,} triples, {report.names:,} names, {report.duplicates:,} duplicates"
    _print_line(f"{report.name}: {counts}, {report.malformed:,} malformed in {report.seconds:.1f} s")
    parts = f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, {report.removed} removed"
    _print_line(f"parts: {parts}; the index holds {entities:,} entities and {triples:,} triples")
    for fault in report.faults:
        _print_warning(f"malformed: {fault}")
    if report.malformed > len(report.faults):
        _print_warning(f"... and {report.malformed - len(report.faults):,} more")


def print_graphs(graphs: Sequence[Mapping[str, Any]]) -> None:
    """Print imported graphs, a line each."""
    for graph in graphs:
        _print_line(
            f"{graph['name']}: {graph['triples']:,} triples, {graph['names']:,} names, {graph['parts']:,} parts"
        )
    if not graphs:
        _print_line("no graph was imported")


def print_estimate(estimate: CostEstimate) -> None:
    """Print what indexing would take, and what cannot be read."""
    unchanged = f", {estimate.unchanged:,} unchanged" if estimate.unchanged else ""
    _print_line(f"{estimate.documents:,} documents to index{unchanged}: {estimate.passages:,} passages")
    if not estimate.model:
        _print_line("no language model is asked: no calls, no money")
    else:
        kept = f" ({estimate.cached_calls:,} more are answered by kept replies)" if estimate.cached_calls else ""
        _print_line(f"{estimate.model}: about {estimate.calls:,} calls{kept}")
        _print_line(f"tokens    {estimate.input_tokens:,} in, {estimate.output_tokens:,} out")
        unknown = "not known: add a price of the model to clew.toml under [prices]"
        _print_line(f"money     {unknown if estimate.cost is None else f'{estimate.cost:.4f}'}")
        _print_line(f"time      {_format_duration(estimate.seconds)}, {estimate.max_concurrency} calls at once")
    for failure in estimate.failures[:_MAX_FAILURES]:
        _print_warning(f"failed: {failure.item}: {failure.reason}")


def print_cached_replies(entries: Sequence[CachedReplies]) -> None:
    """Print the replies of language models that are kept, a line for each model and prompt."""
    for entry in entries:
        _print_line(f"{entry.model}  {entry.prompt}: {_format_usage(entry.usage)}")
    if not entries:
        _print_line("no replies are kept")


def print_stats(stats: IndexStats) -> None:
    """Print counts, then what the index was made with."""
    for name, value in asdict(stats).items():
        if name not in ("manifest", "graphs"):
            _print_line(f"{name.replace('_', ' '):18} {value}")
    for graph in stats.graphs:
        _print_line(f"{'graph':18} {graph.name} ({graph.triples} triples, {graph.names} names)")
    manifest = stats.manifest
    for name, value in {**manifest["settings"], "corpus": manifest["corpus"]}.items():
        _print_line(f"{name.replace('_', ' '):18} {value}")
    for extractor, count in manifest["extractors"].items():
        _print_line(f"{'extracted by':18} {extractor} ({count} passages)")
    _print_line(f"{'failures':18} {manifest['failures']}")


def print_difference(changes: SnapshotDiff, limit: int) -> None:
    """Print counts of what differs, and the first names of each kind."""
    if changes.is_empty:
        _print_line("equal: the same passages, entities and triples")
        return
    rows = [(f"{kind} added", names) for kind, names in changes.added.items()]
    rows += [(f"{kind} removed", names) for kind, names in changes.removed.items()]
    for what, names in [*rows, ("passages changed", changes.changed)]:
        if names:
            more = ", ..." if len(names) > limit else ""
            _print_line(f"{len(names)} {what}: {', '.join(names[:limit])}{more}")


def print_scores(report: dict[str, Any]) -> None:
    """Print an evaluation as a table, then paired comparisons and warnings."""
    names = list(report["retrievers"])
    depth = f", {report['depth']} passages each" if "depth" in report else ""
    table = Table(title=f"{report['questions']} questions over {report['index']}{depth}", title_justify="left")
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
    drawn = Console(file=page, highlight=False, width=max(80, 24 + 24 * len(names)))
    drawn.print(table)
    _print_line(page.getvalue().rstrip())
    print_comparisons(report)
    for warning in report["warnings"]:
        _print_warning(f"warning: {warning}")


def print_note(note: str) -> None:
    """Print on stderr what a user should know of the input."""
    _print_warning(f"note: {note}")


def print_comparisons(report: Mapping[str, Any]) -> None:
    """Print how the first of several compares with each other one."""
    for c in report["comparisons"]:
        interval = f"{c['difference']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f}), p = {c['p']:.4f}"
        _print_line(f"{c['a']} minus {c['b']}, {c['measure']}: {interval}")


@contextmanager
def progress_on_stderr() -> Iterator[ProgressFunction]:
    """Give a function that shows a stage, what is done, the rate and the time left; in a log, a line now and then."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}% {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _progress_lines()
        return
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total or None, rate="")
            speed = bar.tasks[tasks[stage]].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bar.update(tasks[stage], completed=done, total=total or None, rate=rate)

        yield show


def _progress_lines() -> ProgressFunction:
    started: dict[str, float] = {}
    last = said = time.monotonic()

    def show(stage: str, done: int, total: int) -> None:
        nonlocal last, said
        now = time.monotonic()
        begun = started.setdefault(stage, last)  # a stage begins where the one before it was last heard of
        last = now
        if now - said < _SECONDS_PER_LINE:
            return
        said = now
        rate = done / (now - begun) if now > begun else 0.0
        left = f", {(total - done) / rate:.0f} s left" if rate and total else ""
        of_all = f" of {total:,}" if total else ""
        _print_warning(f"{stage}: {done:,}{of_all}, {rate:,.0f}/s{left}")

    return show


def _print_line(text: str) -> None:
    """Print for people; a letter of a corpus that would steer the terminal is shown as an escape."""
    sys.stdout.write(escape_control(text) + "\n")


def _print_warning(text: str) -> None:
    sys.stderr.write(escape_control(" ".join(text.split())) + "\n")


def _passage_json(scored: Scored[Passage]) -> dict[str, Any]:
    passage = scored.item
    return {
        "id": passage.id,
        "document_id": passage.document_id,
        "title": passage.title,
        "text": passage.text,
        "score": scored.score,
        "start": passage.start,
        "end": passage.end,
        "metadata": dict(passage.metadata),
    }


def _format_path(path: Path) -> str:
    return "\n    ".join(f"{t.head} --[{t.relation}]--> {t.tail}{_format_sources(t.passages)}" for t in path)


def _format_sources(passages: Sequence[str]) -> str:
    return f"  ({', '.join(passages)})" if passages else ""  # no passage states what an imported graph alone holds


def _print_notes(notes: tuple[str, ...]) -> None:
    if notes:
        _print_line("\n" + "\n".join(f"note: {' '.join(note.split())}" for note in notes))


def _format_usage(usage: Usage) -> str:
    tokens = f"{usage.calls:,} calls, {usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return f"{tokens}, {usage.cost:.4f} of money" if usage.cost else tokens


def _format_duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _print_usage(usage: Usage) -> None:
    if usage.calls:
        _print_line(f"spent: {_format_usage(usage)}")


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_CHARACTERS else flat[:_MAX_CHARACTERS].rsplit(" ", 1)[0] + " ..."


def _is_trivial_row(measure: str, values: Sequence[float]) -> bool:
    """Whether a row is that of retrievers that take one step and ask no language model."""
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
