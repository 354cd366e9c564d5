"""Checks of arguments from Python, and of objects of somebody else: what their code has, raises and returns."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from os import PathLike
from typing import Any, SupportsIndex

from clew.errors import InputError
from clew.types import Scored

_log = logging.getLogger(__name__)
_OWN = "clew."
ERRORS = (
    *(ImportError, AttributeError, LookupError, OSError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(ArithmeticError, AssertionError),
)
"""Errors that the code of another package raises by mistake."""
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


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an object comes from: an entry of a registry, or a program that gives it."""

    label: str  # for messages: "answerer title of their_package:ANSWERER", "answerer TitleAnswerer"
    is_installed: bool = False  # whether an installed package adds it, which its user did not write

    @contextmanager
    def map_errors(self) -> Iterator[None]:
        """Raise errors of an installed package's code as an InputError that names it; those of a program pass."""
        try:
            yield
        except BrokenPipeError:  # of the output that a callback writes to
            raise
        except ERRORS as error:
            if not self.is_installed:
                raise
            _log.debug("the %s raised", self.label, exc_info=True)
            raise InputError(
                f"the {self.label} raised {type(error).__name__}: {error}; it is a fault of that package: use another"
            ) from error

    def check_results(self, returned: object, count: int, kinds: tuple[type, ...], method: str) -> list[Any]:
        """Return what a method returned, if it is a list of `count` results, each of one of the kinds; else InputError.

        `method` is its name, for messages.
        """
        wanted = f"wanted a list of {count}, each {' or '.join(kind.__name__ for kind in kinds)}"
        if not isinstance(returned, list | tuple):
            raise InputError(f"{method} of the {self.label} returned {describe_value(returned)}; {wanted}")
        if len(returned) != count:
            raise InputError(f"{method} of the {self.label} returned {len(returned)} results; {wanted}")
        for number, one in enumerate(returned):
            self.check_part(one, kinds, method, f"result {number}")
        return list(returned)

    def check_part(self, value: object, kinds: tuple[type, ...], method: str, part: str) -> None:
        """Raise InputError unless a part of what a method returned is of one of the kinds."""
        if not isinstance(value, kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise self.wrong_part(method, part, describe_value(value), wanted)

    def check_scored(self, found: object, method: str) -> None:
        """Raise InputError unless a passage of the evidence that a method returned has a finite number as score."""
        self.check_part(found, (Scored,), method, "a passage of the evidence")
        score = getattr(found, "score", None)
        if not isinstance(score, float | int) or not math.isfinite(score):
            raise self.wrong_part(method, "the score of a passage", repr(score), "a finite number")

    def wrong_part(self, method: str, part: str, seen: str, wanted: str) -> InputError:
        """Return the error for a part of what a method returned."""
        return InputError(f"{method} of the {self.label}: {part} is {seen}; wanted {wanted}")


def origin_of(given: object, kind: str) -> Origin:
    """Return the origin of an object that a program gives as a thing of some kind."""
    return Origin(f"{kind} {type(given).__name__}")


def check_given(given: object, kind: str, members: Mapping[str, type | None], origin: Origin | None) -> Origin:
    """Return where an object comes from: `origin`, or None for a program that gives it as a thing of some kind.

    Raises InputError where it lacks one of the members, as `check_members` has them.
    """
    check_members(given, kind if origin is None else origin.label, members)
    return origin_of(given, kind) if origin is None else origin


def is_own(given: object) -> bool:
    """Return whether the class of an object is one of this package."""
    return type(given).__module__.startswith(_OWN)


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
