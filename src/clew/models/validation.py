"""What every encoder asks of its texts."""

from collections.abc import Sequence

from clew.errors import InputError


def require_unicode(texts: Sequence[str]) -> None:
    """Refuse text that has no UTF-8 form.

    Args:
        texts: Any strings.

    Raises:
        InputError: A text holds a lone surrogate, which no tokenizer and no file can carry.
    """
    for number, text in enumerate(texts):
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"text {number} of {len(texts)} holds the lone surrogate U+{ord(text[error.start]):04X} at character "
                f"{error.start}; wanted text that can be written as UTF-8; decode the source with errors='replace'"
            ) from error
