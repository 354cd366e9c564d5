"""`clew help`, which prints what `clew COMMAND --help` does."""

from typing import Annotated, Any

import typer

from clew.commands.lazy import HELP_OPTIONS
from clew.errors import InputError
from clew.plugins.names import nearest


def show_help(
    command: Annotated[list[str] | None, typer.Argument(help="The command, such as search, or train gfm.")] = None,
) -> None:
    """Print the help of a command, as --help does; without one, the list of all."""
    from clew.commands.app import root_command

    shown: Any = root_command()
    context = typer.Context(shown, info_name="clew", **HELP_OPTIONS)
    for name in command or ():
        commands = getattr(shown, "commands", {})
        if name not in commands:
            close = nearest(name, commands)
            hint = f"did you mean {close}?" if close else "clew --help lists them"
            raise InputError(f"there is no command {' '.join(command or ())!r}; {hint}")
        _, shown, _ = shown.resolve_command(context, [name])
        context = typer.Context(shown, info_name=name, parent=context, **HELP_OPTIONS)
    print(shown.get_help(context))
