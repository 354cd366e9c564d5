"""The command line. Results go to standard output, progress and errors to standard error; exit codes: see `errors`.

The module of a command is imported when the command is called, so that no command pays for another one's imports. To
add a command, write its function and add its line to `_FUNCTIONS` or `GROUPS`; or add an entry point of the group
`clew.commands` in a package of your own, whose value is a `CommandEntry`.
"""

import os
import re
import sys
from types import TracebackType
from typing import Annotated, NoReturn

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from clew.commands import exit_without_collection
from clew.commands.lazy import HELP_OPTIONS, CommandEntry, LazyCommand, LazyGroup, ListingGroup, verbosity_options
from clew.commands.output import log_on_stderr
from clew.errors import ClewError, MissingPackageError
from clew.plugins.extras import describe_missing
from clew.plugins.registry import Registry
from clew.text.display import hide_users

SECTIONS = {
    "Every day": ("index", "search", "ask", "chat", "open", "remove"),
    "Inspect and correct": ("stats", "doctor", "verify", "repair", "compact", "entities", "conflicts"),
    "Servers": ("serve", "keys"),
    "Graphs": ("kg",),
    "Evaluate and train": ("retrievers", "eval", "adapt", "train"),
}
"""Headings of `clew --help`, with their commands."""

_FUNCTIONS = {
    "index:index": "Add documents to an index, creating it if there is none; unchanged documents cost nothing.",
    "search:search": "Find the passages that together answer a question, and the paths that join them.",
    "search:ask": "Answer a question with quoted, cited sentences; without a language model none is made up.",
    "chat:chat": 'Ask one question after the other; "its", "he" and "the same ship" are taken from what was said '
    "before.",
    "open:open_": "Say what an index holds: counts, languages, fields for --where, names, and questions that it can "
    "answer.",
    "conflicts:conflicts": "List what documents say differently: what replaced what and since when, and "
    "contradictions; nothing is changed.",
    "evaluate:eval_": "Evaluate retrievers side by side on questions whose evidence is known.",
    "retrievers:retrievers": "List the retrievers and what each needs, or print the settings of one.",
    "serve:serve": "Answer questions over HTTP and MCP, from any number of indexes, and take documents.",
    "maintain:stats": "Print what an index holds and the settings it was made with.",
    "doctor:doctor": "Check this installation: packages, folders, settings, and an index if there is one; exit 1 for "
    "a fault.",
    "maintain:remove": "Remove documents and imported graphs, and all that was extracted from them.",
    "maintain:verify": "Read every row and every derived file that a search uses, and check them; exit 1 when damage "
    "is found.",
    "maintain:repair": "Repair a damaged index with the least loss, by an older version or without what is damaged; "
    "it asks first.",
    "maintain:restore": "Make an older version the newest one, or list the versions that are there.",
    "maintain:reencode": "Give all passages the vectors of another encoder, in one new version; nothing is extracted "
    "again.",
    "maintain:compact": "Rewrite many small files as few, and drop older versions.",
    "keys:keys": "List the keys of a server with what each allows; or make one, which is printed this once, or "
    "remove some.",
    "cache:cache": "List the replies of language models that are stored beside an index, by model and prompt; or "
    "drop them.",
    "train:adapt": "Tune gfm on your own documents, without labels; the weights are stored if they win on held-out "
    "questions.",
}
"""The functions of commands, by modules of `clew.commands`, with the first sentences of their help."""

COMMANDS = {target.partition(":")[2].rstrip("_"): (target, line) for target, line in _FUNCTIONS.items()}
"""By name, which is that of the function: the function, and the first sentence of the help."""

GROUPS = {
    "train": (
        "Train weights on your own data.",
        {
            "router": (
                "train:router",
                "Train the hop predictor of frag on logs of clew ask --feedback.",
            ),
            "extractor": (
                "train:extractor",
                "Train the names that learned finds; use it by clew index --extractor learned:FOLDER.",
            ),
            "reader": (
                "train:reader",
                "Train the reader of clew ask on questions of your own, with their answers.",
            ),
        },
    ),
    "entities": (
        "List the entities of an index, and correct them: merge, split, rename and forget; all can be undone.",
        {
            "list": (
                "entities:list_entities",
                "List entities by name, those that may be duplicates or several, or the decisions on them.",
            ),
            "merge": ("entities:merge", "Make several entities one, which is found by all of their names."),
            "split": ("entities:split", "Make the mentions of an entity in some passages another entity."),
            "rename": ("entities:rename", "Give an entity another name; it is found by the old one, too."),
            "forget": ("entities:forget", "Take an entity out of the graph: its mentions link nothing any more."),
            "undo": ("entities:undo", "Undo a decision, by default the last that is in force; it stays in the log."),
        },
    ),
    "kg": (
        "Import graphs of triples, with documents or alone.",
        {
            "import": (
                "graphs:import_graph",
                "Import a graph, replacing the one of its name; an index is created if there is none.",
            ),
        },
    ),
}
"""By name: the help of a group, and its commands."""

_WRONG_VALUE = re.compile(r"Input should be (?:a )?(.+)")
_QUESTION, _EXTRA_WORDS = "question", "unexpected extra argument"
_COMPLETION = "_CLEW_COMPLETE"
"""Environment variable by which a shell asks for completions."""


