"""Commands that are imported when they are called, and help that lists them in sections."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from clew.commands.number_bounds import bound_numbers
from clew.commands.record_options import expand_records
from clew.commands.verbosity import raise_level, set_quiet

HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
_ASKING = frozenset({"search", "evaluate", "explain", "serve", "chat", "open"})  # modules that answer questions
_OTHERS = "Other"


class LazyCommand(TyperCommand):
    """A command as its name and one line of help; `load` imports the rest."""

    def __init__(self, name: str, target: str, help_line: str) -> None:
        super().__init__(name, help=help_line, context_settings=dict(HELP_OPTIONS))
        self._target = target

    def load(self) -> Any:
        """Return the command with its options."""
        module, _, function = self._target.partition(":")
        if module in _ASKING:
            # Threads of a product of small matrices wait for each other on a busy machine. numpy reads this when it is
            # loaded.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command = getattr(import_module(f"clew.commands.{module}"), function)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(self.name, context_settings=dict(HELP_OPTIONS))(expand_records(command))
        loaded: Any = typer.main.get_command(app)
        bound_numbers(loaded.params)
        loaded.params += verbosity_options()
        return loaded


class LazyGroup(TyperGroup):
    """A group that loads a command when it is called, or when the options of that command are asked for.

    `sections` are the headings of its help with the names of their commands; those in none stand below "Other", and
    where there are no sections all stand below "Commands".
    """

    sections: Mapping[str, Sequence[str]] = {}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name, the loaded command and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature is that of the base
        """Write the commands by section, with whole sentences."""
        placed = {name for names in self.sections.values() for name in names}
        rest = [name for name in self.commands if name not in placed]
        sections = {**self.sections, (_OTHERS if self.sections else "Commands"): rest}
        widest = max(map(len, self.commands), default=0)
        for heading, names in sections.items():
            rows = [(name, self.commands[name].help or "") for name in names if name in self.commands]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(widest), line) for name, line in rows])


def verbosity_options() -> list[Any]:
    """Return the options `-v` and `-q`, which every command has."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(_take_verbosity)
    command: Any = typer.main.get_command(app)
    return [parameter for parameter in command.params if parameter.name != "help"]


def _take_verbosity(
    verbose: Annotated[
        int,
        typer.Option(
            "-v",
            "--verbose",
            count=True,
            expose_value=False,
            callback=raise_level,
            show_default=False,
            help="Say more on standard error; -vv says all.",
        ),
    ] = 0,
    quiet: Annotated[
        bool,
        typer.Option(
            "-q",
            "--quiet",
            expose_value=False,
            callback=set_quiet,
            help="No notes and no progress on standard error; results, errors and failures stay.",
        ),
    ] = False,
) -> None: ...


class ListingGroup(LazyGroup):
    """A group that lists, where no command of it is named: `clew entities --duplicates`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, those of `list` where an option stands first."""
        is_option = bool(args) and args[0].startswith("-") and args[0] not in ctx.help_option_names
        return super().parse_args(ctx, ["list", *args] if is_option else args)
