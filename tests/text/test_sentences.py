"""Sentence splitting: expected sentences in several scripts, and the properties of the spans."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.sentences import passage_sentence_spans, sentence_spans, without_headings

PIECES = st.lists(
    st.sampled_from(
        [
            "Mr. ",
            "word ",
            "Word",
            ". ",
            ".",
            "!",
            "? ",
            "\n",
            "\n\n",
            "\r\n",
            "# ",
            "- ",
            "1. ",
            "”",
            '"',
            "。",
            "」",
            "A. ",
            "5",
        ]
    )
    | st.text(max_size=6),
    max_size=40,
).map("".join)


WRAPPED_LINE = "A line of a text that was broken to fit a page where\nThe"


def split_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Smith met Dr. Jones and Prof. Lee.", "They talked."],
        ["He lives in Washington, D.C.", "She lives in the U.S. Virgin Islands.", "The end."],
        ["The U.S. Army came.", "He left the U.S.", "It rained."],
        ["J. R. R. Tolkien knew C. S. Lewis.", "J. A. Smith did not.", "George W. Bush came."],
        ["J.R.R. Tolkien wrote.", "He smoked."],
        ["See No. 5 and c. 1900, pp. 12–14.", "He said no.", "Then he left."],
        ["It cost 3.5 million, i.e. Too much.", "Version 1.2.3 is out.", "See example.org for more."],
        ["It was built in 1999.", "Then it fell."],
        ["St. Petersburg is far.", "They met on Main St.", "The shop was shut."],
        ["Acme Inc. Bolts broke.", "He worked for Acme Inc.", "They paid well."],
        ["“Really?” he asked.", "“Yes.”", "She left!", "What?!", "So..."],
        ["Wait... what?", "No… yes…", "Good."],
        ["(It was late.)", "He slept. ".strip()],
        ["Он родился в г. Москве.", "А. С. Пушкин писал стихи, сказки и т. д. и много пил.", "Правда?", "Да!"],
        ["هل هذا صحيح؟", "نعم.", "شكرا."],
        ["यह सच है।", "वह गया।"],
        ["🙂 is nice.", "👍 too!"],
    ],
)
def test_sentences_joined_by_a_space_are_split_again(expected: list[str]) -> None:
    assert split_sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "彼は来た。彼女は「行く。」と言った。本当？そう！",
            ["彼は来た。", "彼女は「行く。」と言った。", "本当？", "そう！"],
        ),
        ("# Title\nText here\n## Part two\nMore.", ["# Title", "Text here", "## Part two", "More."]),
        ("- one\n- two. And\n* three\n1. four\n2) five", ["- one", "- two.", "And", "* three", "1. four", "2) five"]),
        ("1. Four\n2. Five", ["1. Four", "2. Five"]),
        ("- a long item of a list that would be joined to what follows\n- next", None),
        ("# A long heading of a section that stands above its first line\nNext", None),
        ("First para\n\nsecond para", ["First para", "second para"]),
        (WRAPPED_LINE, [WRAPPED_LINE]),
        ("Broken here\nin lower case.", ["Broken here\nin lower case."]),
        ("Short line\nAnother line", ["Short line", "Another line"]),
        ("One\r\nTwo\r\n\r\nthree", ["One", "Two", "three"]),
        ("| a | b |\n| c | d |\n> quoted", ["| a | b |", "| c | d |", "> quoted"]),
        ("text\n  - nested item\n  - other", ["text", "- nested item", "- other"]),
        ("", []),
        (" \n ", []),
        ("no end", ["no end"]),
    ],
)
def test_lines_and_blocks(text: str, expected: list[str] | None) -> None:
    assert split_sentences(text) == (text.split("\n") if expected is None else expected)


@pytest.mark.parametrize(
    "expected",
    [
        ["the fram was built in larvik.", "it sailed north in 1893.", "who led it?", "nansen did."],
        ["mr. smith met dr. jones.", "they talked, e.g. about ships.", "it rained."],
        ["j. r. r. tolkien knew c. s. lewis.", "he left the u.s.", "it rained."],
        ["i met Bob in Paris.", "he was kind.", "then we went home.", "it was late."],
        ["версия 2.0 вышла в г. москве.", "она лучше.", "правда?", "да!"],
        ["wait... what is this?", "“really?” he asked.", "yes."],
    ],
)
def test_text_without_capitals_is_split_too(expected: list[str]) -> None:
    assert split_sentences(" ".join(expected)) == expected


@pytest.mark.parametrize("text", ["The firm (est. in 1900) made bolts.", "Cf. gr. xyz and lat. abc in the Book."])
def test_an_unknown_abbreviation_in_usual_text_ends_no_sentence(text: str) -> None:
    assert split_sentences(text) == [text]


LONG = "A sentence that is long enough to stand by itself"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LONG}. Yes. No. {LONG}.", [f"{LONG}. Yes. No.", f"{LONG}."]),
        (f"Yes. {LONG}.", ["Yes.", f"{LONG}."]),
        (f"{LONG}. {'N' * 28}.", [f"{LONG}. {'N' * 28}."]),
        (f"{LONG}. {'N' * 29}.", [f"{LONG}.", f"{'N' * 29}."]),
        ("Yes. " * 100, ["Yes. " * 59 + "Yes.", "Yes. " * 39 + "Yes."]),
        ("", []),
    ],
)
def test_short_sentences_of_a_passage_join_the_one_before(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in passage_sentence_spans(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ship: Fram; built: 1892\n\nship: Gjoa\n\nYes.", ["ship: Fram; built: 1892", "ship: Gjoa", "Yes."]),
        (f"{LONG}.\n\nship: Fram\n\nNo.\n\nYes.", [f"{LONG}.", "ship: Fram", "No.\n\nYes."]),
        (f"{LONG}.\n\nno row", [f"{LONG}.\n\nno row"]),
        (
            "No. of crew: 16; note: Hot. Do not touch!\n\nport: Oslo",
            ["No. of crew: 16; note: Hot. Do not touch!", "port: Oslo"],
        ),
        (f"{LONG}.\nship: Fram", [f"{LONG}.\nship: Fram"]),
    ],
)
def test_each_row_of_a_table_is_a_sentence_of_a_passage(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in passage_sentence_spans(text)] == expected


@given(PIECES | st.integers(35, 100).map(lambda count: f"{LONG}. " * count))
def test_a_passage_has_at_most_forty_sentences_that_cover_it(text: str) -> None:
    spans, whole = passage_sentence_spans(text), sentence_spans(text)
    assert len(spans) <= 40
    lengths = [end - start for start, end in spans]
    assert all(two >= 30 or one + two > 270 for one, two in pairwise(lengths))
    assert [start for start, _ in spans] == [start for start, _ in whole if start in {s for s, _ in spans}]
    assert not spans or (spans[0][0], spans[-1][1]) == (whole[0][0], whole[-1][1])
    assert all(any(start <= s and e <= end for start, end in spans) for s, e in whole)


@given(PIECES)
def test_spans_are_ordered_and_cover_every_visible_character(text: str) -> None:
    end = 0
    for start, stop in sentence_spans(text):
        assert end <= start < stop
        assert text[start:stop] == text[start:stop].strip()
        assert not text[end:start].strip()
        end = stop
    assert not text[end:].strip()


def test_each_paragraph_decides_for_itself() -> None:
    lower = "it was late. she slept. he read."
    assert split_sentences(f"It rained, etc. and so on.\n\n{lower}") == [
        "It rained, etc. and so on.", "it was late.", "she slept.", "he read.",
    ]  # fmt: skip


@given(PIECES, PIECES)
def test_a_blank_line_separates_two_texts(one: str, two: str) -> None:
    assert split_sentences(f"{one.strip()}\n\n{two.strip()}")[: len(split_sentences(one.strip()))] == split_sentences(
        one.strip()
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quote_has_no_headings_around_it(end: str) -> None:
    text = end.join(["# Ships", "", "Fram lies in Oslo, as the town tells.", "", "## Hall", "", "## Books", "", "One."])
    told = "Fram lies in Oslo, as the town tells."
    start, finish = text.index(told), text.index(told) + len(told)
    held = passage_sentence_spans(text)[0]
    assert text[slice(*held)].startswith("# Ships")
    assert without_headings(text, held[0], text.index("## Books") + len("## Books")) == (start, finish)
    assert without_headings(text, 0, len("# Ships")) == (0, len("# Ships"))


FORGED = "The hinges were forged by Karla Voss."


@pytest.mark.parametrize(
    ("held", "quoted"),
    [
        (f"{FORGED}\n\nService", FORGED),
        (f"{FORGED}\r\n\r\nService", FORGED),
        (f"Hinges\n \n{FORGED}\n\nService  \n\nSpare parts", FORGED),
        ("Crew\n\nTwo came.\n\nThey stayed.\n\nService", "Two came.\n\nThey stayed."),
        ("“Who came?”\n\nService", "“Who came?”"),
        ("彼は来た。\n\n概要", "彼は来た。"),
        ("She sailed in 1892.[12]\n\nService", "She sailed in 1892.[12]"),
        (f"{FORGED}\nService", None),
        (f"{FORGED}\r\nService", None),
        (f"{FORGED}\n\nship: Fram; built: 1892", None),
        (f"{FORGED}\n\n- Fram", None),
        (f"{'A long paragraph without an end ' * 3}\n\nYes.", None),
        ("Hinges\n\nService", None),
        (f"Yes.\n\nService\n\n{FORGED}", None),
    ],
)
def test_a_quote_has_no_short_paragraphs_around_it_that_are_headings(held: str, quoted: str | None) -> None:
    quoted = held if quoted is None else quoted
    text = f"Before.\n\n{held}\n\nAfter."
    start = text.index(held)
    assert text[slice(*without_headings(text, start, start + len(held)))] == quoted
    assert held[slice(*without_headings(held, 0, len(held)))] == quoted


def test_a_part_of_a_paragraph_is_no_heading() -> None:
    text = f"So it was. Forged {FORGED}\n\nService goes on"
    start = text.index("Forged")
    assert without_headings(text, start, text.index(" goes")) == (start, text.index(" goes"))


@given(PIECES)
def test_a_quote_lies_within_its_span_and_begins_and_ends_with_words(text: str) -> None:
    for start, end in passage_sentence_spans(text):
        first, last = without_headings(text, start, end)
        assert start <= first < last <= end
        assert text[first:last].rstrip() == text[first:last]


def test_headings_are_of_the_sentence_below_them() -> None:
    text = "# Guide\n\n## Chunks\n\nThe default is 512.\n\n## Retries\n\nThe default is 5.\n\n## Rest"
    spans = passage_sentence_spans(text)
    assert [" ".join(text[a:b].split()) for a, b in spans] == [
        "# Guide ## Chunks The default is 512.", "## Retries The default is 5.", "## Rest",
    ]  # fmt: skip
    far = f"# {'Long ' * 50}\n\n# {'Far ' * 50}\n\nText."
    assert len(passage_sentence_spans(far)) == 2


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Η πύλη κλείνει στις οκτώ; Ναι, κάθε βράδυ. Το κλειδί μένει.", 3),
        ("Դարպասը փակվում է ութին։ Բանալին մնում է հացթուխի մոտ։", 2),
        ("በሩ በስምንት ይዘጋል። ቁልፉ የት ነው፧ ከጋጋሪው ጋር ነው።", 3),
        ("ទ្វារបិទម៉ោងប្រាំបី។ សោនៅឯណា៕", 2),
        ("တံခါးသည် ရှစ်နာရီတွင် ပိတ်သည်။ သော့သည် ဆိုင်တွင် ရှိသည်။", 2),
        ("སྒོ་ཆུ་ཚོད་བརྒྱད་ལ་རྒྱག ལྡེ་མིག་ཁང་པར་ཡོད། དེ་བདེན།", 2),
        ("大门八点关!钥匙在哪?在面包店。", 3),
        ("真的吗?!是的。", 2),
        ("ประตูปิดตอนแปดโมงเย็นทุกวันและเปิดอีกครั้งตอนหกโมงเช้าของวันถัดไป กุญแจสำรองอยู่ที่ร้านขนมปังฝั่งตรงข้าม", 2),
        ("เขาชื่อ สมชาย ใจดี", 1),
    ],
)
def test_sentences_end_at_the_marks_of_their_script(text: str, count: int) -> None:
    assert len(sentence_spans(text)) == count
