"""Evidence as SVG."""

from xml.etree import ElementTree as ET

from clew.rendering.evidence_drawing import draw_evidence
from clew.types import Evidence
from tests.rendering.results import HOSTILE, make_evidence

SVG = "{http://www.w3.org/2000/svg}"
KNOWN = {f"{SVG}{name}" for name in ("svg", "style", "rect", "text", "line", "path", "g", "title")}


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


def test_nothing_found_is_a_drawing_too() -> None:
    assert "Nothing was found" in draw_evidence(Evidence())
