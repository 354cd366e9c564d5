"""Output of commands: text and JSON on standard output, notes and lines of the loggers `clew.*` on standard error.

Text of a corpus is never markup and cannot steer the terminal. The library logs and installs no handler; the command
line installs one while a command runs, and `-q`, nothing, `-v` or `-vv` say how much of it is written.
"""

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clew.text.display import ESCAPED_CODES, escape_control, format_count
from clew.types import Usage

_MARK, _HEADING = "bold yellow", "bold"
_logger = logging.getLogger("clew")
_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
# Line feeds are those of the indentation: json escapes all below 32 in strings.
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in ESCAPED_CODES if code >= 127}


def print_line(text: str) -> None:
    """Print text for people; control characters of a corpus are shown as escapes."""
    sys.stdout.write(escape_control(text) + "\n")


def print_warning(text: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(escape_control(" ".join(text.split())) + "\n")


def print_note(note: str) -> None:
    """Print on standard error what a user should know of the input, unless the command is to be quiet."""
    if not is_quiet():
        print_warning(f"note: {note}")


def format_usage(usage: Usage) -> str:
    """Return calls, tokens in and out, and their cost if they have one."""
    tokens = f"{format_count(usage.calls, 'call')}, {usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return f"{tokens}, {usage.cost:.4f} of money" if usage.cost else tokens


def print_usage(usage: Usage) -> None:
    """Print the usage of language models, if there was any."""
    if usage.calls:
        print_line(f"spent: {format_usage(usage)}")


def print_json(value: Any) -> None:
    """Print a JSON document."""
    print(format_json(value, indent=2))


def print_result(value: Any, text: str, *, json_: bool) -> None:
    """Print a result: its value as JSON, or its text for people."""
    if json_:
        print_json(value)
    else:
        print_line(text)


def format_json(value: Any, indent: int | None = None) -> str:
    """Return a JSON document; characters that steer a terminal or turn the direction of text are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text.translate(_JSON_ESCAPES)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON document, replacing the file whole; raise ProviderError if it cannot be written."""
    from clew.store.atomic import atomic_file

    with atomic_file(path) as temporary:
        temporary.write_text(format_json(value, indent=2) + "\n", encoding="utf-8")


def print_heading(text: str) -> None:
    """Print the heading of a passage."""
    print_marked("", text, [(0, len(text))], _HEADING)


def print_marked(indent: str, text: str, marks: Sequence[tuple[int, int]], style: str = _MARK) -> None:
    """Print a text whose marked spans (start, end) are highlighted on a terminal; control characters are escaped."""
    if not sys.stdout.isatty():
        print_line(f"{indent}{text}")
        return
    from rich.console import Console
    from rich.text import Text

    line = Text(indent)
    place = 0
    for start, end in marks:
        line.append(escape_control(text[place:start]))
        line.append(escape_control(text[start:end]), style)
        place = end
    line.append(escape_control(text[place:]))
    Console(file=sys.stdout, highlight=False, soft_wrap=True).print(line)


class StderrHandler(logging.Handler):
    """Writes one line a record: as a note, or with milliseconds and the logger's name where `-v` is given."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; where the root logger has handlers, as in a server, those write it."""
        if _writes_elsewhere():
            return
        text = " ".join(record.getMessage().split())
        head = (
            f"{record.relativeCreated:7.0f} ms {record.name}: "
            if logging.NOTSET < _logger.level < logging.WARNING
            else "note: "
        )
        sys.stderr.write(escape_control(f"{head}{text}") + "\n")


@contextmanager
def log_on_stderr() -> Iterator[None]:
    """Write the warnings of `clew.*` on standard error during the block, and what `-v` adds."""
    level, handler = _logger.level, StderrHandler()
    _logger.addHandler(handler)
    try:
        yield
    finally:
        _logger.removeHandler(handler)
        _logger.setLevel(level)


def raise_level(times: int) -> None:
    """Let through more records: for 1 what a command does, for 2 or more all."""
    if times:
        _logger.setLevel(_LEVELS[min(times, len(_LEVELS) - 1)])


def set_quiet(given: bool) -> None:
    """Let through errors alone, if the option is given; notes and progress are left out with it."""
    if given:
        _logger.setLevel(logging.ERROR)


def is_quiet() -> bool:
    """Return whether notes and progress are left out."""
    return not _logger.isEnabledFor(logging.WARNING)


def _writes_elsewhere() -> bool:
    return any(type(handler) is logging.StreamHandler for handler in logging.getLogger().handlers)
