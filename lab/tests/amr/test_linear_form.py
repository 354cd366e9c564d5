"""Graphs from linear forms: exact ones against the package penman, and the repair of broken ones."""

import random
import re

import penman
import pytest

from clew_lab.amr.linear_form import to_penman
from clew_lab.amr.penman_notation import parse_penman

TAKE = "( <pointer:0> take-10 :ARG0 ( <pointer:1> it ) :ARG1 ( <pointer:2> long-03 :polarity - :ARG1 <pointer:1> ) )"
NAMED = (
    "( <pointer:0> win-01 :ARG0 ( <pointer:1> person :wiki <lit> Wilhelm R\u00f6ntgen </lit> :name ( <pointer:2> name "
    ":op1 <lit> Wilhelm </lit> :op2 <lit> R\u00f6ntgen </lit> ) ) :time ( <pointer:3> date-entity :year 1901 ) )"
)


def triples(notation: str) -> set[tuple[str, str, str]]:
    """Return the triples of a notation by the package, with variables named by their order."""
    graph = penman.decode(notation)
    order = {variable: f"v{place}" for place, (variable, role, _) in enumerate(graph.instances())}
    return {(order[h], role, t if role == ":instance" else order.get(t, t)) for h, role, t in graph.triples}


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        (TAKE, "(t / take-10 :ARG0 (i / it) :ARG1 (l / long-03 :polarity - :ARG1 i))"),
        (
            NAMED,
            "(w / win-01 :ARG0 (p / person :wiki 'Wilhelm R\u00f6ntgen' :name (n / name :op1 'Wilhelm' "
            ":op2 'R\u00f6ntgen')) :time (d / date-entity :year 1901))".replace("'", '"'),
        ),
        (
            re.sub(r" (?=[()<])|(?<=[()>]) ", "", TAKE),
            "(t / take-10 :ARG0 (i / it) :ARG1 (l / long-03 :polarity - :ARG1 i))",
        ),
        (
            "( <pointer:0> a :ARG1-of ( <pointer:1> b :quant 12:30 :op1 c ) )",
            '(x / a :ARG1-of (b / b :quant "12:30" :op1 "c"))',
        ),
        ("( <pointer:0> say-01 :ARG1 <pointer:1> :ARG0 ( <pointer:1> he ) )", "(s / say-01 :ARG1 h :ARG0 (h / he))"),
    ],
    ids=["reentrant", "named", "without spaces", "constants", "pointer before its node"],
)
def test_whole_forms_are_those_of_the_package(text: str, notation: str) -> None:
    assert triples(to_penman(text)) == triples(notation)


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("( <pointer:0> a :ARG0 ( <pointer:1> b :mod ( <pointer:2> c", "(a / a :ARG0 (b / b :mod (c / c)))"),
        ("( <pointer:0> a ) ) ) :ARG1 ( <pointer:1> b )", "(a / a)"),
        ("( <pointer:0> a :ARG0 :ARG1 ( <pointer:1> b ) :ARG2 )", "(a / a :ARG1 (b / b))"),
        ("( <pointer:0> a :ARG0 <pointer:9> :ARG1 ( <pointer:1> b ) )", "(a / a :ARG1 (b / b))"),
        ("( <pointer:0> a :ARG0 ( <pointer:1> ) :ARG1 ( <pointer:2> c ) )", "(a / a :ARG1 (c / c))"),
        ("( a :ARG0 ( b ) )", "(a / a :ARG0 (b / b))"),
        ("<pointer:0> a :ARG0 ( <pointer:1> b )", "(a / a :ARG0 (b / b))"),
        ("( <pointer:0> a ( <pointer:1> b ) )", "(a / a :rel (b / b))"),
        ("( <pointer:0> a :ARG0 ( <pointer:0> b :mod ( <pointer:1> c ) ) )", "(a / a :ARG0 a :mod (c / c))"),
        ("( <pointer:0> n :op1 <lit> New York :op2 1 )", '(n / n :op1 "New York" :op2 1)'),
        ('( <pointer:0> n :op1 <lit> say "x </lit> )', '(n / n :op1 "say x")'),
    ],
    ids=[
        "open brackets", "after the end", "relation without target", "unknown pointer", "node without concept",
        "nodes without pointers", "first bracket missing", "target without relation", "pointer with two concepts",
        "open literal", "quote in a literal",
    ],
)  # fmt: skip
def test_broken_forms_are_repaired(text: str, notation: str) -> None:
    assert triples(to_penman(text)) == triples(notation)


@pytest.mark.parametrize(
    "text", ["", "hello there", "( )", ") ) (", "( <pointer:0> )", ":ARG0 :ARG1", "<lit> a </lit>"]
)
def test_what_holds_no_node_gives_nothing(text: str) -> None:
    assert to_penman(text) == ""


def test_any_tokens_give_a_graph_that_can_be_read() -> None:
    vocabulary = ["(", ")", "(", ")", "<pointer:0>", "<pointer:1>", "<pointer:2>", "a", "win-01", ":ARG0", ":mod", "-",
                  "<lit>", "</lit>", '"x', "5", "/", "::", "~e.1", ":", "z1"]  # fmt: skip
    generator = random.Random(3)
    read = 0
    for _ in range(3000):
        text = " ".join(generator.choice(vocabulary) for _ in range(generator.randrange(1, 30)))
        notation = to_penman(text)
        if notation:
            graph = parse_penman(notation)
            assert graph.concepts
            read += 1
    assert read > 1000
