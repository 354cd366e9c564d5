"""Error texts of providers as one safe line: no credentials, no line breaks, no lone surrogates."""

import re

_MAX_LINE_CHARACTERS = 300
_URL_CREDENTIALS = re.compile(r"//[^/@\s]*@")


def replace_surrogates(text: str) -> str:
    """Return a text with a question mark for what UTF-8 cannot write."""
    return text.encode(errors="replace").decode()


def describe_error(error: Exception) -> str:
    """Return what went wrong in one line, without what only programs read."""
    status = getattr(error, "status_code", None)
    told = _body_message(getattr(error, "body", None))
    text = f"HTTP {status}: {told}" if status and told else str(error)
    if not status and (root := str(_root_cause(error))) and root not in text:
        text = f"{text.rstrip('.')}: {root}"
    return shorten_to_line(text)


def shorten_to_line(text: str) -> str:
    """Return a text in one line, cut where it is long, without names and passwords of addresses."""
    text = _URL_CREDENTIALS.sub("//", " ".join(text.split()))
    return text if len(text) <= _MAX_LINE_CHARACTERS else f"{text[:_MAX_LINE_CHARACTERS]} ..."


def _body_message(body: object) -> str:
    """Return the words of an error's body, which some servers put a level deeper."""
    inner = body.get("error", body) if isinstance(body, dict) else None
    return str(inner.get("message") or "") if isinstance(inner, dict) else ""


def _root_cause(error: BaseException) -> BaseException:
    seen = {id(error)}
    while (cause := error.__cause__ or error.__context__) is not None and id(cause) not in seen:
        seen.add(id(cause))
        error = cause
    return error
