"""The parts of messages as programs for mail write them."""

from email.message import EmailMessage, Message
from email.mime.application import MIMEApplication
from email.mime.base import MIMEBase
from email.mime.image import MIMEImage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest

from clew.indexing.sources.contents import FileContents
from clew.indexing.sources.conversion import convert
from clew.types import Place


def multipart(kind: str, *parts: Message) -> MIMEMultipart:
    whole = MIMEMultipart(kind)
    for part in parts:
        whole.attach(part)
    return whole


def named(part: Message, name: str, disposition: str = "attachment") -> Message:
    part.add_header("Content-Disposition", disposition, filename=name)
    return part


def picture() -> Message:
    return named(MIMEImage(b"?", "png"), "photo.png", "inline")


def read_message(message: Message) -> FileContents:
    message["Subject"] = "Crew"
    (contents,) = convert(".eml", message.as_bytes())
    return contents


def read_blocks(message: Message) -> list[str]:
    return [block.strip() for block in read_message(message).text.split("\n\n")]


def test_texts_before_and_after_a_picture_are_both_read() -> None:
    contents = read_message(multipart("mixed", MIMEText("Before."), picture(), MIMEText("After.")))
    assert [block.strip() for block in contents.text.split("\n\n")] == ["Subject: Crew", "Before.", "After."]
    assert contents.notes == ("attachment photo.png is not read: not a kind of file that can be read: .png",)


def test_the_attachments_of_a_signed_message_are_read() -> None:
    inner = multipart("mixed", MIMEText("The text."), named(MIMEText("The note."), "note.txt"))
    signature = named(MIMEApplication(b"?", "pkcs7-signature"), "smime.p7s")
    contents = read_message(multipart("signed", inner, signature))
    blocks = [block.strip() for block in contents.text.split("\n\n")]
    assert blocks == ["Subject: Crew", "The text.", "Attachment: note.txt", "The note."]
    assert contents.notes == ()


def test_of_alternatives_one_text_is_read_and_the_attachments_of_all() -> None:
    page = multipart("mixed", MIMEText("<p>One</p>", "html"), named(MIMEText("The note."), "n.txt"), picture())
    message = multipart("alternative", MIMEText("One"), page)
    assert read_blocks(message) == ["Subject: Crew", "One", "Attachment: n.txt", "The note."]


def test_pages_around_an_attachment_are_both_read() -> None:
    page = multipart("related", MIMEText("<h1>One</h1>", "html"), picture())
    message = multipart("mixed", page, named(MIMEText("Two"), "two.txt"), MIMEText("<p>Three</p>", "html"))
    contents = read_message(message)
    blocks = [block.strip() for block in contents.text.split("\n\n")]
    assert blocks == ["Subject: Crew", "One", "Three", "Attachment: two.txt", "Two"]
    assert contents.notes == ()
    place = {contents.text[start.offset :][:5]: start.place for start in contents.places}
    assert place["One\n\n"] == Place(heading="One")
    assert place["Three"] == Place(heading="")


@pytest.mark.parametrize("name", ["", "list"])
def test_attachments_whose_names_do_not_tell_are_of_their_content_type(name: str) -> None:
    table = MIMEBase("application", "json")
    table.set_payload('{"ship": "Fram"}')
    message = multipart("mixed", MIMEText("The text."), named(table, name) if name else table)
    assert read_blocks(message)[-2:] == [f"Attachment: {name or 'without a name'}", '{"ship": "Fram"}']


def test_a_message_in_a_message_is_an_attachment() -> None:
    inner = EmailMessage()
    inner["Subject"] = "Inner"
    inner.set_content("Deep.")
    outer = EmailMessage()
    outer.set_content("The text.")
    outer.add_attachment(inner)
    assert read_blocks(outer) == ["Subject: Crew", "The text.", "Attachment: message", "Subject: Inner", "Deep."]


def test_alternatives_within_each_other_take_little_time() -> None:
    message: Message = MIMEText("The text.")
    for _ in range(60):  # each one tried at every level would be 2 ** 60 steps
        message = multipart("alternative", message)
    assert read_blocks(message) == ["Subject: Crew", "The text."]
