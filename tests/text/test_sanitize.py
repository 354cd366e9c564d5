"""What steers a terminal is written out, or left out; letters of every script stay."""

from clew.text.sanitize import escape_control, to_single_line

STEERING = "a\x1b[31mb\u202ec\u2028d\x85e\x00f"


def test_steering_characters_are_written_out() -> None:
    assert escape_control(STEERING) == "a\\x1b[31mb\\u202ec\\u2028d\\x85e\\x00f"
    assert escape_control("می‌خواهم\t日本\n👩‍🚀") == "می‌خواهم\t日本\n👩‍🚀"


def test_a_line_is_one_line() -> None:
    assert to_single_line(STEERING) == "a [31mb c d e f"
    assert to_single_line(" a\r\n[1]  b\u2029c ") == "a [1] b c"
