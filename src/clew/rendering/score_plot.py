"""A plot of a score against seconds, one point a retriever, as SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from clew.rendering.markup import escape_line, shorten, text_width

_WIDTH, _HEIGHT = 640, 420  # in pixels, as all below
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 40, 52
_LABEL_HEIGHT, _LETTER = 16, 7
_MAX_NAME = 32  # columns of a name; the whole stands in its tooltip
_FONT = 'font-family="system-ui,sans-serif" font-size="13"'


@dataclass(frozen=True, slots=True)
class Point:
    """A retriever: its score in [0, 1] with an interval, and the seconds of a question."""

    name: str
    score: float
    seconds: float
    interval: tuple[float, float] | None = None


def draw_plot(points: Sequence[Point], score_name: str) -> str:
    """Return an SVG document: seconds of a question on a logarithmic axis, scores in % on the other one.

    The line joins the points that no other point surpasses in both.
    """
    scales = _Scales.fit(points)
    parts = [*_draw_axes(scales, score_name), *_draw_front(points, scales)]
    labels: list[_Label] = []
    for point in sorted(points, key=lambda p: (-p.score, p.name)):
        label = _place_label(point, scales, labels)
        labels.append(label)
        parts.append(_draw_point(point, scales, label))
    height = max([_HEIGHT, *(label.y + _BOTTOM for label in labels)])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{_WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {_WIDTH} {height:g}" '
        f'aria-label="{escape_line(score_name)} against seconds">'
        f'<rect width="{_WIDTH}" height="{height:g}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>"
    )


@dataclass(frozen=True, slots=True)
class _Label:
    text: str
    left: float
    y: float
    width: float


@dataclass(frozen=True, slots=True)
class _Scales:
    low: float  # decades of seconds
    high: float
    bottom: float  # scores
    top: float

    @classmethod
    def fit(cls, points: Sequence[Point]) -> "_Scales":
        decades = [math.log10(max(point.seconds, 1e-6)) for point in points]
        scores = [end for p in points for end in (p.score, *(p.interval or ()))]
        bottom = max(0.0, math.floor(10 * min(scores, default=0.0)) / 10)
        top = min(1.0, math.ceil(10 * max(scores, default=1.0)) / 10)
        low, high = math.floor(min(decades, default=-3.0)), math.ceil(max(decades, default=0.0))
        return cls(low, high if high > low else low + 1, bottom, top if top > bottom else bottom + 0.1)

    def x(self, seconds: float) -> float:
        share = (math.log10(max(seconds, 1e-6)) - self.low) / (self.high - self.low)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, score: float) -> float:
        return _HEIGHT - _BOTTOM - (score - self.bottom) / (self.top - self.bottom) * (_HEIGHT - _TOP - _BOTTOM)


def _draw_axes(scales: _Scales, score_name: str) -> list[str]:
    parts = [_text(f"{score_name}, % (bars: 95 % intervals), against median seconds of a question", 16, 20, "start")]
    step = 0.1 if scales.top - scales.bottom > 0.25 else 0.05
    for number in range(round((scales.top - scales.bottom) / step) + 1):
        score = scales.bottom + number * step
        y = scales.y(score)
        parts += [_line(_LEFT, y, _WIDTH - _RIGHT, y, "#e3e0d9"), _text(f"{100 * score:.0f}", _LEFT - 8, y + 4, "end")]
    for decade in range(round(scales.low), round(scales.high) + 1):
        x = scales.x(10.0**decade)
        parts += [
            _line(x, _TOP, x, _HEIGHT - _BOTTOM, "#e3e0d9"),
            _text(_format_seconds(decade), x, _HEIGHT - _BOTTOM + 20, "middle"),
        ]
    return parts


def _draw_front(points: Sequence[Point], scales: _Scales) -> list[str]:
    front: list[Point] = []
    for point in sorted(points, key=lambda p: (p.seconds, -p.score, p.name)):
        if not front or point.score > front[-1].score:
            front.append(point)
    corners = " ".join(f"{scales.x(p.seconds):.1f},{scales.y(p.score):.1f}" for p in front)
    return [f'<polyline points="{corners}" fill="none" stroke="#0b6666" stroke-opacity=".35" stroke-width="2"/>']


def _place_label(point: Point, scales: _Scales, others: Sequence[_Label]) -> _Label:
    """Return the place of a name beside its point, below the names that it would cover."""
    text = shorten(" ".join(point.name.split()), _MAX_NAME)
    x, width = scales.x(point.seconds), _LETTER * text_width(text)
    left = x - 10 - width if x > _WIDTH * 0.7 else x + 10
    y = scales.y(point.score) + 4
    for other in sorted(others, key=lambda label: label.y):
        if left < other.left + other.width and other.left < left + width and abs(y - other.y) < _LABEL_HEIGHT:
            y = other.y + _LABEL_HEIGHT
    return _Label(text, left, y, width)


def _draw_point(point: Point, scales: _Scales, label: _Label) -> str:
    x, y = scales.x(point.seconds), scales.y(point.score)
    seen = f"{point.name}: {100 * point.score:.1f} % in {1000 * point.seconds:.1f} ms"
    bar = ""
    if point.interval is not None:
        bar = _line(x, scales.y(point.interval[0]), x, scales.y(point.interval[1]), "#0b6666")
    name = _text(label.text, label.left, label.y, "start")
    return (
        f'<g><title>{escape_line(seen)}</title>{bar}<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#0b6666"/>{name}</g>'
    )


def _format_seconds(decade: int) -> str:
    if decade >= 0:
        return f"{10**decade} s"
    return f"{10 ** (decade + 3)} ms" if decade >= -3 else f"{10 ** (decade + 6)} µs"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(text: str, x: float, y: float, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_FONT} fill="#20262b">{escape_line(text)}</text>'
