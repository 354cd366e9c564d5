"""Mentions and triples by rules: a table of examples, and properties that hold for any text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.indexing.extraction.rule_based import RuleExtractor, relation_words
from clew.text.mentions import find_mentions
from clew.types import Extraction, Failure, Passage

N, Q, A, D, M, I = "name", "quoted", "acronym", "date", "number", "identifier"  # noqa: E741


def extract(text: str, title: str = "") -> Extraction:
    (result,) = RuleExtractor().extract([Passage("p", "d", title, text, 0, len(text))])
    assert not isinstance(result, Failure)
    return result


def check_spans(text: str, result: Extraction) -> None:
    """Check that spans are exact, in order and without overlaps."""
    end_of_previous = 0
    for mention in result.mentions:
        assert text[mention.start : mention.end] == mention.name
        assert mention.name.strip()
        assert mention.start >= end_of_previous
        end_of_previous = mention.end


MENTIONS: dict[str, list[tuple[str, str]]] = {
    "Fram sailed from Oslo under Fridtjof Nansen.": [("Fram", N), ("Oslo", N), ("Fridtjof Nansen", N)],
    "The University of Oslo met Anna van der Berg.": [("University of Oslo", N), ("Anna van der Berg", N)],
    "the Museum of the History of Science": [("Museum of the History of Science", N)],
    "J. A. Smith and Jean-Luc Picard met O'Brien.": [("J. A. Smith", N), ("Jean-Luc Picard", N), ("O'Brien", N)],
    "Ernest Shackleton's ship Endurance sank.": [("Ernest Shackleton", N), ("Endurance", N)],
    "It was cold. However, they ate. They slept.": [],
    "Ships sail. All ships sank near Bergen.": [("Bergen", N)],
    "The airship Norge flew to Teller, Alaska (then a territory).": [("Norge", N), ("Teller", N), ("Alaska", N)],
    "Fram (ship) and Fram (film) differ.": [("Fram", N), ("Fram", N)],
    "In São Tomé and in Tromsø, Ærø and Łódź.": [("São Tomé", N), ("Tromsø", N), ("Ærø", N), ("Łódź", N)],
    'He saw "The White Hell" and “South”.': [("The White Hell", Q), ("South", Q)],
    "Он читал «Война и мир».": [("Война и мир", Q)],
    "An unclosed “quotation": [],
    'He said "a b c d e f g h i j" to me.': [],
    "Both NASA and the BBC paid.": [("NASA", A), ("BBC", A)],
    "It sank on 21 November 1915.": [("21 November 1915", D)],
    "By November 21, 1915, in May 1916 or on 1917-02-03.": [
        ("November 21, 1915", D), ("May 1916", D), ("1917-02-03", D)],
    "In the 1890s and in 2012": [("1890s", D), ("2012", D)],
    "for $2.5 million, €3 and 1,200 km": [("$2.5 million", M), ("€3", M), ("1,200 km", M)],
    "35% of 4,000 at 20 °C and 12,000,000": [("35%", M), ("4,000", M), ("20 °C", M), ("12,000,000", M)],
    "see RFC-2119, foo_bar, v1.2.3 and ISO9001.": [("RFC-2119", I), ("foo_bar", I), ("v1.2.3", I), ("ISO9001", I)],
    "Then Apollo 11 landed.": [("Apollo 11", N)],
    "Паландер родился в городе Карлскруна в 1842 году.": [("Паландер", N), ("Карлскруна", N), ("1842", D)],
    "卡尔斯克鲁纳是瑞典的港口城市。": [("卡尔斯克鲁纳", N), ("瑞典", N), ("港口城市", N)],
    "1912年4月泰坦尼克号沉没": [("1912年4月", D), ("泰坦尼克号沉没", N)],
    "NHK放送局は東京にある": [("NHK", A), ("放送局", N), ("東京", N)],
    "她读了《战争与和平》和「草枕」。": [("战争与和平", Q), ("草枕", Q)],
    "ナンセンはフラム号に乗った。": [("ナンセン", N), ("フラム", N)],
    "بنيت سفينة في بريمرهافن": [("بنيت", N), ("سفينة", N), ("بريمرهافن", N)],
    "שלום ירושלים": [("שלום", N), ("ירושלים", N)],
    "हिन्दी भाषा": [("हिन्दी", N), ("भाषा", N)],
    "서울특별시 한국어": [("서울특별시", N), ("한국어", N)],
    "The 🚢 Fram 😀 left Tromsø.": [("Fram", N), ("Tromsø", N)],
    "\u202eFram\u202c left \u200fOslo.": [("Fram", N), ("Oslo", N)],
    "ask j.smith@example.org": [("j.smith@example.org", I)],
    "see https://x.org/y, too": [("https://x.org/y", I)],
    "in /srv/logs/main.log": [("/srv/logs/main.log", I)],
    "from 10.0.17.3 in 1.2.10.": [("10.0.17.3", I), ("1.2.10", I)],
    "of 978-3-16-148410-0": [("978-3-16-148410-0", I)],
    "call getUserById in C++ or C#": [("getUserById", I), ("C++", I), ("C#", I)],
    "": [],
    " \n\t": [],
    "🚢": [],
}  # fmt: skip


@pytest.mark.parametrize("text", MENTIONS)
def test_mentions(text: str) -> None:
    result = extract(text)
    check_spans(text, result)
    assert [(mention.name, mention.kind) for mention in result.mentions] == MENTIONS[text]


TRIPLES: list[tuple[str, str, list[tuple[str, str, str]]]] = [
    ("Fram (ship)", "The Fram was built by Colin Archer, of Larvik.", [
        ("Fram (ship)", "mentions", "Fram"), ("Fram (ship)", "was built by", "Colin Archer"),
        ("Fram (ship)", "of", "Larvik")]),
    ("", "Colin Archer built the Fram in Larvik.", [
        ("Colin Archer", "built", "Fram"), ("Colin Archer", "in", "Larvik")]),
    ("Roald Amundsen", "He flew with Umberto Nobile (an Italian) and Lincoln Ellsworth.", [
        ("Roald Amundsen", "He flew with", "Umberto Nobile"), ("Roald Amundsen", "He flew with", "Italian"),
        ("Roald Amundsen", "He flew with", "Lincoln Ellsworth")]),
    ("Roald Amundsen", "Fridtjof Nansen lent the Fram to Amundsen.", [
        ("Fridtjof Nansen", "lent", "Fram"), ("Fridtjof Nansen", "to", "Amundsen")]),
    ("Lambert, Margrave of Tuscany", "Lambert married Bertha of Italy.", [
        ("Lambert, Margrave of Tuscany", "mentions", "Lambert"),
        ("Lambert, Margrave of Tuscany", "married", "Bertha of Italy")]),
    ("", "Адмирал Паландер родился в городе Карлскруна.", [("Адмирал Паландер", "родился в городе", "Карлскруна")]),
    ("", "卡尔斯克鲁纳是瑞典的港口城市。", [("卡尔斯克鲁纳", "是", "瑞典"), ("卡尔斯克鲁纳", "的", "港口城市")]),
    ("", "بنيت سفينة في بريمرهافن", [("بنيت", "mentions", "سفينة"), ("بنيت", "في", "بريمرهافن")]),
    ("Oslo", "it rained", []),
    ("", "", []),
]  # fmt: skip


@pytest.mark.parametrize(("title", "text", "wanted"), TRIPLES, ids=[text[:30] for _, text, _ in TRIPLES])
def test_triples(title: str, text: str, wanted: list[tuple[str, str, str]]) -> None:
    assert list(extract(text, title).triples) == wanted


@pytest.mark.parametrize(
    ("gap", "relation"),
    [
        (" was built by ", "was built by"),
        (", and (in 1893) the ", ""),
        (" who was ", "was"),
        (" one two three four five six seven eight nine ", "three four five six seven eight nine"),
        ("是", "是"),
        ("（又名）的", "的"),
        ("", ""),
        ("((((", ""),
        ("-/-", ""),
    ],
)
def test_relations_are_the_last_words_between_two_mentions(gap: str, relation: str) -> None:
    assert relation_words(gap) == relation


PIECES = st.sampled_from(
    [
        *"“”«»\"'()[]（）《》「」-–—_/.,:;!?#*$€%°· \n\t\u0301\u202e\ud800\0🚢ªǅİẞ²٣的年ⴰႠა",
        *[
            "Fram",
            "the",
            "of",
            "The",
            "New",
            "A",
            "I",
            "O'Brien",
            "1893",
            "12",
            "May",
            "km",
            "million",
            "NASA",
            "foo_bar",
        ],
        *["РСФСР", "война", "中文", "4月", "ナンセン", "한국어", "שלום", "فرام", "हिन्दी"],
    ]
)
ANYTHING = st.one_of(st.text(st.characters()), st.lists(PIECES, max_size=40).map("".join))


@settings(max_examples=300, deadline=None)
@given(ANYTHING, ANYTHING)
def test_any_text_is_read_and_places_are_exact(text: str, title: str) -> None:
    result = extract(text, title)
    check_spans(text, result)
    names = {mention.name for mention in result.mentions} | {title}
    for head, relation, tail in result.triples:
        assert head in names
        assert tail in names
        assert head
        assert relation.strip()
    assert len(set(result.triples)) == len(result.triples)


@settings(deadline=None)
@given(ANYTHING, st.integers(0, 20), st.integers(0, 20))
def test_a_stretch_is_read_by_itself(text: str, before: int, after: int) -> None:
    start, end = min(before, len(text)), max(len(text) - after, min(before, len(text)))
    for mention in find_mentions(text, start, end):
        assert start <= mention.start < mention.end <= end
        assert text[mention.start : mention.end] == mention.name


@pytest.mark.parametrize(
    ("piece", "count"),
    [
        *(("a.", 0), ("1,", 0), ("é1.", 0), ("1,111,", 16_666), ("x1-", 1), ("(", 0)),
        *(("“a", 0), ("A.", 0), ("Ab ", 1), ("汉字的", 33_333), ("$", 0), ("a_", 1)),
    ],
)
def test_long_runs_of_one_piece_have_the_expected_mentions(piece: str, count: int) -> None:
    """Without bounds in the patterns, some of these took minutes at this length."""
    text = piece * (100_000 // len(piece))
    result = extract(text)
    check_spans(text, result)
    assert len(result.mentions) == count
    assert not result.triples


@pytest.mark.parametrize(
    ("row", "names", "triples"),
    [
        (
            "widget: widget-317; timeout (s): 2219 ms; Crew: 16; Ports: Oslo, Bergen; use: dark blue",
            ["widget-317", "2219 ms", "Oslo", "Bergen", "dark blue"],
            ["timeout (s) 2219 ms", "Crew 16", "Ports Oslo", "Ports Bergen", "use dark blue"],
        ),
        ("No.: 3; ship: Polar, the Fram", ["Polar, the Fram"], ["No. 3"]),
        ("day: 2024-03-01; high: 12 °C; wind: north", ["2024-03-01", "12 °C", "north"], ["high 12 °C", "wind north"]),
        ("Paris, Texas; population: 24,171; county: Lamar", ["Paris, Texas", "24,171", "Lamar"], None),
        ("| widget-317 | 2219 ms | team-9 |", ["widget-317", "2219 ms", "team-9"], None),
        ("Fram (Korean: 프람; Norwegian: Fram) is a ship.", None, None),
    ],
)
def test_names_of_a_row_end_at_its_cells(row: str, names: list[str] | None, triples: list[str] | None) -> None:
    result = extract(row, "Parts")
    check_spans(row, result)
    assert names is None or [mention.name for mention in result.mentions] == names
    assert triples is None or [" ".join(triple[1:]) for triple in result.triples] == triples
    assert names is None or {triple[0] for triple in result.triples} <= {names[0]}
