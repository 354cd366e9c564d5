"""Commands that are imported when they are called, help that lists them in sections, and commands of other packages.

The help of a command shows at most `SHOWN_OPTIONS` options; `--help-all` shows all.
"""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from clew.commands.output import raise_level, set_quiet
from clew.commands.record_options import expand_records
from clew.errors import InputError
from clew.text.display import format_count

SHOWN_OPTIONS = 12
HELP_OPTIONS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}
_ASKING = frozenset({"search", "evaluate", "serve", "chat", "open"})  # modules that answer questions
_OTHERS = "Other"
HELP_ALL = "--help-all"
_WRITING = "clew.writes_help"  # in the meta of a context: its help is being written


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command of an installed package, which adds it by an entry point of the group `clew.commands`.

    The entry point has the name of the command, with the group before it and a dot for one of a group: `train.gfm`.
    """

    target: str  # the place of a function of Typer's kind, `module:function`, imported when the command is called
    help_line: str  # the first sentence of its help


class LazyCommand(TyperCommand):
    """A command as its name and one line of help; `load` imports the rest."""

    def __init__(self, name: str, target: str, help_line: str) -> None:
        super().__init__(name, help=help_line, context_settings=dict(HELP_OPTIONS))
        self._target = target

    def load(self) -> Any:
        """Return the command with its options."""
        module, _, function = self._target.partition(":")
        place = module if "." in module else f"clew.commands.{module}"
        if module in _ASKING:
            # Threads of a product of small matrices wait for each other on a busy machine. numpy reads this when it is
            # loaded.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        command = getattr(import_module(place), function)
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(self.name, cls=ShortHelpCommand, context_settings=dict(HELP_OPTIONS))(expand_records(command))
        loaded: Any = typer.main.get_command(app)
        bound_numbers(loaded.params)
        loaded.params += verbosity_options()
        return loaded


def bound_numbers(parameters: Iterable[Any]) -> None:
    """Let the options and arguments of a loaded command that take a number refuse what none can mean.

    An option that states no upper bound takes whole numbers up to `MAX_COUNT`, and others up to `MAX_AMOUNT`; no number
    may be infinite or none at all. Help does not name these bounds.
    """
    for parameter in parameters:
        if parameter.callback is None and parameter.type_descriptor.annotation in (int, float):
            parameter.callback = _check_number


def _check_number(context: Any, parameter: Any, value: float | None) -> float | None:
    """Return a number that is within the bounds, or None; raise InputError for any other."""
    del context
    if value is None:
        return None
    from clew.plugins.records import MAX_AMOUNT, MAX_COUNT  # imports pydantic, which a list of commands can do without

    general = MAX_COUNT if isinstance(value, int) else MAX_AMOUNT
    upper = general if parameter.max is None else parameter.max
    if not -math.inf < value <= upper:  # never true of a value that is no number
        raise InputError(f"{_spelling(parameter)} is {value!s:.40}; wanted a number of at most {upper:,.15g}")
    return value


def _spelling(parameter: Any) -> str:
    name: str = parameter.opts[0]
    return name if name.startswith("-") else str(parameter.name).upper()


class ShortHelpCommand(TyperCommand):
    """A command whose help shows its first options, and with `--help-all` all of them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; `--help-all` prints the whole help and ends the command."""
        if HELP_ALL in args:
            ctx.meta[HELP_ALL] = True
            args = ["--help"]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, without the options that a short help leaves out while it is written."""
        params: list[Any] = super().get_params(ctx)
        if not ctx.meta.get(_WRITING) or ctx.meta.get(HELP_ALL):
            return params
        options = [one for one in params if one.param_type_name == "option" and not one.hidden]
        left_out = options[SHOWN_OPTIONS:] if len(options) > SHOWN_OPTIONS else []
        return [one for one in params if one not in left_out]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, and how many are left out."""
        total = sum(one.param_type_name == "option" and not one.hidden for one in self.get_params(ctx))
        ctx.meta[_WRITING] = True
        try:
            super().format_options(ctx, formatter)
        finally:
            ctx.meta[_WRITING] = False
        if total > SHOWN_OPTIONS and not ctx.meta.get(HELP_ALL):
            formatter.write_paragraph()
            formatter.write_text(f"{total - SHOWN_OPTIONS} more options: {ctx.command_path} {HELP_ALL}")


class LazyGroup(TyperGroup):
    """A group that loads a command when it is called, or when the options of that command are asked for.

    `sections` are the headings of its help with the names of their commands; those in none stand below "Other" with
    `--help-all`, and where there are no sections all stand below "Commands".
    """

    sections: Mapping[str, Sequence[str]] = {}
    add_installed: Callable[[], None] | None = None  # adds the commands of installed packages, once they are needed

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; `--help-all` in the place of a command lists all of them."""
        if args[:1] == [HELP_ALL]:
            ctx.meta[HELP_ALL] = True
            args = ["--help"]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command by name; those of installed packages are looked up where this package has none."""
        found = super().get_command(ctx, cmd_name)
        if found is None:
            self.load_installed()
            found = super().get_command(ctx, cmd_name)
        return found

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, those of installed packages too."""
        self.load_installed()
        return super().list_commands(ctx)

    def load_installed(self) -> None:
        """Add the commands of installed packages, unless that was done."""
        add, self.add_installed = self.add_installed, None
        if add is not None:
            add()

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name, the loaded command and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, LazyCommand) else command, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by section, with whole sentences."""
        self.load_installed()
        placed = {name for names in self.sections.values() for name in names}
        rest = [name for name in self.commands if name not in placed]
        is_whole = not self.sections or ctx.meta.get(HELP_ALL)
        sections = {**self.sections, **({_OTHERS if self.sections else "Commands": rest} if is_whole else {})}
        widest = max(map(len, self.commands), default=0)
        for heading, names in sections.items():
            rows = [(name, self.commands[name].help or "") for name in names if name in self.commands]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(widest), line) for name, line in rows])
        if not is_whole and rest:
            formatter.write_paragraph()
            formatter.write_text(f"{format_count(len(rest), 'more command')}: {ctx.command_path} {HELP_ALL}")


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
