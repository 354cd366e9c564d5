"""Text for people: without characters that control a terminal, and counts in words."""

import re

# Tab (9) and line feed (10) stay.
_CONTROL_RANGES = ((0, 9), (11, 32), (127, 160), (0x2028, 0x202F), (0x2066, 0x206A))
CONTROL_CODES = [code for first, end in _CONTROL_RANGES for code in range(first, end)]
_DIRECTION_MARKS = (0x061C, 0x200E, 0x200F)  # invisible letters: they belong to a text, but not to what is printed
ESCAPED_CODES = sorted((*CONTROL_CODES, *_DIRECTION_MARKS))
_ESCAPES = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in ESCAPED_CODES}
_SPACES = dict.fromkeys(CONTROL_CODES, " ")
_USER_OF_ADDRESS = re.compile(r"(:/|//)[^/@\s]*@")  # pathlib makes one slash of two
_SURROGATE = re.compile("[\ud800-\udfff]")


def escape_control(text: str) -> str:
    """Replace what controls a terminal or turns the direction by backslash escapes; tabs and line feeds stay."""
    return text.translate(_ESCAPES)


def has_surrogate(text: str) -> bool:
    """Return whether a text holds half a character (a lone surrogate), which UTF-8 cannot encode."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def to_single_line(text: str) -> str:
    """Remove control characters and line breaks, and collapse runs of white space to one space."""
    return " ".join(text.translate(_SPACES).split())


def hide_users(text: str) -> str:
    """Return a text without the users and passwords of the addresses in it: `s3://...@bucket`."""
    return _USER_OF_ADDRESS.sub(r"\1...@", text)


MEBIBYTE = 1 << 20  # bytes


def format_count(count: int, noun: str, plural: str = "") -> str:
    """Return a count and what is counted, the noun in the singular for one.

    Args:
        count: how many; thousands are separated by commas.
        noun: what is counted, in the singular; words after the noun need `plural`: `piece of evidence`, `key is`.
        plural: the plural, for nouns that do not end in -s or -ies.
    """
    return f"{count:,} {noun if count == 1 else plural or _pluralise(noun)}"


def _pluralise(noun: str) -> str:
    return f"{noun[:-1]}ies" if re.search(r"[^aeiou]y\Z", noun) else f"{noun}s"
