"""Lines for people with marked parts: highlighted on a terminal, plain where standard output is piped."""

import sys
from collections.abc import Sequence

from clew.commands.output import print_line
from clew.text.sanitize import escape_control

_MARK, _HEADING = "bold yellow", "bold"


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
