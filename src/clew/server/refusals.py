"""Refusals: why a request is not answered, as a status and a sentence; HTTP and MCP each put them in their own form."""

import logging
from typing import Any

from clew.errors import BudgetError, ClewError, IndexFormatError, IndexLockedError, InputError, MissingPackageError

_MAX_INPUT = 60
_log = logging.getLogger("clew.server")
SERVER_FAULT = 500
"""Refusals of this status and above are not the client's fault."""


class Refusal(ClewError):  # noqa: N818 - it is an answer
    """A request that is not answered.

    Attributes:
        status: The HTTP status.
        detail: One sentence for the person or program that asked.
        kind: A short name of the reason, "" where the status says it all.
        retry_after: Seconds after which the same request may be answered, 0 where that is not known.
    """

    def __init__(self, status: int, detail: str, kind: str = "", retry_after: int = 0) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.kind = kind
        self.retry_after = retry_after


def report_error(error: ClewError, place: str) -> Refusal:
    """Return the refusal for an error of the library; what it does not tell the client is written to the log.

    Errors of the installation or of a disk are reported without their text, which may name files of this machine.
    """
    if isinstance(error, Refusal):
        return error
    refusal = _describe(error)
    if refusal.status >= SERVER_FAULT:
        _log.error("%s: %s", place, error)
    return refusal


def _describe(error: ClewError) -> Refusal:
    if isinstance(error, IndexFormatError | MissingPackageError):
        return Refusal(503, "the index cannot be read now; the server's log says why", "unreadable")
    if isinstance(error, InputError):
        return Refusal(400, str(error), "input")
    if isinstance(error, IndexLockedError):
        return Refusal(503, "the index is being written by another process; try again", "locked", 5)
    if isinstance(error, BudgetError):
        return Refusal(503, "the budget for language models is spent", "budget")
    return Refusal(502, "something that the answer needs failed; the server's log says what", "provider")


def describe_validation(errors: Any) -> str:
    """Return the first of some validation errors in words."""
    first = errors[0]
    place = ".".join(str(part) for part in first["loc"])
    seen = first.get("input")
    shown = f" (seen: {str(seen)[:_MAX_INPUT]!r})" if isinstance(seen, str | int | float | bool) else ""
    more = f"; {len(errors) - 1} more are wrong" if len(errors) > 1 else ""
    return f"{place}: {str(first['msg']).replace('Value error, ', '')}{shown}{more}"


def unknown(what: str, name: str) -> Refusal:
    """Return the refusal of something that does not exist, or that the key may not see."""
    return Refusal(404, f"there is no {what} {name[:200]!r} here", f"no-{what}")
