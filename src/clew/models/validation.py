"""Text without a UTF-8 form: refused before it is stored, replaced where it is only read."""

from collections.abc import Sequence

from clew.errors import InputError


def replace_surrogates(text: str) -> str:
    """Return a text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()


def require_unicode(texts: Sequence[str]) -> None:
    """Raise an `InputError` where a text holds a lone surrogate, which tokenizers and files cannot represent."""
    for number, text in enumerate(texts):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"text {number} of {len(texts)} holds the lone surrogate U+{ord(text[error.start]):04X} at character "
                f"{error.start}; wanted text that can be written as UTF-8; decode the source with errors='replace'"
            ) from error
