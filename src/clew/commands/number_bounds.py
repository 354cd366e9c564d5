"""Upper bounds of the numbers on the command line: those that an option states, else general ones."""

import math
from collections.abc import Iterable
from typing import Any

from clew.errors import InputError


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
