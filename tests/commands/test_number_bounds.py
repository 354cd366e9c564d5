"""Every number on the command line has bounds: what is beyond them is one line and exit code 2, before any work."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.exceptions import TyperException

from clew.commands.app import main, root_command
from clew.commands.evaluate import parse_cutoffs
from clew.commands.lazy import LazyCommand
from clew.errors import ClewError, InputError
from clew.plugins.records import MAX_AMOUNT, MAX_COUNT
from clew.query.context import MAX_PATHS_PER_PASSAGE
from tests.small_index import make_index

BEYOND = ("10000000000000", "-10000000000000", "1" + "0" * 400, "nan", "inf", "-inf", "1e300")
RECORDS = ("train", "adapt", "compare")  # their records have bounds that exclude their value: test_training_bounds.py


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command.load() if isinstance(command, LazyCommand) else command


def is_number(parameter: Any) -> bool:
    return parameter.type_descriptor.annotation in (int, float) and not getattr(parameter, "count", False)


NUMBERS = [
    (path, command, parameter)
    for path, command in commands(root_command())
    for parameter in command.params
    if hasattr(parameter, "type_descriptor") and is_number(parameter)
]


def refusal(command: Any, parameter: Any, value: str) -> str:
    """Return the line by which a command refuses a value of a parameter, "" where it takes it."""
    words = [parameter.opts[0], value] if parameter.opts[0].startswith("-") else ["--", value]
    parser = command.make_parser(context := command.context_class(command, info_name="clew"))
    given, _, _ = parser.parse_args(args=words)
    try:
        parameter.handle_parse_result(context, given, [])
    except TyperException as error:
        return error.format_message()
    except InputError as error:
        return str(error)
    return ""


def test_the_numbers_of_all_commands_are_found() -> None:
    assert len(NUMBERS) > 40
    assert {"search", "serve", "train", "index", "restore", "cache"} <= {path[0] for path, _, _ in NUMBERS}


@pytest.mark.parametrize("value", BEYOND)
def test_what_no_number_can_mean_is_refused_in_one_line(value: str) -> None:
    for path, command, parameter in NUMBERS:
        if value.startswith("-") and path[0] in RECORDS and parameter.min is None:
            continue
        message = refusal(command, parameter, value)
        assert message, (path, parameter.name)
        assert "\n" not in message
        assert len(message) < 600


def test_a_number_below_zero_is_refused() -> None:
    for path, command, parameter in NUMBERS:
        if path[0] not in RECORDS or parameter.min is not None:
            assert parameter.min is not None, (path, parameter.name)
            assert refusal(command, parameter, "-1"), (path, parameter.name)


def test_the_largest_numbers_are_taken() -> None:
    for path, command, parameter in NUMBERS:
        general = MAX_COUNT if parameter.type_descriptor.annotation is int else MAX_AMOUNT
        largest = general if parameter.max is None else parameter.max
        assert not refusal(command, parameter, str(largest)), (path, parameter.name)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("search", "Who?", "-k", "10000000000"), "-k is 10000000000; wanted a number of at most 1,000,000,000"),
        (("search", "Who?", "-k", "0"), "-k is '0'; wanted a number of at least 1"),
        (("search", "Who?", "--paths", "1000000000"), "--paths is '1000000000'; wanted a number of at most 100"),
        (("search", "Who?", "--max-cost", "nan"), "--max-cost is 'nan'; wanted a number of at"),
        (("restore", "10000000000"), "VERSION is 10000000000; wanted a number of at most 1,000,000,000"),
        (("index", ".", "--poll", "inf"), "--poll is 'inf'; wanted a number of at most 86400"),
    ],
)
def test_the_command_ends_with_code_2(
    words: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_index(tmp_path / "index", ())
    monkeypatch.setattr(sys, "argv", ["clew", *words, "--index", str(tmp_path / "index")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]


@pytest.mark.parametrize("text", ["10000000000", "5,-1", "nan"])
def test_cutoffs_have_bounds(text: str) -> None:
    with pytest.raises(InputError, match="--k is"):
        parse_cutoffs(text)


def test_paths_have_one_bound_on_the_command_line_and_in_python(tmp_path: Path) -> None:
    bounds = {parameter.max for _, _, parameter in NUMBERS if parameter.name == "paths"}
    assert bounds == {MAX_PATHS_PER_PASSAGE}
    with pytest.raises(ClewError, match="ask for 0 to 100 a passage"):
        make_index(tmp_path, ()).context.with_paths_per_passage(10**13)
