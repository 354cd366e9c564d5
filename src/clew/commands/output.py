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

from clew.graph.snapshot.diff import Difference
from clew.indexing.cost_estimate import Estimate
from clew.indexing.kg_import import GraphReport
from clew.indexing.pipeline import Report
from clew.indexing.snapshot_builder import Progress as ProgressFunction
from clew.models.llm.reply_cache import Kept
from clew.text.sanitize import escaped
from clew.types import Answer, Evidence, Passage, Path, Scored, Step, Usage

_FAILED = "No answer: the language model gave none that can be used."
_OF_MODELS = ("calls", "tokens", "cost", "answer_calls", "answer_tokens", "answer_cost", "failed", "unsupported")
_SHOWN_CHARACTERS = 300
_SHOWN_FAILURES = 20
_SHOWN_VALUES = 5
_SHOWN_PATHS = 10
_SECONDS_A_LINE = 10.0


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
        _say(f"{rank}. {passage.title or passage.id}  [{passage.id}]  {scored.score:.4f}")
        _say(f"   {_shortened(passage.text)}")
    if evidence.paths:
        _say("\nHow they connect:" if evidence.passages else "Paths:")
    for path in evidence.paths[:_SHOWN_PATHS]:
        _say(f"  {_path_text(path.item)}")
    if len(evidence.paths) > _SHOWN_PATHS:
        _say(f"  ... and {len(evidence.paths) - _SHOWN_PATHS} more (--json has them all)")
    _print_notes(evidence.notes)
    _print_spent(evidence.usage)


def print_steps(steps: Sequence[Step]) -> None:
    """Print what an agent did, step by step."""
    for number, step in enumerate(steps, 1):
        usage = step.usage
        cost = f"{usage.seconds:.2f} s, {usage.calls} calls, {usage.input_tokens} + {usage.output_tokens} tokens"
        _say(f"\nStep {number} ({cost}): {step.query}")
        for label, values in (("read", step.read), ("linked", step.linked), ("noted", step.gist), ("new", step.new)):
            if values:
                more = f"; ... ({len(values)})" if len(values) > _SHOWN_VALUES else ""
                _say(f"  {label}: {'; '.join(values[:_SHOWN_VALUES])}{more}")
        _say(f"  {step.verdict}{f': {step.reasoning}' if step.reasoning else ''}")


class GrowingAnswer:
    """Shows an answer while it is written.

    Attributes:
        said: What stands on the terminal.
    """

    def __init__(self) -> None:
        self.said = ""

    def __call__(self, text: str) -> None:
        """Add what is new; a text that starts anew gets a line of its own."""
        if not text.startswith(self.said):
            sys.stdout.write("\n")
            self.said = ""
        sys.stdout.write(escaped(text[len(self.said) :]))
        sys.stdout.flush()
        self.said = text


def growing_answer() -> GrowingAnswer | None:
    """Return what shows an answer while it is written; None where no one watches."""
    return GrowingAnswer() if sys.stdout.isatty() else None


def print_answer(answer: Answer, grown: GrowingAnswer | None = None) -> None:
    """Print an answer, the sentences it stands on, and other candidates; what has been shown is not said again.

    Where a language model failed, what was found for it is printed in the answer's place.
    """
    said = "" if grown is None else grown.said
    if said:
        sys.stdout.write("\n")
    if not said or " ".join(said.split()) != answer.text:
        _say(answer.text or (_FAILED if answer.failure else "No answer: the evidence does not hold one."))
    if answer.failure:
        print_evidence(replace(answer.evidence, notes=(*answer.evidence.notes, *answer.notes)))
        return
    for number, citation in enumerate(answer.citations, 1):
        place = f"{citation.document_id}, characters {citation.start}-{citation.end}"
        _say(f"\n[{number}] {citation.title or citation.document_id} ({place})")
        _say(f"    \u201c{citation.quote}\u201d")
    others = [c.item for c in answer.candidates if c.item != answer.text][:5]
    if others:
        _say(f"\nOther candidates: {', '.join(others)}")
    if answer.evidence.paths:
        _say("\nHow the passages connect:" if answer.evidence.passages else "\nThe paths it stands on:")
        for path in answer.evidence.paths[:3]:
            _say(f"  {_path_text(path.item)}")
    _print_notes(answer.notes)
    _print_spent(answer.evidence.usage + answer.usage)


