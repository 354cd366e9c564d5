"""Characters that are orders to a terminal and no letters: control codes, breaks of lines, changes of direction."""

_CONTROL_CODES = (
    *range(9),
    *range(11, 32),
    *range(127, 160),
    0x2028,
    0x2029,
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
_ESCAPES = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROL_CODES}
_SPACES = dict.fromkeys(_CONTROL_CODES, " ")


def escape_control(text: str) -> str:
    """Return a text with such characters written out; tabs and ends of lines stay."""
    return text.translate(_ESCAPES)


def to_single_line(text: str) -> str:
    """Return a text without such characters and as one line, white space made single."""
    return " ".join(text.translate(_SPACES).split())
