"""The names that documents go by, and what is linked by them."""

from typing import Any

import pytest

from clew.indexing.resolution.title_linking import NamedText, TitleLinks


def named(title: str, text: str = "", id_: str = "", **more: Any) -> NamedText:
    fields: dict[str, Any] = {"aliases": (), "links": (), "first": True} | more
    return NamedText(id_ or title, title, text, **fields)


def made(*passages: NamedText) -> TitleLinks:
    return TitleLinks(passages)


def mentions(text: str, *passages: NamedText) -> list[tuple[str, tuple[str, ...]]]:
    """Return the titles that a text written beside a corpus mentions: the words, and the keys they stand for."""
    reader = named("", text)
    links = made(*passages, reader)
    found = links.mentions(reader)
    return [(text[m.start : m.end], tuple(links.keys[t] for t in m.targets)) for m in found]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("at the University of Oslo, in Oslo", [("University of Oslo", ("university of oslo",)),
                     ("Oslo", ("oslo",))], id="longest first"),
        pytest.param("the Vega left", [("Vega", ("vega ship", "vega star"))], id="without parentheses"),
        pytest.param("the Vega (ship) left", [("Vega (ship", ("vega ship",))], id="in full"),
        pytest.param("in Aero or ÆRØ, SAO TOME", [("SAO TOME", ("sao tome",))], id="accents folded"),
        pytest.param("the Great Lady sank", [("Great Lady", ("vega ship",))], id="an alias"),
        pytest.param("by Ship's Log Book and History", [("Ship's Log Book", ("vega ship",))], id="a heading"),
        pytest.param("the oslo and the vega", [], id="short names need a capital"),
        pytest.param("the university of oslo", [("university of oslo", ("university of oslo",))], id="long ones not"),
        pytest.param("", [], id="nothing"),
    ],
)  # fmt: skip
def test_what_a_text_mentions(text: str, wanted: list[tuple[str, tuple[str, ...]]]) -> None:
    corpus = (
        named("Oslo"),
        named("University of Oslo"),
        named("Vega (ship)", "## Ship's Log Book\n\n### History\n", aliases=("Great Lady",)),
        named("Vega (star)", "## History\n"),
        named("São Tomé"),
        named("", "text without a title"),
    )
    assert mentions(text, *corpus) == wanted


def test_a_name_of_more_than_four_says_nothing() -> None:
    kinds = ("film", "god", "metal", "planet")
    four = [named(f"Mercury ({kind})") for kind in kinds]
    assert mentions("on Mercury", *four) == [("Mercury", tuple(f"mercury {kind}" for kind in kinds))]
    assert mentions("on Mercury", *four, named("Mercury (car)")) == []
    assert mentions("on Mercury (car)", *four, named("Mercury (car)")) == [("Mercury (car", ("mercury car",))]


def test_a_word_that_the_corpus_writes_small_is_no_name() -> None:
    fox, small = named("Fox"), "a fox and a fox"
    assert mentions("The ship Fox left", fox) == [("Fox", ("fox",))]
    assert mentions("The ship Fox left", fox, named("Animals", small)) == []
    # As many capitals inside sentences as small ones: it stays a name; a sentence's first word does not count.
    assert mentions("The ship Fox and the Fox left", fox, named("Animals", small)) != []
    assert mentions("Fox left. Fox came back.", fox, named("Animals", small)) == []


def test_function_words_are_no_names() -> None:
    assert mentions("It was He who had It", named("It"), named("He (film)")) == []


def test_a_heading_of_one_document_counts_once_however_it_was_cut() -> None:
    parts = [named("Vega", "## Log Book\n", first=True), named("Vega", "## Log Book\nagain", first=False)]
    assert mentions("see Log Book", *parts) == [("Log Book", ("vega",))]
    assert mentions("see Log Book", *parts, named("Fram", "## Log Book\n")) == []
    assert mentions("see Log Book", *parts, named("Log Book")) == [("Log Book", ("log book",))]
    assert mentions("see Log", named("Vega", "## Log\n")) == []


CORPUS = (
    named("Fram (ship)", id_="ships/fram.md", aliases=("fram",)),
    named("Colin Archer", id_="people/colin-archer.md", aliases=("colin archer",)),
    named("Who Framed Roger Rabbit", id_="w"),
    named("Nansen's Fram expedition", id_="ships/nansen%20fram.md"),
)


@pytest.mark.parametrize(
    ("link", "wanted"),
    [
        ("fram.md", ["fram ship"]),
        ("ships/fram.md", ["fram ship"]),
        ("./fram.md#hull", ["fram ship"]),
        ("../people/colin-archer.md", ["colin archer"]),
        ("../people/../people/colin-archer.md?x=1", ["colin archer"]),
        ("https://en.wikipedia.org/wiki/Fram_(ship)", ["fram ship"]),
        ("https://en.wikipedia.org/wiki/Colin%20Archer", ["colin archer"]),
        ("https://example.org/colin-archer.html", ["colin archer"]),
        ("Colin Archer", ["colin archer"]),
        ("colin archer#Life", ["colin archer"]),
        ("Fram", ["fram ship"]),
        ("Who Framed Roger Rabbit?", ["who framed roger rabbit"]),
        ("https://example.org/", []),
        ("nowhere.md", []),
        ("../../../../etc/passwd", []),
        ("#hull", []),
        ("", []),
        ("%00", []),
        ("//", []),
    ],
)
def test_where_links_lead(link: str, wanted: list[str]) -> None:
    reader = named("Reader", f"[x]({link})", "ships/reader.md", links=(link,))
    assert made(*CORPUS, reader).linked(reader) == wanted


def test_a_link_belongs_to_the_passage_it_stands_in() -> None:
    first = named("Reader", "see [x](fram.md)", "ships/reader.md", links=("fram.md", "w", "fram.md"))
    later = named("Reader", "and [y](fram.md)", "ships/reader.md", links=("fram.md", "gone"), first=False)
    without = named("Reader", "nothing", "ships/reader.md", links=("fram.md",), first=False)
    links = made(*CORPUS, first, later, without)
    assert links.linked(first) == ["fram ship", "who framed roger rabbit"]
    assert links.linked(later) == ["fram ship"]
    assert links.linked(without) == []