def print_report(report: Report, passages: int, spent: Usage = Usage()) -> None:  # noqa: B008 - it cannot change
    """Print what an indexing run did, what a language model was paid for it, and every failure."""
    counts = (
        f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, {len(report.failures)} failed"
    )
    retried = f", {report.retried} passages tried again" if report.retried else ""
    _say(f"{counts}{retried} in {report.seconds:.1f} s; the index holds {passages} passages")
    if report.stopped is not None:
        _say(f"stopped early: {report.remaining} documents are left, and the same command goes on with them")
    _print_spent(spent)
    for failure in report.failures[:_SHOWN_FAILURES]:
        _warn(f"failed: {failure.item}: {failure.reason}")
    if len(report.failures) > _SHOWN_FAILURES:
        _warn(f"... and {len(report.failures) - _SHOWN_FAILURES} more")


def print_graph_report(report: GraphReport, entities: int, triples: int) -> None:
    """Print what the import of a graph did, the first faults of its file, and what the index holds now."""
    counts = f"{report.triples:,} triples, {report.names:,} names, {report.duplicates:,} duplicates"
    _say(f"{report.name}: {counts}, {report.malformed:,} malformed in {report.seconds:.1f} s")
    parts = f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged, {report.removed} removed"
    _say(f"parts: {parts}; the index holds {entities:,} entities and {triples:,} triples")
    for fault in report.faults:
        _warn(f"malformed: {fault}")
    if report.malformed > len(report.faults):
        _warn(f"... and {report.malformed - len(report.faults):,} more")


def print_graphs(graphs: Sequence[Mapping[str, Any]]) -> None:
    """Print imported graphs, a line each."""
    for graph in graphs:
        _say(f"{graph['name']}: {graph['triples']:,} triples, {graph['names']:,} names, {graph['parts']:,} parts")
    if not graphs:
        _say("no graph was imported")


def print_estimate(estimate: Estimate) -> None:
    """Print what indexing would take, and what cannot be read."""
    unchanged = f", {estimate.unchanged:,} unchanged" if estimate.unchanged else ""
    _say(f"{estimate.documents:,} documents to index{unchanged}: {estimate.passages:,} passages")
    if not estimate.model:
        _say("no language model is asked: no calls, no money")
    else:
        kept = f" ({estimate.cached:,} more are answered by kept replies)" if estimate.cached else ""
        _say(f"{estimate.model}: about {estimate.calls:,} calls{kept}")
        _say(f"tokens    {estimate.input_tokens:,} in, {estimate.output_tokens:,} out")
        unknown = "not known: add a price of the model to clew.toml under [prices]"
        _say(f"money     {unknown if estimate.cost is None else f'{estimate.cost:.4f}'}")
        _say(f"time      {_duration(estimate.seconds)}, {estimate.at_once} calls at once")
    for failure in estimate.failures[:_SHOWN_FAILURES]:
        _warn(f"failed: {failure.item}: {failure.reason}")


def print_kept_calls(kept: Sequence[Kept]) -> None:
    """Print the replies of language models that are kept, a line for each model and prompt."""
    for entry in kept:
        _say(f"{entry.model}  {entry.prompt}: {_spent(entry.usage)}")
    if not kept:
        _say("no replies are kept")


def print_stats(figures: dict[str, Any]) -> None:
    """Print counts, then what the index was made with."""
    for name, value in figures.items():
        if name not in ("manifest", "graphs"):
            _say(f"{name.replace('_', ' '):18} {value}")
    for graph in figures["graphs"]:
        _say(f"{'graph':18} {graph['name']} ({graph['triples']} triples, {graph['names']} names)")
    manifest = figures["manifest"]
    for name, value in {**manifest["settings"], "corpus": manifest["corpus"]}.items():
        _say(f"{name.replace('_', ' '):18} {value}")
    for extractor, count in manifest["extractors"].items():
        _say(f"{'extracted by':18} {extractor} ({count} passages)")
    _say(f"{'failures':18} {manifest['failures']}")


