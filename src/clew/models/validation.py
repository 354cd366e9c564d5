"""Text without a UTF-8 form, and errors of model libraries as errors of Clew."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from clew.errors import InputError, ProviderError


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


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message; its repr where the message is empty."""
    return (str(error).strip() or repr(error)).splitlines()[0]


@contextmanager
def map_load_errors(explain: Callable[[str], str]) -> Iterator[None]:
    """Map what loading a model raises to a ProviderError; `explain` makes its message from the library's first line."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise ProviderError(explain(first_line(error))) from error
