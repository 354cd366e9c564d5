"""Mail (`.eml`, `.mbox`) by the standard library: the text of each message, and its attachments by their readers."""

import re
from collections.abc import Callable, Iterator, Sequence
from email import message_from_bytes
from email.errors import HeaderParseError
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from typing import Any

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, TextBuilder
from clew.indexing.sources.plain_text import join_line_ends
from clew.types import Place

Reader = Callable[[str, bytes], FileContents]
"""Returns the contents of an attachment by its suffix; InputError where it is of no kind that is read."""

_SEPARATOR = re.compile(rb"(?:\A|\n\r?\n)From [^\n]*\n")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.M)
_OFFICE = "application/vnd.openxmlformats-officedocument"
_SUFFIXES = {
    "text/plain": ".txt",
    "text/html": ".html",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/calendar": ".ics",
    "text/xml": ".xml",
    "application/json": ".json",
    "application/xml": ".xml",
    "application/xhtml+xml": ".xhtml",
    "application/pdf": ".pdf",
    "application/epub+zip": ".epub",
    f"{_OFFICE}.wordprocessingml.document": ".docx",
    f"{_OFFICE}.presentationml.presentation": ".pptx",
    f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
}
"""The kinds of attachments whose names do not tell, by content type."""
_SIGNATURES = frozenset({
    "application/pkcs7-signature",
    "application/x-pkcs7-signature",
    "application/pgp-signature",
})  # fmt: skip
_HEADERS = ("from", "to", "cc")


def read_message(data: bytes, read_attachment: Reader) -> FileContents:
    """Return a message: its subject as the title, from, to, cc and date as metadata, its attachments at the end."""
    message = message_from_bytes(data, policy=default)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise InputError("it is damaged: it has no header such as From: or Subject:; leave it out")
    subject = _header(message, "subject")
    metadata: dict[str, Any] = {name: value for name in _HEADERS if (value := _header(message, name))}
    if date := _date(message):
        metadata["date"] = date
    builder = TextBuilder()
    opening = [f"{name.capitalize()}: {value}" for name, value in metadata.items()]
    builder.add("; ".join([*opening, *([f"Subject: {subject}"] if subject else [])]))
    bodies, attachments = _split_parts(message)
    for number, body in enumerate(bodies):
        _add_body(builder, body, read_attachment, Place(heading="") if number else None)
    for part in attachments:
        _add_attachment(builder, part, read_attachment)
    return builder.contents([subject], metadata)


def read_mailbox(data: bytes, read_attachment: Reader) -> list[FileContents]:
    """Return the messages of a mailbox, in order; one that is none is empty, with a note."""
    messages = []
    for message in _split_mailbox(data):
        try:
            messages.append(read_message(message, read_attachment))
        except InputError as error:
            messages.append(FileContents("", notes=(f"the message is not read: {error}",)))
    return messages


def _split_mailbox(data: bytes) -> Iterator[bytes]:
    starts = list(_SEPARATOR.finditer(data))
    if not starts:
        raise InputError("the .mbox file is damaged: it has no line that begins with 'From '; leave it out")
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(data)
        yield _QUOTED_FROM.sub(rb"\1", data[start.end() : end])


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message[name] or "").split())
    except (HeaderParseError, ValueError, IndexError, AttributeError, TypeError):
        return ""  # a broken header is as one that is not there


def _date(message: EmailMessage) -> str:
    text = _header(message, "date")
    try:
        return parsedate_to_datetime(text).isoformat(timespec="seconds") if text else ""
    except (ValueError, OverflowError):
        return ""


def _split_parts(message: EmailMessage) -> tuple[list[EmailMessage], list[EmailMessage]]:
    """Return the parts that are the text of a message, and its attachments, each in their order.

    A text without a file name is of the message wherever it stands, as between two pictures. Of alternatives one is
    read, plain text before HTML, and the attachments of all; pictures of an HTML page and signatures are none.
    """
    first = message.get_body(preferencelist=("plain", "html"))
    bodies: list[EmailMessage] = []
    attachments: list[EmailMessage] = []
    for part, is_chosen in _leaves(message):
        is_text = part.get_content_maintype() == "text" and not part.get_filename()
        if is_chosen and (is_text or part is first):
            bodies.append(part)
        elif not is_text and part is not first and part.get_content_type() not in _SIGNATURES:
            attachments.append(part)
    return bodies, attachments


def _leaves(part: EmailMessage, *, is_chosen: bool = True) -> Iterator[tuple[EmailMessage, bool]]:
    """Return the parts within a part that hold no others, each with whether its text is to be read."""
    if part.get_content_maintype() != "multipart":
        yield part, is_chosen
        return
    inner = [own for own in part.iter_parts() if isinstance(own, EmailMessage)]
    kind = part.get_content_subtype()
    chosen = _choose_alternative(inner) if kind == "alternative" else None
    for number, own in enumerate(inner):
        if kind == "related" and number and own.get_content_maintype() == "image":
            continue
        yield from _leaves(own, is_chosen=is_chosen and chosen in (None, own))


def _choose_alternative(parts: Sequence[EmailMessage]) -> EmailMessage | None:
    for kind in ("text/plain", "text/html"):
        for part in parts:
            if any(own.get_content_type() == kind and not own.get_filename() for own in part.walk()):
                return part
    return parts[0] if parts else None


def _add_body(builder: TextBuilder, body: EmailMessage, read: Reader, place: Place | None) -> None:
    if body.get_content_subtype() == "html":
        contents = read(".html", _payload(body))
        builder.add_contents(contents, "")
    else:
        builder.add(join_line_ends(_content(body)), place)


def _content(part: EmailMessage) -> str:
    try:
        return str(part.get_content())
    except LookupError:  # an encoding that does not exist
        return _payload(part).decode("utf-8", "replace")


def _payload(part: EmailMessage) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _add_attachment(builder: TextBuilder, part: EmailMessage, read: Reader) -> None:
    name = " ".join((part.get_filename() or "").split())
    if part.get_content_type() == "message/rfc822":
        inner = part.get_payload(0)
        name, suffix = name or "message", ".eml"
        data = inner.as_bytes() if isinstance(inner, EmailMessage) else b""
    else:
        suffix, data = PurePosixPath(name).suffix.lower(), _payload(part)
        suffix = suffix or _SUFFIXES.get(part.get_content_type(), "")
    heading = f"attachment {name or 'without a name'}"
    try:
        contents = read(suffix, data)
    except InputError as error:
        builder.notes.append(f"{heading} is not read: {error}")
        return
    builder.add(f"Attachment: {name or 'without a name'}", Place(heading=heading))
    builder.add_contents(contents, heading)
