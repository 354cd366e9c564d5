import subprocess
import sys

import pytest

from clew.errors import InputError, MissingPackageError
from clew_lab.amr.penman_notation import format_penman, parse_penman

SHIP = """(b / build-01
   :ARG0 (p / person
            :wiki "Colin_Archer"
            :name (n / name :op2 "Archer" :op1 "Colin"))
   :ARG1 (s / ship
            :ARG1-of (s2 / sail-01~e.4
                        :ARG0 p
                        :polarity -)
            :mod-of b
            :age 3)
   :polarity -)"""


def test_a_graph_becomes_concepts_and_edges() -> None:
    graph = parse_penman(SHIP)
    assert graph.concepts == ("build-01", "person", '"Colin Archer"', "ship", "sail-01", "-", "3", "-")
    assert graph.edges == (
        (0, ":ARG0", 1),
        (1, ":name", 2),
        (0, ":ARG1", 3),
        (4, ":ARG1", 3),
        (4, ":ARG0", 1),
        (4, ":polarity", 5),
        (0, ":mod", 3),
        (3, ":age", 6),
        (0, ":polarity", 7),
    )
    assert graph.top == 0


def test_relations_that_only_look_inverse_are_not_turned() -> None:
    graph = parse_penman("(m / medal :consist-of (g / gold) :part-of (p / prize))")
    assert graph.edges == ((0, ":consist-of", 1), (2, ":part", 0))


def test_the_words_of_a_name_go_by_their_numbers() -> None:
    parts = " ".join(f':op{number} "{number}"' for number in (10, 2, 1))
    assert parse_penman(f"(n / name {parts})").concepts == ('"1 2 10"',)


def test_relations_of_a_name_other_than_its_words_remain() -> None:
    graph = parse_penman('(n / name :op1 "a \\"b\\"" :mod (o / old))')
    assert graph.concepts == ('"a \\"b\\""', "old")
    assert parse_penman('(n / name :op1 "A" :op2 (o / old))').concepts == ("name", '"A"', "old")
    assert parse_penman('(a / and :op1 "A" :op2 "B")').concepts == ("and", '"A"', '"B"')


def test_a_name_that_is_used_twice_is_one_concept() -> None:
    graph = parse_penman('(a / and :op1 (c / city :name (n / name :op1 "Oslo")) :op2 (h / harbour :name n))')
    assert graph.concepts == ("and", "city", '"Oslo"', "harbour")
    assert graph.edges[-1] == (3, ":name", 2)


@pytest.mark.parametrize(
    ("notation", "line", "fault"),
    [
        ("", 7, "wanted one graph"),
        ("()", 7, "empty brackets"),
        ("(a / alpha", 7, "end of input"),
        ("(a / alpha\n  :ARG0 (b / beta)", 8, "end of input"),
        ("(a / alpha))", 7, "nothing after it"),
        ("(a / alpha) (b / beta)", 7, "nothing after it"),
        ("(a / alpha) beta", 7, "nothing after it"),
        ("alpha", 7, "wanted one graph"),
        ("(a / alpha\n  beta)", 8, "no PENMAN notation"),
        ('(a / alpha\n  :op1 "beta)', 8, "no PENMAN notation"),
        ("(a / alpha\u2028\n :ARG0 b))", 7, "nothing after it"),
        ("(a)", 7, "a, with no concept"),
        ("(a / )", 7, "a, with no concept"),
        ("(a / alpha :ARG0 (a / beta))", 7, "a, with two concepts"),
        ("(a / alpha :ARG0 )", 7, "without a target"),
        ("(a / alpha :ARG0 b2)", 7, "b2, which is not defined"),
        ("(a / alpha " + ":ARG0 (b / b " * 5000 + ")" * 5001, 7, "nested too deeply"),
    ],
)
def test_a_malformed_graph_is_refused_with_its_line(notation: str, line: int, fault: str) -> None:
    with pytest.raises(InputError, match=fault) as raised:
        parse_penman(notation, 7)
    assert str(raised.value).startswith(f"line {line}: ")


def test_the_warnings_of_the_package_stay_off_the_screen() -> None:
    code = "from clew_lab.amr.penman_notation import format_penman; format_penman('(a / :ARG0 )')"
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert ran.stderr == ""


def test_a_graph_is_laid_out_with_a_relation_a_line() -> None:
    laid_out = format_penman("(a / alpha :ARG0 (b / beta :polarity -) :op1 \n\n(c / gamma~e.3))")
    assert laid_out == "(a / alpha\n   :ARG0 (b / beta\n            :polarity -)\n   :op1 (c / gamma~e.3))"
    with pytest.raises(InputError, match="line 1"):
        format_penman("(a / alpha")


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "penman", None)
    with pytest.raises(MissingPackageError, match=r"package penman, .* run pip install clew-lab"):
        parse_penman("(a / alpha)")
