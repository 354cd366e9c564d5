"""Snippets of passages: where the match is, without marks of Markdown, with the words that match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.rendering.markup import plain_line, plain_text
from clew.rendering.snippets import Snippet, SnippetMaker
from clew.types import Citation, Evidence, Passage, Scored, SentenceChain, Triple
from tests.rendering.results import HOSTILE

FILLER = "Nothing of note happened that day on the river. " * 20


def passage(text: str, title: str = "Log") -> Passage:
    return Passage("log#1", "log", title, text, 0, len(text))


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:end] for start, end in snippet.marks]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("# Fram\r\n\r\nShe *left* **Oslo**.\r\n", "Fram She left Oslo."),
        ('[Colin Archer](archer.md "him") and [[larvik|Larvik]], [[Oslo]].', "Colin Archer and Larvik, Oslo."),
        ("![a map](map_(1).png) of `code_here`", "a map of code_here"),
        ("> quoted\n\n```sh\nls -a\n```\n", "quoted ls -a"),
        ("| a | b |\n| --- | --- |\n| 1 | 2 |", "| a | b | | 1 | 2 |"),
        ("2 * 3 * 4 and snake_case_name stay", "2 * 3 * 4 and snake_case_name stay"),
        ("a lone\rreturn", "a lone return"),
    ],
)
def test_marks_of_markdown_and_carriage_returns_are_not_shown(written: str, shown: str) -> None:
    assert plain_line(written) == shown


@given(st.text())
def test_any_text_is_shown_on_one_line(text: str) -> None:
    assert "\r" not in plain_text(text)
    shown = SnippetMaker(text, Evidence()).make(passage(text, text[:3]))
    assert "\n" not in shown.text
    assert all(0 <= start < end <= len(shown.text) for start, end in shown.marks)
    assert list(shown.marks) == sorted(shown.marks)


def test_the_sentence_that_matches_is_shown_with_its_words_marked() -> None:
    text = f"# Log\n\n{FILLER}The skipper repaired the rudder at Leith. {FILLER}"
    snippet = SnippetMaker("Who repairs rudders?", Evidence()).make(passage(text))
    assert snippet.text.startswith("... The skipper repaired the rudder at Leith.")
    assert snippet.text.endswith(" ...")
    assert marked(snippet) == ["repaired", "rudder"]
    assert len(snippet.text) <= 300 + len("... ") + len(" ...")


def test_the_sentence_with_an_identifier_in_another_spelling_is_shown() -> None:
    rows = "\n\n".join(f"Order AX-4000-{n} from the store at the harbour." for n in range(10, 40))
    assert SnippetMaker("ax400023", Evidence()).make(passage(rows)).text.count("AX-4000-23") == 1
    assert SnippetMaker("ax400023", Evidence()).make(passage(rows)).start == rows.index("Order AX-4000-23")


def test_without_a_match_it_is_the_beginning_without_the_heading() -> None:
    snippet = SnippetMaker("zebras", Evidence()).make(passage(f"# Log\n\n{FILLER}"))
    assert snippet.text.startswith("Nothing of note")
    assert snippet.marks == ()
    assert SnippetMaker("", Evidence()).make(passage("")) == Snippet("")
    assert SnippetMaker("log", Evidence()).make(passage("# Log")).text == "Log"


def test_a_long_line_without_sentences_is_cut_around_the_match() -> None:
    text = "word " * 300 + "rudder " + "word " * 300
    snippet = SnippetMaker("rudder", Evidence()).make(passage(text))
    assert marked(snippet) == ["rudder"]
    assert snippet.text.startswith("... word")
    assert len(snippet.text) <= 310


def test_a_short_rest_is_filled_with_what_stands_before() -> None:
    text = f"{FILLER}She was refitted. She sank off Leith."
    snippet = SnippetMaker("Where did she sink off?", Evidence()).make(passage(text))
    assert snippet.text.endswith("She was refitted. She sank off Leith.")
    assert snippet.text.startswith("... Nothing of note")


def test_quoted_sentences_and_names_of_paths_are_preferred() -> None:
    text = f"A rudder is a board. {FILLER}It was sold in Leith. {FILLER}Colin Archer drew it."
    quote = Citation("log", "log#1", "Log", 0, 1, "It was sold in Leith.")
    chain = Evidence(chains=(Scored(SentenceChain((quote,), ()), 1.0),))
    assert "It was sold in Leith." in SnippetMaker("rudder", chain).make(passage(text)).text
    path = Evidence(paths=(Scored((Triple("Colin Archer", "drew", "Fram", ("log#1",)),), 1.0),))
    shown = SnippetMaker("boats", path).make(passage(text))
    assert marked(shown) == ["Colin Archer"]


def test_scripts_without_spaces_are_matched_letter_by_letter() -> None:
    snippet = SnippetMaker("卡尔斯克鲁纳在哪里", Evidence()).make(passage("卡尔斯克鲁纳是瑞典的港口城市。"))
    assert marked(snippet)[0].startswith("卡尔斯克鲁纳")


def test_control_characters_do_not_reach_the_snippet() -> None:
    shown = SnippetMaker("go", Evidence()).make(passage(HOSTILE))
    assert "\x1b" not in shown.text


def test_a_snippet_tells_where_its_best_sentence_begins() -> None:
    text = f"# Log\n\n{FILLER}The *skipper* repaired the [rudder](r.md) at Leith."
    snippet = SnippetMaker("Who repaired it?", Evidence()).make(passage(text))
    assert snippet.start is None or text[snippet.start :].startswith("The *skipper*")
    plain = FILLER + "The *skipper* repaired a rudder at Leith."
    start = SnippetMaker("Who repaired it?", Evidence()).make(passage(plain)).start
    assert start == len(FILLER)
    assert SnippetMaker("", Evidence()).make(passage("!!!")).start is None
