"""Control characters are escaped or removed; letters of every script stay."""

from clew.text.sanitize import escape_control, to_single_line

CONTROLS = "a\x1b[31mb\u202ec\u2028d\x85e\x00f"


def test_control_characters_are_escaped() -> None:
    assert escape_control(CONTROLS) == "a\\x1b[31mb\\u202ec\\u2028d\\x85e\\x00f"
    assert escape_control("می‌خواهم\t日本\n👩‍🚀") == "می‌خواهم\t日本\n👩‍🚀"


def test_single_lines() -> None:
    assert to_single_line(CONTROLS) == "a [31mb c d e f"
    assert to_single_line(" a\r\n[1]  b\u2029c ") == "a [1] b c"
