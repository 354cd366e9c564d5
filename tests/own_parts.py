"""The examples of docs/extend.md: parts of somebody else, run as the page says, and held to the contracts of ours."""

import contextlib
import io
import os
import re
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "extend.md"
EXAMPLES = re.findall(
    r"^## An? (.+?)\n.*?^```python\n(.*?)^```$\n+^```text\n(.*?)^```$",
    PAGE.read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
NAMES = tuple(name for name, _, _ in EXAMPLES)


@dataclass(frozen=True)
class ExampleRun:
    """An example after it was run."""

    printed: str
    shown: str  # what the page says that it prints
    names: dict[str, Any]  # its classes and functions


def run_example(name: str, folder: Path) -> ExampleRun:
    """Run an example in a folder of its own: "encoder", "extractor", "language model", "answerer", "retriever"."""
    code, shown = next((code, shown) for each, code, shown in EXAMPLES if each == name)
    script = folder / "own_part.py"
    script.write_text(code, encoding="utf-8")
    before, printed = Path.cwd(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(printed):
            names = runpy.run_path(str(script), run_name="own_part")
    finally:
        os.chdir(before)
    return ExampleRun(printed.getvalue(), shown, names)
