"""Names of documents, and the mentions and links that lead to them."""

from typing import Any

import pytest

from tests.oracles.title_linking import NamedText, TitleLinker


def make_text(title: str, text: str = "", id_: str = "", **overrides: Any) -> NamedText:
    fields: dict[str, Any] = {"aliases": (), "links": (), "is_first": True} | overrides
    return NamedText(id_ or title, title, text, **fields)


def make_linker(*passages: NamedText) -> TitleLinker:
    return TitleLinker(passages)


def find_mentions(text: str, *passages: NamedText) -> list[tuple[str, tuple[str, ...]]]:
    """Return the titles of a corpus that a text mentions: the words, and the keys they stand for."""
    reader = make_text("", text)
    links = make_linker(*passages, reader)
    matches = links.find_mentions(reader)
    return [(text[m.start : m.end], tuple(sorted(links.title_keys[t] for t in m.targets))) for m in matches]


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
def test_mentions_of_titles(text: str, wanted: list[tuple[str, tuple[str, ...]]]) -> None:
    corpus = (
        make_text("Oslo"),
        make_text("University of Oslo"),
        make_text("Vega (ship)", "## Ship's Log Book\n\n### History\n", aliases=("Great Lady",)),
        make_text("Vega (star)", "## History\n"),
        make_text("São Tomé"),
        make_text("", "text without a title"),
    )
    assert find_mentions(text, *corpus) == wanted


def test_a_name_of_more_than_four_says_nothing() -> None:
    kinds = ("film", "god", "metal", "planet")
    four = [make_text(f"Mercury ({kind})") for kind in kinds]
    assert find_mentions("on Mercury", *four) == [("Mercury", tuple(f"mercury {kind}" for kind in kinds))]
    assert find_mentions("on Mercury", *four, make_text("Mercury (car)")) == []
    assert find_mentions("on Mercury (car)", *four, make_text("Mercury (car)")) == [("Mercury (car", ("mercury car",))]


def test_a_word_that_the_corpus_writes_small_is_no_name() -> None:
    fox, small = make_text("Fox"), "a fox and a fox"
    assert find_mentions("The ship Fox left", fox) == [("Fox", ("fox",))]
    assert find_mentions("The ship Fox left", fox, make_text("Animals", small)) == []
    # As often capitalised inside sentences as not: it stays a name; a sentence's first word does not count.
    assert find_mentions("The ship Fox and the Fox left", fox, make_text("Animals", small)) != []
    assert find_mentions("Fox left. Fox came back.", fox, make_text("Animals", small)) == []


def test_function_words_are_no_names() -> None:
    assert find_mentions("It was He who had It", make_text("It"), make_text("He (film)")) == []


def test_a_heading_of_one_document_counts_once_however_it_was_cut() -> None:
    parts = [make_text("Vega", "## Log Book\n", is_first=True), make_text("Vega", "## Log Book\nagain", is_first=False)]
    assert find_mentions("see Log Book", *parts) == [("Log Book", ("vega",))]
    assert find_mentions("see Log Book", *parts, make_text("Fram", "## Log Book\n")) == []
    assert find_mentions("see Log Book", *parts, make_text("Log Book")) == [("Log Book", ("log book",))]
    assert find_mentions("see Log", make_text("Vega", "## Log\n")) == []


CORPUS = (
    make_text("Fram (ship)", id_="ships/fram.md", aliases=("fram",)),
    make_text("Colin Archer", id_="people/colin-archer.md", aliases=("colin archer",)),
    make_text("Who Framed Roger Rabbit", id_="w"),
    make_text("Nansen's Fram expedition", id_="ships/nansen%20fram.md"),
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
    reader = make_text("Reader", f"[x]({link})", "ships/reader.md", links=(link,))
    assert make_linker(*CORPUS, reader).resolve_links(reader) == wanted


def test_a_link_belongs_to_the_passage_that_contains_it() -> None:
    first = make_text("Reader", "see [x](fram.md)", "ships/reader.md", links=("fram.md", "w", "fram.md"))
    later = make_text("Reader", "and [y](fram.md)", "ships/reader.md", links=("fram.md", "gone"), is_first=False)
    without = make_text("Reader", "nothing", "ships/reader.md", links=("fram.md",), is_first=False)
    links = make_linker(*CORPUS, first, later, without)
    assert links.resolve_links(first) == ["fram ship", "who framed roger rabbit"]
    assert links.resolve_links(later) == ["fram ship"]
    assert links.resolve_links(without) == []
