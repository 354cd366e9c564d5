"""Checks of arguments from Python: a string is no list of its letters, and no number is a question."""

from collections.abc import Iterable, Mapping
from operator import index
from os import PathLike
from typing import SupportsIndex

from clew.errors import InputError

FROM_PYTHON = "python:"
"""Before the name of what was given as an object, and cannot be opened by name."""


def check_strings(values: object, name: str, *, paths: bool = False) -> None:
    """Raise InputError unless `values` is a sequence of strings, or with `paths` of strings and paths.

    A single string is refused: it would be read letter by letter. `name` is that of the argument.
    """
    kind = "strings or paths" if paths else "strings"
    if isinstance(values, str | bytes | PathLike):
        raise InputError(f"{name} is {values!r:.80}, a single one; give a list of {kind}: [{values!r:.80}]")
    if not isinstance(values, Iterable) or isinstance(values, Mapping) or not hasattr(values, "__len__"):
        raise InputError(f"{name} is {describe_value(values)}; give a list of {kind}")
    for value in values:
        if not isinstance(value, str) and not (paths and isinstance(value, PathLike)):
            raise InputError(f"{name} holds {describe_value(value)}; give {kind} alone")


def check_string(value: object, name: str, *, optional: bool = False) -> None:
    """Raise InputError unless a value is a string, or None where it is `optional`."""
    if not isinstance(value, str) and not (optional and value is None):
        raise InputError(f"{name} is {describe_value(value)}; give a string{' or None' if optional else ''}")


def check_count(value: object, name: str, *, optional: bool = False, least: int | None = None) -> None:
    """Raise InputError unless a value is a whole number, or None where it is `optional`; True is none.

    With `least`, a smaller number is refused.
    """
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InputError(f"{name} is {describe_value(value)}; give a whole number")
    if least is not None and index(value) < least:
        raise InputError(f"{name} is {index(value)}; give {least} or more")


def check_switch(value: object, name: str) -> None:
    """Raise InputError unless a value is True or False: any text, "no" too, would be taken for yes."""
    if not isinstance(value, bool):
        raise InputError(f"{name} is {describe_value(value)}; give True or False")


def describe_value(value: object) -> str:
    """Return the type of an argument and the beginning of its value, for an error."""
    return "None" if value is None else f"{type(value).__name__} {value!r:.80}"


def check_members(given: object, kind: str, members: Mapping[str, type | None]) -> None:
    """Raise InputError unless an object has some members: values of a type, or methods where that is None.

    A class in the place of its object is refused. `kind` is that of the object, for messages.
    """
    if isinstance(given, type):
        raise InputError(f"the {kind} is the class {given.__name__}; give an object of it: {given.__name__}(...)")
    for name, wanted in members.items():
        if not hasattr(given, name):
            raise InputError(f"the {kind} is {describe_value(given)}, which has no {name}; give all of {list(members)}")
        value = getattr(given, name)
        if not (callable(value) if wanted is None else isinstance(value, wanted)):
            described = "a method" if wanted is None else f"of type {wanted.__name__}"
            raise InputError(
                f"{name} of the {kind} {type(given).__name__} is {describe_value(value)}; wanted {described}"
            )
