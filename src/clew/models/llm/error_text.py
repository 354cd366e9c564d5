"""Errors of providers as one line for people, without credentials and without the fields that only programs read."""

import re

_MAX_LINE_CHARACTERS = 300
_URL_CREDENTIALS = re.compile(r"//[^/@\s]*@")


def describe_error(error: Exception) -> str:
    """Return one line with the HTTP status and the server's message, or the error and its root cause."""
    status = getattr(error, "status_code", None)
    message = _body_message(getattr(error, "body", None))
    text = f"HTTP {status}: {message}" if status and message else str(error)
    if not status and (root := str(_root_cause(error))) and root not in text:
        text = f"{text.rstrip('.')}: {root}"
    return shorten_to_line(text)


def shorten_to_line(text: str) -> str:
    """Return a text as one line of at most 300 characters, with user names and passwords of URLs removed."""
    text = _URL_CREDENTIALS.sub("//", " ".join(text.split()))
    return text if len(text) <= _MAX_LINE_CHARACTERS else f"{text[:_MAX_LINE_CHARACTERS]} ..."


def _body_message(body: object) -> str:
    inner = body.get("error", body) if isinstance(body, dict) else None
    return str(inner.get("message") or "") if isinstance(inner, dict) else ""


def _root_cause(error: BaseException) -> BaseException:
    seen = {id(error)}
    while (cause := error.__cause__ or error.__context__) is not None and id(cause) not in seen:
        seen.add(id(cause))
        error = cause
    return error
