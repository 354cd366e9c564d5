"""Writes docs/cli.md from the command line's own help; with --check it writes nothing and fails if they differ."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from clew.commands.app import COMMANDS, GROUPS, root_command
from clew.commands.lazy import HELP_ALL, HELP_OPTIONS, LazyGroup

WIDTH = 80
TARGET = Path(__file__).with_name("cli.md")
HEAD = """# Command line

Made by `make docs` from the command line's own help: do not edit.

Results go to standard output; progress and errors go to standard error. Exit codes: 0 done; 2 when the command, its
input or the installation has to be changed (a missing package too); 1 when something outside failed (a disk, a
network, weights, a model's reply, a budget), for `index` when a file could not be read or a passage not be extracted
(the rest is in the index, and the last line says so), for `diff` when the indexes differ, for `verify` when it finds
damage. One line on standard error names the value seen, the value wanted and the next step. Ctrl-C leaves a valid
index (exit code 130), and the same command goes on from there.

With `--json` standard output is one JSON object and nothing else, with the same exit codes. That of `index` and
`commit` has the counts `added`, `updated`, `unchanged`, `removed`, `removed_graphs`, `retried`, `remaining`,
`passages` and `sentences` (both that are new) and `index_passages`; `stopped`, why the run ended early or null;
`seconds`; `spent` on language models; `failures`, each with `item` and `reason`; `notes`; and `reading`, how files
were read. That of `remove` has `removed` and `removed_graphs`, that of `verify` `clean` and `problems`; that of
`index --estimate` has the figures that are printed, null for a cost that is not known.

Options that are not given come from the environment (`CLEW_RETRIEVER=fused`), then from `clew.toml` in the working
folder (`retriever = "fused"`), then from `src/clew/settings.py`.
"""


def page() -> str:
    """Return the page: the help of `clew`, then that of each command, in the order in which `clew` lists them."""
    paths = [(), *((name,) for name in COMMANDS)]
    paths += [(group, name) for group, (_, commands) in GROUPS.items() for name in commands]
    return "\n".join([HEAD, *map(section, paths)])


def section(path: Sequence[str]) -> str:
    """Return one command's help under a heading, as it looks on a terminal 80 columns wide."""
    command: Any = root_command()
    for one in (command, *command.commands.values()):
        if isinstance(one, LazyGroup):
            one.add_installed = None  # the page is of this package alone
    context = typer.Context(command, info_name="clew", terminal_width=WIDTH, **HELP_OPTIONS)
    context.meta[HELP_ALL] = True
    for name in path:
        _, command, _ = command.resolve_command(context, [name])
        context = typer.Context(command, info_name=name, parent=context, **HELP_OPTIONS)
    lines = [line.rstrip() for line in command.get_help(context).strip().splitlines()]
    return "\n".join([f"## {' '.join(['clew', *path])}", "", "```text", *lines, "```", ""])


if __name__ == "__main__":
    text = page()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(text, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != text:
        raise SystemExit("docs/cli.md is not what the command line says: run `make docs`")
