"""Progress on standard error: a bar on a terminal, a line now and then in a log."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clew.commands.output import is_quiet, print_warning
from clew.types import Progress, ignore_progress

_SECONDS_PER_LINE = 10.0
_INDEXING = "indexing"


@contextmanager
def progress_on_stderr() -> Iterator[Progress]:
    """Yield a callback that shows a stage, what is done, the rate and the time left."""
    if is_quiet():
        yield ignore_progress
        return
    if not sys.stderr.isatty():
        yield _progress_lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}% {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total or None, rate="")
            speed = bar.tasks[tasks[stage]].speed
            rate = f"{speed:,.0f}{_name_unit(stage, total)}/s" if speed else ""
            bar.update(tasks[stage], completed=done, total=total or None, rate=rate)

        yield show


def _progress_lines() -> Progress:
    started: dict[str, float] = {}
    last = printed = time.monotonic()

    def show(stage: str, done: int, total: int) -> None:
        nonlocal last, printed
        now = time.monotonic()
        begun = started.setdefault(stage, last)  # a stage begins at the last report of the one before it
        last = now
        if now - printed < _SECONDS_PER_LINE:
            return
        printed = now
        rate = done / (now - begun) if now > begun else 0.0
        left = f", {(total - done) / rate:.0f} s left" if rate and total else ""
        of_total = f" of {total:,}" if total else ""
        print_warning(f"{stage}: {done:,}{of_total}{_name_unit(stage, total)}, {rate:,.0f}/s{left}")

    return show


def _name_unit(stage: str, total: int) -> str:
    """Return the unit of a stage after a space: of files bytes are counted, of standard input characters."""
    return "" if stage != _INDEXING else " bytes" if total else " characters"
