"""Evidence and answers as HTML, in files and in notebooks."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from clew.rendering.pages import mark_quotes, render_answer, render_evidence, render_page
from clew.types import AgentStep, Answer, Citation, Evidence, Passage, Scored
from tests.rendering.results import HOSTILE, MAN, make_answer, make_evidence, quote

OPEN = {"meta", "br"}


class Reader(HTMLParser):
    """Reads a page, and checks that its elements are nested."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.marks: list[str] = []
        self._stack: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self._stack

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in OPEN:
            self._stack.append(tag)
        if tag == "mark":
            self.marks.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if "style" not in self._stack else ""
        if "mark" in self._stack:
            self.marks[-1] += data


def test_quotes_of_chains_and_citations_are_marked_where_they_stand() -> None:
    evidence = make_evidence()
    assert Reader(render_evidence(evidence)).marks == ["Louis Palander commanded Vega.", MAN]
    alone = replace(evidence, chains=())
    assert Reader(render_answer(make_answer(alone))).marks == ["Karlskrona"]


@pytest.mark.parametrize(
    ("spans", "marked"),
    [
        ([], []),
        ([(10, 12)], ["ab"]),
        ([(12, 14), (10, 13)], ["abc", "d"]),
        ([(10, 14), (11, 12)], ["abcd"]),
        ([(5, 11), (13, 99)], ["a", "def"]),
        ([(99, 100)], []),
    ],
)
def test_marks_are_of_the_passage_and_overlap_nowhere(spans: list[tuple[int, int]], marked: list[str]) -> None:
    passage = Passage("p", "d", "", "abcdef", 10, 16)
    quotes = [Citation("d", "p", "", start, end, "") for start, end in spans]
    read = Reader(mark_quotes(passage, [*quotes, Citation("d", "other", "", 10, 16, "")]))
    assert (read.marks, read.text) == (marked, "abcdef")


def test_an_answer_stands_above_its_evidence() -> None:
    text = Reader(render_answer(replace(make_answer(make_evidence()), weak=True, notes=("own",)), "Where?")).text
    order = [
        text.index(part) for part in ("Where?", "Karlskrona", "weakly", "Note: own", "How it connects", "Passages")
    ]
    assert order == sorted(order)
    marked = quote("ship", "Built in [Karlskrona](k.md).", "Built in [Karlskrona](k.md).")
    page = render_answer(replace(make_answer(make_evidence()), text="Karlskrona", citations=(marked,)))
    assert "<blockquote>Built in <b>Karlskrona</b>.</blockquote>" in page
    assert "does not hold an answer" in render_answer(Answer("", (), (), Evidence()))


def test_steps_and_notes_are_told() -> None:
    steps = (AgentStep("Who?", verdict="go on", reasoning="no name yet"),)
    text = Reader(render_evidence(Evidence(notes=("n",), steps=steps))).text
    assert "Who?" in text
    assert "go on: no name yet" in text
    assert "Note: n" in text
    assert "Nothing was found." in text


def test_hostile_text_stays_text_and_nothing_is_fetched() -> None:
    evidence = replace(
        make_evidence(HOSTILE, HOSTILE),
        notes=(HOSTILE,),
        steps=(AgentStep(HOSTILE, verdict=HOSTILE, reasoning=HOSTILE),),
    )
    answer = Answer(HOSTILE, (quote("ship", HOSTILE, HOSTILE),), (), evidence)
    page = render_page(render_answer(answer, HOSTILE), HOSTILE)
    read = Reader(page)
    assert read.tags <= {
        "html", "head", "meta", "title", "style", "body", "div", "h1", "h2", "h3", "p", "small", "ol", "li", "b", "br",
        "article", "blockquote", "mark",
    }  # fmt: skip
    assert read.attributes <= {"lang", "charset", "name", "content", "http-equiv", "class"}
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert "@import" not in page
    assert not {"\x1b", "\u202e"} & set(page)


def test_notebooks_show_the_same_as_files() -> None:
    evidence = make_evidence()
    assert evidence._repr_html_() == render_evidence(evidence)
    answer = make_answer(evidence)
    assert answer._repr_html_() == render_answer(answer)


def test_carriage_returns_are_not_shown() -> None:
    passage = Passage("a#1", "a", "A", "one\r\ntwo\rthree", 0, 14)
    shown = render_evidence(Evidence((Scored(passage, 1.0),)))
    assert "one\ntwo\nthree" in shown
    assert "x0d" not in shown