def print_difference(changes: Difference, limit: int) -> None:
    """Print counts of what differs, and the first names of each kind."""
    if changes.empty:
        _say("equal: the same passages, entities and triples")
        return
    rows = [(f"{kind} added", names) for kind, names in changes.added.items()]
    rows += [(f"{kind} removed", names) for kind, names in changes.removed.items()]
    for what, names in [*rows, ("passages changed", changes.changed)]:
        if names:
            more = ", ..." if len(names) > limit else ""
            _say(f"{len(names)} {what}: {', '.join(names[:limit])}{more}")


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
        if measure == "intervals" or _says_nothing(measure, values):
            continue
        cells = [_cell(measure, report["retrievers"][name]) for name in names]
        ceiling = report["ceiling"].get(measure)
        table.add_row(measure, *cells, "" if ceiling is None else f"{ceiling:.3f}")
    page = StringIO()
    drawn = Console(file=page, highlight=False, width=max(80, 24 + 24 * len(names)))
    drawn.print(table)
    _say(page.getvalue().rstrip())
    print_comparisons(report)
    for warning in report["warnings"]:
        _warn(f"warning: {warning}")


def print_note(note: str) -> None:
    """Print on stderr what a user should know of the input."""
    _warn(f"note: {note}")


def print_comparisons(report: Mapping[str, Any]) -> None:
    """Print how the first of several compares with each other one."""
    for c in report["comparisons"]:
        interval = f"{c['difference']:+.3f} ({c['low']:+.3f} to {c['high']:+.3f}), p = {c['p']:.4f}"
        _say(f"{c['a']} minus {c['b']}, {c['measure']}: {interval}")


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
        yield _lines_on_stderr()
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


def _lines_on_stderr() -> ProgressFunction:
    started: dict[str, float] = {}
    last = said = time.monotonic()

    def show(stage: str, done: int, total: int) -> None:
        nonlocal last, said
        now = time.monotonic()
        begun = started.setdefault(stage, last)  # a stage begins where the one before it was last heard of
        last = now
        if now - said < _SECONDS_A_LINE:
            return
        said = now
        rate = done / (now - begun) if now > begun else 0.0
        left = f", {(total - done) / rate:.0f} s left" if rate and total else ""
        of_all = f" of {total:,}" if total else ""
        _warn(f"{stage}: {done:,}{of_all}, {rate:,.0f}/s{left}")

    return show


def _say(text: str) -> None:
    """Print for people; a letter of a corpus that would steer the terminal is shown as an escape."""
    sys.stdout.write(escaped(text) + "\n")


def _warn(text: str) -> None:
    sys.stderr.write(escaped(" ".join(text.split())) + "\n")


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


def _path_text(path: Path) -> str:
    return "\n    ".join(f"{t.head} --[{t.relation}]--> {t.tail}{_stating(t.passages)}" for t in path)


def _stating(passages: Sequence[str]) -> str:
    return f"  ({', '.join(passages)})" if passages else ""  # no passage states what an imported graph alone holds


def _print_notes(notes: tuple[str, ...]) -> None:
    if notes:
        _say("\n" + "\n".join(f"note: {' '.join(note.split())}" for note in notes))


def _spent(usage: Usage) -> str:
    tokens = f"{usage.calls:,} calls, {usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return f"{tokens}, {usage.cost:.4f} of money" if usage.cost else tokens


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 90 else f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def _print_spent(usage: Usage) -> None:
    if usage.calls:
        _say(f"spent: {_spent(usage)}")


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN_CHARACTERS else flat[:_SHOWN_CHARACTERS].rsplit(" ", 1)[0] + " ..."


def _says_nothing(measure: str, values: Sequence[float]) -> bool:
    """Whether a row is that of retrievers that take one step and ask no language model."""
    return (measure == "steps" and max(values) == 1) or (measure in _OF_MODELS and not any(values))


def _cell(measure: str, summary: dict[str, Any]) -> str:
    value = summary.get(measure)
    if value is None:
        return ""
    if measure.startswith("seconds"):
        return f"{value * 1000:.1f} ms"
    if not isinstance(value, float):
        return str(value)
    interval = summary.get("intervals", {}).get(measure)
    return f"{value:.3f}" if interval is None else f"{value:.3f} ({interval[0]:.3f}-{interval[1]:.3f})"
