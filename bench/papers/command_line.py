"""Command lines of the papers' scripts: types of their options, and how bad input ends them.

Bad input is one line on standard error and exit code 2, as of `clew` itself: a parser of `make_parser` prints what it
refuses so, and `run_program` what is raised later.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from clew.errors import ClewError, InputError, MissingPackageError
from clew.models.encoders.registry import open_encoder
from clew.models.llm.providers import MODELS, parse_model_name
from clew.models.threads import choose_device
from clew.plugins.extras import describe_missing
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from clew.text.display import hide_users


class ScriptParser(argparse.ArgumentParser):
    """Parser that prints what it refuses in one line, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        """Print a message and exit with code 2."""
        exit_with_error(self.prog, f"{message} (see {self.prog} --help)", 2)


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of a script, whose description is printed as it is."""
    formatter = argparse.RawDescriptionHelpFormatter
    return ScriptParser(description=description, formatter_class=formatter)


def run_program(main: Callable[[], None]) -> None:
    """Run a script; an error that Clew raises, or a missing package, ends it with one line and its exit code."""
    try:
        main()
    except ClewError as error:
        exit_with_error(Path(sys.argv[0]).name, str(error), error.exit_code)
    except ImportError as error:
        if not (message := describe_missing(error)):
            raise
        exit_with_error(Path(sys.argv[0]).name, message, MissingPackageError.exit_code)


def exit_with_error(program: str, message: str, code: int) -> NoReturn:
    """Print one line, passwords in addresses left out, and exit."""
    sys.stdout.flush()
    print(f"{program}: {hide_users(' '.join(message.split()))}", file=sys.stderr)
    sys.exit(code)


def check_options(parser: argparse.ArgumentParser, given: argparse.Namespace, tables: Mapping[str, str]) -> None:
    """End the script where an option is given that the table does not read; `tables` has the tables of each option."""
    for option, readers in tables.items():
        if getattr(given, option) != parser.get_default(option) and given.table not in readers.split():
            name = option.replace("_", "-")
            parser.error(f"--{name} is for {readers.replace(' ', ', ')}, and the table is {given.table}: leave it out")


def fill_missing(given: argparse.Namespace, defaults: Mapping[str, object]) -> None:
    """Set the options that were not given."""
    for option, value in defaults.items():
        if getattr(given, option) is None:
            setattr(given, option, value)


def whole_number(text: str) -> int:
    """Return a whole number of at least 1."""
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r}: wanted a whole number of at least 1")
    return int(text)


def whole_numbers(text: str) -> list[int]:
    """Return whole numbers of at least 1, by commas."""
    return [whole_number(part.strip()) for part in text.split(",")]


def positive_number(text: str) -> float:
    """Return a number above 0."""
    value = _number(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r}: wanted a number above 0, such as 0.0001")
    return value


def shares_between(low: float, high: float, *, with_low: bool) -> Callable[[str], list[float]]:
    """Return a type of a command-line argument: numbers up to `high`, by commas, from `low` or above it."""

    def read(text: str) -> list[float]:
        values = [_number(part) for part in text.split(",")]
        if not all(low < value <= high or (with_low and value == low) for value in values):
            wanted = f"from {low:g} to {high:g}" if with_low else f"above {low:g}, up to {high:g}"
            raise argparse.ArgumentTypeError(f"{text!r}: wanted numbers {wanted}, by commas")
        return values

    return read


def split_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of an option, for example (0, 1, 2) of "0,1,2"; each is one run, and figures are their means."""
    seeds = tuple(int(part) if part.strip().isdecimal() else -1 for part in text.split(","))
    if min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise argparse.ArgumentTypeError(f"{text!r}: wanted whole numbers by commas, each once, for example 0,1,2")
    return seeds


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """Return a type of a command-line argument: one of some names."""

    def check(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(known)}")
        return text

    return check


def some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a type of a command-line argument: some of the names, by commas."""
    check = one_of(known)
    return lambda text: [check(name) for name in text.split(",")]


def existing_folder(text: str) -> Path:
    """Return a folder, which has to exist."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no folder: give one that clew train has written")
    return Path(text)


def retriever(text: str) -> str:
    """Return a retriever as `clew` names it, for example gfm:nodes=all."""
    return _accepted(parse_retriever, text)


def retrievers(text: str) -> list[str]:
    """Return retrievers, by commas."""
    return [retriever(name) for name in split_list(text)]


def encoders(text: str) -> list[str]:
    """Return names of encoders, by commas; none is loaded."""
    return [_accepted(open_encoder, name) for name in text.split(",")]


def model(text: str) -> str:
    """Return PROVIDER:NAME of a language model, "" for none; no key is looked for."""
    return text if not text or text.partition(":")[0] in MODELS else _accepted(parse_model_name, text)


def device(text: str) -> str:
    """Return a device of this machine: cpu, cuda or mps."""
    try:
        return choose_device(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _accepted(check: Callable[[str], object], text: str) -> str:
    """Return a text that a function of Clew accepts."""
    try:
        check(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number") from None
