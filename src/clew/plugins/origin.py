"""Objects of somebody else: what messages call them, and checks of what their code raises and returns."""

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from clew.errors import InputError
from clew.plugins.arguments import check_members, describe_value
from clew.types import Scored

_log = logging.getLogger(__name__)
_OWN = "clew."
ERRORS = (
    *(ImportError, AttributeError, LookupError, OSError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(ArithmeticError, AssertionError),
)
"""Errors that the code of another package raises by mistake."""


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
