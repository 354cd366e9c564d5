"""Writes docs/cli.md from the command line's own help; with --check it writes nothing and fails where they differ."""

import sys
from pathlib import Path

from typer.testing import CliRunner

from clew.commands.app import app

TARGET = Path(__file__).with_name("cli.md")
HEAD = """# Command line

Made by `make docs` from the command line's own help: do not edit.

Results go to standard output; progress and errors go to standard error. Exit codes: 0 done, 1 our own fault, 2 bad
input; one line on standard error says what was seen, what was wanted and what to do next. `diff` exits with 1 when the
indexes differ, `verify` when it found damage. Ctrl-C leaves a valid index (exit code 130), and the same command goes on
from there.

Options that are not given come from the environment (`CLEW_RETRIEVER=fused`), then from `clew.toml` in the working
folder (`retriever = "fused"`), then from `src/clew/settings.py`.
"""


def page() -> str:
    """Return the page: the help of `clew`, then that of each command, in the order in which `clew` lists them."""
    names = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
    parts = [HEAD, section("clew", [])]
    parts += [section(f"clew {name}", [name]) for name in names]
    for group in app.registered_groups:
        assert group.typer_instance is not None
        commands = group.typer_instance.registered_commands
        inner = [command.name or getattr(command.callback, "__name__", "") for command in commands]
        parts += [section(f"clew {group.name} {name}", [str(group.name), name]) for name in inner]
    return "\n".join(parts)


def section(title: str, command: list[str]) -> str:
    """Return one command's help under a heading, as it looks on a terminal 80 columns wide."""
    shown = CliRunner().invoke(app, [*command, "--help"], prog_name="clew", env={"COLUMNS": "80", "NO_COLOR": "1"})
    if shown.exit_code:
        raise SystemExit(f"`{title} --help` failed with exit code {shown.exit_code}: {shown.output}")
    lines = [line.rstrip() for line in shown.stdout.strip().splitlines()]
    return "\n".join([f"## {title}", "", "```text", *lines, "```", ""])


if __name__ == "__main__":
    made = page()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(made, encoding="utf-8")
    elif not TARGET.is_file() or TARGET.read_text(encoding="utf-8") != made:
        raise SystemExit("docs/cli.md is not what the command line says: run `make docs`")
