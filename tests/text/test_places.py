from dataclasses import replace

import pytest

from clew import Document, Passage, Place, PlaceStart, StatedTime, Time
from clew.indexing.chunking import Chunker
from clew.indexing.selected_snapshot import document_hash
from clew.indexing.sources.plain_text import make_markdown_document
from clew.store.schema import canonical_json
from clew.text.places import (
    cut_places,
    pack_metadata,
    read_filter_fields,
    stored_titles,
    title_with_headings,
    unpack_metadata,
)

TEXT = "\n".join(f"Line {n} tells of ship {n}." for n in range(1, 41))
HEADINGS = (
    PlaceStart(0, Place(line=1)),
    PlaceStart(TEXT.index("Line 11"), Place(line=11, heading="Ships")),
    PlaceStart(TEXT.index("Line 30"), Place(line=30, heading="Ships > Tugs")),
)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (Place(page=3), "page 3"),
        (Place(slide=2, heading="Prices"), "slide 2, Prices"),
        (Place(sheet="Sales", row=4), "sheet Sales, row 4"),
        (Place(line=14, heading="Guide > Ropes"), "line 14, Guide > Ropes"),
        (Place(), ""),
    ],
)
def test_place_in_words(place: Place, words: str) -> None:
    assert str(place) == words


@pytest.mark.parametrize("overlap", [0, 5])
def test_each_line_of_each_passage_has_its_place(overlap: int) -> None:
    passages = Chunker(max_tokens=12, overlap=overlap).split(Document("a", "", TEXT, places=HEADINGS))
    assert len(passages) > 10
    for passage in passages:
        for offset in range(0, len(passage.text), 7):
            line = TEXT.count("\n", 0, passage.start + offset) + 1
            heading = "" if line < 11 else "Ships" if line < 30 else "Ships > Tugs"
            assert passage.place_at(offset) == Place(line=line, heading=heading)


def test_a_citation_has_the_place_of_the_quote_not_of_the_passage() -> None:
    (passage,) = Chunker(max_tokens=1000).split(Document("a", "Fleet", TEXT, places=HEADINGS))
    start = TEXT.index("ship 31")
    citation = passage.cite(start, start + 7)
    assert (citation.quote, citation.start) == ("ship 31", start)
    assert citation.place == Place(line=31, heading="Ships > Tugs")


def test_places_are_those_of_a_scan_from_the_first() -> None:
    places = [PlaceStart(0, Place(page=1)), PlaceStart(10, Place(page=2)), PlaceStart(20, Place(page=4))]
    spans = [(0, 5), (3, 12), (12, 19), (19, 40), (35, 40)]
    for (start, end), own in zip(spans, cut_places(places, "x" * 40, spans), strict=True):
        passage = Passage("", "", "", "x" * (end - start), start, end, places=own)
        for offset in range(end - start):
            expected = [p.place for p in places if p.offset <= start + offset][-1]
            assert passage.place_at(offset) == expected


def test_a_passage_is_read_under_the_headings_that_it_does_not_have_itself() -> None:
    text = "# Guide\n\n## Ropes\n\n" + " ".join(f"Knot {n} holds." for n in range(60))
    document = make_markdown_document("a.md", "a", text)
    first, second, *_ = Chunker(max_tokens=40).split(document)
    read = [title_with_headings(p.title, p.text, p.places) for p in (first, second)]
    assert read == ["Guide", "Guide, Ropes"]
    places = (PlaceStart(0, Place(heading="Use > the users > Log")),)
    assert title_with_headings("Users", "Log in.", places) == "Users, Use"
    (stored,) = stored_titles([second.title], [second.text], [canonical_json(pack_metadata(second), "it")])
    assert stored == "Guide, Ropes"


def test_a_passage_without_places_has_none() -> None:
    (passage,) = Chunker().split(Document("a", "", TEXT))
    assert passage.places == ()
    assert passage.cite(0, 4).place is None


def test_places_are_stored_with_the_metadata() -> None:
    passage = Passage("", "", "", "", 0, 0, {"year": 1990}, HEADINGS)
    stated = (StatedTime(0, 4, "1998-01-01", "1998-12-31"),)
    dated = replace(passage, time=Time("2024-03-05", "", "field date"), times=stated)
    for stored in (passage, dated, replace(passage, places=(), times=stated)):
        assert replace(passage, **unpack_metadata(canonical_json(pack_metadata(stored), ""))) == stored
    assert pack_metadata(replace(passage, places=())) == {"year": 1990}  # indexes without places are as they were


def test_a_filter_knows_pages_and_headings_where_metadata_do_not() -> None:
    places = (PlaceStart(0, Place(page=2, heading="A")), PlaceStart(5, Place(page=3, heading="A")))
    passage = Passage("", "", "", "", 0, 0, {}, places, Time("2024-03-05"))
    assert read_filter_fields(canonical_json(pack_metadata(passage), "")) == {"page": [2, 3], "heading": "A"}
    passage = replace(passage, metadata={"page": 9})
    assert read_filter_fields(canonical_json(pack_metadata(passage), "")) == {"page": 9, "heading": "A"}


def test_lines_and_file_times_change_no_hash_but_pages_and_headings_do() -> None:
    plain = document_hash(Document("a", "", TEXT), "")
    lines = (PlaceStart(0, Place(line=1)), PlaceStart(9, Place(line=2)))
    assert document_hash(Document("a", "", TEXT, places=lines, origin={"modified": "2020"}), "") == plain
    others = [*((PlaceStart(0, Place(page=n)),) for n in (1, 2)), HEADINGS]
    assert len({plain, *(document_hash(Document("a", "", TEXT, places=places), "") for places in others)}) == 4
