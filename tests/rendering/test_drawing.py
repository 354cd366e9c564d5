"""Evidence as SVG, and the order of cards in its chains and paths."""

from xml.etree import ElementTree as ET

import pytest

from clew.rendering.drawing import Card, Hop, arrange_columns, draw_evidence
from clew.types import Evidence, Path, Scored, Triple
from tests.rendering.results import HOSTILE, make_evidence

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {f"{SVG}{name}" for name in ("svg", "style", "rect", "text", "line", "path", "g", "title")}
AB, CB, CD = Triple("a", "r", "b", ("p",)), Triple("c", "s", "b"), Triple("c", "t", "d")


def test_hops_are_drawn_in_order_from_the_top() -> None:
    root = ET.fromstring(draw_evidence(make_evidence(), "Where was he born?"))
    texts = [(float(each.attrib["y"]), each.text) for each in root.iter(f"{SVG}text")]
    shown = [text for _, text in texts]
    assert texts == sorted(texts, key=lambda pair: pair[0])
    order = [
        "Where was he born?",
        "Chain",
        "joined by Louis Palander",
        "Path",
        "commanded",
        "was born in",
        "Karlskrona",
    ]
    assert [text for text in shown if text in order] == order
    boxes = [each for each in root.iter(f"{SVG}rect") if each.attrib["class"] == "clew-card"]
    assert len(boxes) == 5
    bottom = max(float(box.attrib["y"]) + float(box.attrib["height"]) for box in boxes)
    assert bottom < float(root.attrib["height"])


def test_an_arrow_points_to_the_tail_of_its_fact() -> None:
    """The path starts at Vega, whose fact has it as its tail."""
    heads = [each.attrib["d"] for each in ET.fromstring(draw_evidence(make_evidence())).iter(f"{SVG}path")]
    assert ["l-5 -8" in head for head in heads] == [True, False, True]


def test_hostile_text_stays_text() -> None:
    drawing = draw_evidence(make_evidence(HOSTILE, HOSTILE), HOSTILE)
    root = ET.fromstring(drawing)
    assert {each.tag for each in root.iter()} <= KNOWN
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on") or "href" in name]
    assert not {"\x1b", "\u202e"} & set(drawing)


@pytest.mark.parametrize(
    ("path", "cards"),
    [
        ((AB,), [Card("a"), Card("b", source="p", hop=Hop("r"))]),
        ((AB, CB), [Card("a"), Card("b", source="p", hop=Hop("r")), Card("c", hop=Hop("s", downward=False))]),
        ((CB, CD), [Card("b"), Card("c", hop=Hop("s", downward=False)), Card("d", hop=Hop("t"))]),
        ((AB, CD), [Card("a"), Card("b", source="p", hop=Hop("r")), Card("c"), Card("d", hop=Hop("t"))]),
    ],
)
def test_a_path_is_walked_from_end_to_end(path: Path, cards: list[Card]) -> None:
    (column,) = arrange_columns(Evidence(paths=(Scored(path, 1.0),)))
    assert list(column.cards) == cards


def test_ends_are_the_names_of_entities() -> None:
    """A passage may write an entity otherwise; the next fact of the path starts from it all the same."""
    path = (Triple("a", "r", "the B", tail_name="b"), Triple("b", "s", "c"))
    (column,) = arrange_columns(Evidence(paths=(Scored(path, 1.0),)))
    assert [card.title for card in column.cards] == ["a", "b", "c"]


def test_chains_come_before_paths_and_passages_alone_where_there_is_neither() -> None:
    evidence = make_evidence()
    assert [column.heading for column in arrange_columns(evidence)] == ["Chain", "Path"]
    chain = arrange_columns(evidence)[0].cards
    assert [card.hop for card in chain] == [None, Hop("joined by Louis Palander")]
    (only,) = arrange_columns(Evidence(evidence.passages))
    assert [(card.source, card.hop) for card in only.cards] == [("ship#1", None), ("man#1", None)]
    (empty,) = arrange_columns(Evidence())
    assert (empty.heading, empty.cards) == ("Nothing was found", ())
    assert "Nothing was found" in draw_evidence(Evidence())


def test_the_number_of_columns_is_bounded() -> None:
    (path,), (chain,) = make_evidence().paths, make_evidence().chains
    columns = arrange_columns(Evidence(paths=(path,) * 9, chains=(chain,) * 9))
    assert [column.heading for column in columns] == [
        "Chain 1 of 9", "Chain 2 of 9", "Path 1 of 9", "Path 2 of 9", "Path 3 of 9",
    ]  # fmt: skip