def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Print the help if no command is given."""
    if version:
        from importlib.metadata import version as installed_version

        print(f"clew {installed_version('clew')}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def root_command() -> TyperGroup:
    """Return the command `clew`; its commands and those of its groups are not loaded yet."""
    app = typer.Typer(
        name="clew",
        cls=LazyGroup,
        help="Multi-hop retrieval: documents in, cited evidence out. Needs no language model and no network.",
        callback=start,
        invoke_without_command=True,
        rich_markup_mode=None,
        context_settings=dict(HELP_OPTIONS),
    )
    root = typer.main.get_command(app)
    assert isinstance(root, LazyGroup)
    root.sections = SECTIONS
    root.params += verbosity_options()
    for name, (target, help_line) in COMMANDS.items():
        root.add_command(LazyCommand(name, target, help_line))
    for name, (help_line, commands) in GROUPS.items():
        lazy = [LazyCommand(own, target, line) for own, (target, line) in commands.items()]
        group = ListingGroup if name == "entities" else LazyGroup
        own = group(
            name=name, help=help_line, commands=lazy, rich_markup_mode=None, context_settings=dict(HELP_OPTIONS)
        )
        root.add_command(own)
    for one in (root, *(command for command in root.commands.values() if isinstance(command, LazyGroup))):
        one.add_installed = lambda: _add_installed_commands(root)
    return root


def _add_installed_commands(root: LazyGroup) -> None:
    """Add the commands of installed packages; one that has a name of this package is left out, with a warning."""
    registry = Registry("command", "clew.commands", dict.fromkeys(_own_names(), _OWN_COMMAND), CommandEntry)
    for path, entry in registry.usable_entries().items():
        if entry is _OWN_COMMAND:
            continue
        group_name, dot, name = path.rpartition(".")
        target = root
        if dot:
            group = root.commands.get(group_name)
            if not isinstance(group, LazyGroup):
                group = LazyGroup(
                    name=group_name,
                    help=f"Commands of an installed package: {group_name}.",
                    rich_markup_mode=None,
                    context_settings=dict(HELP_OPTIONS),
                )
                root.add_command(group)
            target = group
        if name not in target.commands:
            target.add_command(LazyCommand(name, entry.target, entry.help_line))


_OWN_COMMAND = CommandEntry("", "")
"""Stands for a command of this package among those of installed ones."""


def _own_names() -> list[str]:
    """Return the names of this package's commands, with a dot for those of groups."""
    return [*COMMANDS, *(f"{group}.{name}" for group, (_, own) in GROUPS.items() for name in own)]


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 1 something outside failed, 2 bad input (see `errors`)."""
    exit_without_collection()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a letter that a terminal lacks must not stop a search
    sys.excepthook = report_bug
    root = root_command()
    if _COMPLETION in os.environ:
        root.main(prog_name="clew")
    try:
        # Not `root()`: that ends the process by itself, and without a message, on Ctrl-C and on a closed pipe.
        with log_on_stderr(), root.make_context("clew", sys.argv[1:]) as context:
            root.invoke(context)
        sys.stdout.flush()
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except ClewError as error:
        _exit_with_error(str(error), error.exit_code)
    except ImportError as error:
        if not (message := describe_missing(error)):
            raise
        _exit_with_error(message, MissingPackageError.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _exit_with_error("stopped; what was committed is stored, and the same command goes on from there", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the exit flushes into the closed pipe again
    except TyperException as error:
        _exit_with_error(_describe_usage_error(error), 2)
    sys.exit(0)


def _describe_usage_error(error: TyperException) -> str:
    """Return what is wrong with the words of a command line, and what to do."""
    # pydantic, which checks the values of options, puts this before messages of its own.
    message = _name_value(error, error.format_message().replace("Value error, ", ""))
    context = getattr(error, "ctx", None)
    path = "clew" if context is None else context.command_path
    if context is not None and _EXTRA_WORDS in message:
        if any(parameter.name == _QUESTION for parameter in context.command.params):
            return f'{message}: put the question in quotes, as in {path} "Who led the expedition?"'
        if path == "clew eval":
            return f"{message}: --json prints the figures and takes no file; write them to one by --out FILE"
    return f"{message} (see {path} --help)"


def _name_value(error: TyperException, message: str) -> str:
    """Return a message on a value of a wrong kind or size with the value that was given, and what is wanted."""
    wanted = _WRONG_VALUE.search(message)
    parameter = getattr(error, "param", None)
    if wanted is None or parameter is None:
        return message
    for at, word in enumerate(sys.argv):
        option, is_joined, value = word.partition("=")
        if option in parameter.opts and (is_joined or at + 1 < len(sys.argv)):
            return f"{option} is {value if is_joined else sys.argv[at + 1]!r}; wanted {_describe_wanted(wanted[1])}"
    return message


def _describe_wanted(text: str) -> str:
    kinds = {"valid integer": "a whole number", "valid number": "a number", "valid boolean": "true or false"}
    kind = next((words for part, words in kinds.items() if part in text), "")
    if kind:
        return kind
    return text.replace("greater than or equal to", "a number of at least").replace(
        "less than or equal to", "a number of at most"
    )


def report_bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print one line for an error that nothing else handles, and where its traceback was written.

    The exit code is 1, as of every error that Python itself ends a program with.
    """
    import tempfile
    import traceback

    lines = traceback.format_exception(kind, error, trace)
    try:
        handle, name = tempfile.mkstemp(prefix="clew-error-", suffix=".log")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as log:
            log.write("".join(lines))
        where = f"its traceback is in {name}"
    except OSError:
        where = "".join(lines)  # better than none
    line = f"clew: {kind.__name__}, which is a fault of Clew: please report it; {where}"
    print("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in line), file=sys.stderr)


def _exit_with_error(message: str, code: int) -> NoReturn:
    """Print one line, unprintable characters as escapes and passwords in addresses left out, and exit."""
    line = hide_users(" ".join(message.split()))
    printable = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    print(f"clew: {printable}", file=sys.stderr)
    sys.exit(code)
