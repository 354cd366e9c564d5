"""Text and JSON on the streams; text of a corpus is never markup and cannot steer the terminal."""

import json
import sys
from pathlib import Path
from typing import Any

from clew.commands.verbosity import is_quiet
from clew.store.atomic import atomic_file
from clew.text.counts import format_count
from clew.text.sanitize import ESCAPED_CODES, escape_control
from clew.types import Usage

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


def format_json(value: Any, indent: int | None = None) -> str:
    """Return a JSON document; characters that steer a terminal or turn the direction of text are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text.translate(_JSON_ESCAPES)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON document, replacing the file whole; raise ProviderError if it cannot be written."""
    with atomic_file(path) as temporary:
        temporary.write_text(format_json(value, indent=2) + "\n", encoding="utf-8")
