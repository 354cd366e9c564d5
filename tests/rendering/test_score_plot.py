"""Scores against seconds, as SVG."""

from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from clew.rendering.score_plot import Point, draw_plot

SVG = "{http://www.w3.org/2000/svg}"
POINTS = (
    Point("slow and good", 0.8, 1.0, (0.75, 0.85)),
    Point("quick", 0.5, 0.001, (0.45, 0.55)),
    Point("surpassed", 0.4, 0.5),
    Point("<b>&\x1b", 0.5, 0.0011),
)


def circles(drawing: str) -> dict[str, tuple[float, float]]:
    found = {}
    for group in ET.fromstring(drawing).iter(f"{SVG}g"):
        (title,), (circle,) = group.findall(f"{SVG}title"), group.findall(f"{SVG}circle")
        found[str(title.text).rpartition(":")[0]] = float(circle.attrib["cx"]), float(circle.attrib["cy"])
    return found


def test_a_point_lies_where_its_values_say() -> None:
    """Seconds are logarithmic and grow to the right; scores grow upwards."""
    drawn = circles(draw_plot(POINTS, "recall@5"))
    assert drawn["slow and good"][1] < drawn["quick"][1] < drawn["surpassed"][1]
    step = drawn["slow and good"][0] - drawn["quick"][0]
    tenth = Point("tenth", 0.5, 0.01)
    more = circles(draw_plot((*POINTS, tenth), "recall@5"))
    assert more["tenth"][0] - more["quick"][0] == pytest.approx(step / 3, abs=0.2)
    assert "<b>& " in drawn


def test_the_line_joins_the_points_that_no_other_surpasses() -> None:
    drawing = draw_plot(POINTS, "recall@5")
    (line,) = ET.fromstring(drawing).iter(f"{SVG}polyline")
    drawn = circles(drawing)
    joined = [tuple(map(float, corner.split(","))) for corner in line.attrib["points"].split()]
    assert joined == [drawn["quick"], drawn["slow and good"]]


def test_names_of_near_points_do_not_cover_each_other() -> None:
    points = [Point(f"retriever {number}", 0.5, 0.01) for number in range(4)]
    texts = list(ET.fromstring(draw_plot(points, "recall@5")).iter(f"{SVG}text"))
    heights = sorted(float(each.attrib["y"]) for each in texts if str(each.text).startswith("retriever"))
    assert all(low + 15 < high for low, high in pairwise(heights))


@pytest.mark.parametrize("points", [[], [Point("zero", 0.0, 0.0)], [Point("all", 1.0, 20.0, (1.0, 1.0))]])
def test_the_ends_of_the_scales_are_drawn(points: list[Point]) -> None:
    assert ET.fromstring(draw_plot(points, "recall@2")).tag == f"{SVG}svg"
