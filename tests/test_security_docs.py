"""Each line of `docs/security.md` on what is trusted or hidden names tests that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "security.md"
NAMED = re.compile(r"`(test_\w+)`")
DEFINED = re.compile(r"^(?:async )?def (test_\w+)", re.MULTILINE)


def rows() -> list[str]:
    """Return the rows of all tables, without their heads."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    heads = {place - 1 for place, line in enumerate(lines) if set(line) == set("|-")}
    return [line for place, line in enumerate(lines) if line.startswith("| ") and place not in heads]


def defined_tests() -> set[str]:
    files = [file for folder in ("tests", "lab/tests") for file in (ROOT / folder).rglob("test_*.py")]
    return {name for file in files for name in DEFINED.findall(file.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("row", [row for row in rows() if "test" in row], ids=lambda row: row[2:40])
def test_a_row_names_its_tests_in_the_last_column(row: str) -> None:
    assert NAMED.findall(row.rstrip("| ").rpartition("|")[2]), row


def test_every_row_is_about_a_test() -> None:
    found = rows()
    assert len(found) > 15
    costs = [row for row in found if not NAMED.search(row)]
    assert all(" MB " in row for row in costs), costs  # of strict filters, as bench/strict_filters.py prints them


def test_the_named_tests_are_there() -> None:
    named = set(NAMED.findall(PAGE.read_text(encoding="utf-8")))
    assert named - defined_tests() == set()
