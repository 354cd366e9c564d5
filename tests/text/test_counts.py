"""Counts with their nouns."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from clew.text.display import format_count

PACKAGE = Path(__file__).parent.parent.parent / "src" / "clew"
NOUNS = "documents|passages|entities|facts|triples|questions|graphs|replies|keys|calls|duplicates|mentions"


@pytest.mark.parametrize(
    ("count", "noun", "plural", "written"),
    [
        (1, "passage", "", "1 passage"),
        (0, "passage", "", "0 passages"),
        (2, "entity", "", "2 entities"),
        (1, "entity", "", "1 entity"),
        (3, "key", "", "3 keys"),
        (12_345, "reply", "", "12,345 replies"),
        (1, "piece of evidence", "pieces of evidence", "1 piece of evidence"),
        (2, "question has", "questions have", "2 questions have"),
        (-1, "hop", "", "-1 hops"),
    ],
)
def test_a_noun_is_in_the_singular_for_one(count: int, noun: str, plural: str, written: str) -> None:
    assert format_count(count, noun, plural) == written


def test_commands_and_servers_print_no_count_before_a_fixed_plural() -> None:
    """`removed 1 documents`: the noun after a count was written as a plural."""
    wrong = [
        f"{path.name}:{node.lineno}"
        for room in ("commands", "server", "rendering", "index")
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr)
        for before, after in pairwise(node.values)
        if isinstance(before, ast.FormattedValue)
        and isinstance(after, ast.Constant)
        and re.match(rf" (?:{NOUNS})\b", str(after.value))
    ]
    assert not wrong, "write counts by clew.text.display.format_count"
