"""Count the lines of Clew that one command runs through: what a reader opens who follows a search.

`python tools/trace_search.py COMMAND ...`, such as `search "Who ...?" --index my-index`

Counted are lines in functions of `clew` (and of packages whose names begin so) that Python runs, each once; not the
lines that define modules and classes, and not compiled functions. One line a folder is printed, largest first.
"""

import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import clew
from clew.commands.app import main

Tracer = Callable[[FrameType, str, Any], Any]
HOME = str(Path(clew.__file__).parent.parent)


def trace(lines: dict[CodeType, set[int]]) -> Tracer:
    """Return a tracer that adds the lines of each function that runs."""

    def enter(frame: FrameType, event: str, argument: Any) -> Tracer | None:  # noqa: ARG001 (as Python calls it)
        code = frame.f_code
        if not code.co_filename.startswith(HOME) or code.co_name == "<module>" or not code.co_flags & 0x2:
            return None
        lines[code].add(frame.f_lineno)
        return line

    def line(frame: FrameType, event: str, argument: Any) -> Tracer:  # noqa: ARG001
        lines[frame.f_code].add(frame.f_lineno)
        return line

    return enter


def report(lines: dict[CodeType, set[int]]) -> None:
    """Print how many files, functions and lines ran, in all and by folder."""
    files: dict[str, set[str]] = defaultdict(set)
    functions, counted = Counter[str](), Counter[str]()
    for code, own in lines.items():
        parts = Path(code.co_filename).relative_to(HOME).parts
        folder = "/".join(parts[:2] if len(parts) > 2 else parts)
        files[folder].add(code.co_filename)
        functions[folder] += 1
        counted[folder] += len(own)
    print(f"{'folder':24}{'files':>8}{'functions':>12}{'lines':>8}")
    for folder, count in counted.most_common():
        print(f"{folder:24}{len(files[folder]):8}{functions[folder]:12}{count:8}")
    print(f"{'all':24}{sum(map(len, files.values())):8}{functions.total():12}{counted.total():8}")


if __name__ == "__main__":
    found: dict[CodeType, set[int]] = defaultdict(set)
    threading.settrace(trace(found))
    sys.settrace(trace(found))
    try:
        main()
    finally:
        sys.settrace(None)
        report(found)
