"""Explanations of `clew explain` as text, JSON, SVG and HTML."""

from collections.abc import Callable
from typing import Any

from clew.commands.output import format_json
from clew.rendering.markup import escape_text, shorten, text_width
from clew_lab.gfm.target_explanations import ExplainedWalk, TargetExplanation, WeightedEdge

_BOX_HEIGHT, _ROW_HEIGHT, _STEP, _MARGIN = 34, 96, 150, 16  # in pixels
_CHARACTER = 7.5  # width of a letter, in pixels
_MAX_LABEL = 32  # characters of a name in a drawing; the whole name stands in its tooltip
_FONT = "font-family='sans-serif' font-size='13'"


def format_explanation(explanation: TargetExplanation, form: str) -> str:
    """Return an explanation as "text", "json", "svg" or "html"."""
    formats: dict[str, Callable[[TargetExplanation], str]] = {
        "text": _format_text,
        "json": lambda one: format_json(explanation_json(one), indent=2),
        "svg": draw_svg,
        "html": draw_html,
    }
    return formats[form](explanation)


def explanation_json(explanation: TargetExplanation) -> dict[str, Any]:
    """Return an explanation as JSON values."""
    return {
        "question": explanation.question,
        "target": explanation.target,
        "passage": explanation.passage or None,
        "logit": explanation.logit,
        "score_by": "mean" if explanation.by_mean else "sum",
        "walks": [
            {"score": walk.score, "loop": walk.has_loop, "edges": list(map(_edge_json, walk.edges))}
            for walk in explanation.walks
        ],
        "notes": list(explanation.notes),
    }


def _edge_json(edge: WeightedEdge) -> dict[str, Any]:
    triple = edge.triple
    return {
        "from": edge.start,
        "to": edge.end,
        "head": triple.head,
        "relation": triple.relation,
        "tail": triple.tail,
        "inverse": edge.inverse,
        "weight": edge.weight,
        "layer": edge.layer,
        "passages": list(triple.passages),
    }


def _format_text(explanation: TargetExplanation) -> str:
    lines = [_title(explanation)]
    for number, walk in enumerate(explanation.walks, 1):
        steps = walk.edges[0].start + "".join(_step(edge) for edge in walk.edges)
        lines.append(f"{number}. {walk.score:.4f}{' (loop)' if walk.has_loop else ''}  {steps}")
    return "\n".join([*lines, *(f"note: {note}" for note in explanation.notes)])


def _title(explanation: TargetExplanation) -> str:
    passage = f", passage {explanation.passage}" if explanation.passage else ""
    kind = "mean" if explanation.by_mean else "sum"
    return f"{explanation.target}{passage}: logit {explanation.logit:.3f}; walks by the {kind} of their weights"


def _step(edge: WeightedEdge) -> str:
    """Return an edge and the node that it leads to; `<-` and ^-1 mark a walk against the triple."""
    if edge.inverse:
        return f" <-[{edge.triple.relation}^-1 {edge.weight:.4f}]- {edge.end}"
    return f" -[{edge.triple.relation} {edge.weight:.4f}]-> {edge.end}"


def draw_svg(explanation: TargetExplanation) -> str:
    """Return a drawing, one row a walk: boxes of names, arrows in the direction of the triples."""
    rows = [_draw_walk(walk, _MARGIN + 24 + number * _ROW_HEIGHT) for number, walk in enumerate(explanation.walks)]
    width = max([width for width, _ in rows], default=0.0)
    width = max(width, _CHARACTER * text_width(_title(explanation))) + 2 * _MARGIN
    height = 2 * _MARGIN + 24 + len(rows) * _ROW_HEIGHT
    marker = (
        "<defs><marker id='arrow' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='8' markerHeight='8' "
        "orient='auto-start-reverse'><path d='M0 0 8 4 0 8z' fill='#444'/></marker></defs>"
    )
    title = escape_text(_title(explanation))
    head = f"<text x='{_MARGIN}' y='{_MARGIN + 8}' {_FONT} font-weight='bold'>{title}</text>"
    size = f"width='{width:.0f}' height='{height}' viewBox='0 0 {width:.0f} {height}'"
    body = "\n".join(drawing for _, drawing in rows)
    return f"<svg xmlns='http://www.w3.org/2000/svg' {size}>\n{marker}\n{head}\n{body}\n</svg>"


def _draw_walk(walk: ExplainedWalk, top: float) -> tuple[float, str]:
    """Return the right end of a row, and its drawing."""
    label = f"{walk.score:.4f}{' (loop)' if walk.has_loop else ''}"
    parts = [f"<text x='{_MARGIN}' y='{top + 12}' {_FONT} fill='#666'>{label}</text>"]
    middle = top + 24 + _BOX_HEIGHT / 2
    end, box = _draw_box(walk.edges[0].start, _MARGIN, middle)
    parts.append(box)
    for edge in walk.edges:
        step = max(_STEP, _CHARACTER * text_width(shorten(edge.triple.relation, _MAX_LABEL)) + 50)
        marker = "marker-start" if edge.inverse else "marker-end"
        line = f"x1='{end + 2:.0f}' y1='{middle}' x2='{end + step - 2:.0f}' y2='{middle}'"
        stroke = f"stroke='#444' stroke-width='1.5' {marker}='url(#arrow)'"
        relation = f"{shorten(edge.triple.relation, _MAX_LABEL)}{'⁻¹' if edge.inverse else ''}"
        tooltip = f"<title>{escape_text(f'{edge.triple.head} | {edge.triple.relation} | {edge.triple.tail}')}</title>"
        centre = f"x='{end + step / 2:.0f}' text-anchor='middle' {_FONT}"
        parts += [
            f"<line {line} {stroke}>{tooltip}</line>",
            f"<text {centre} y='{middle - 8}'>{escape_text(relation)}</text>",
            f"<text {centre} y='{middle + 18}' fill='#666'>{edge.weight:.4f}</text>",
        ]
        end, box = _draw_box(edge.end, end + step, middle)
        parts.append(box)
    return end, "\n".join(parts)


def _draw_box(name: str, left: float, middle: float) -> tuple[float, str]:
    label = shorten(name, _MAX_LABEL)
    width = _CHARACTER * text_width(label) + 20
    top = middle - _BOX_HEIGHT / 2
    rectangle = f"x='{left:.0f}' y='{top}' width='{width:.0f}' height='{_BOX_HEIGHT}' rx='6'"
    text = f"x='{left + width / 2:.0f}' y='{middle + 4}' text-anchor='middle' {_FONT}"
    drawing = (
        f"<g><title>{escape_text(name)}</title><rect {rectangle} fill='#eef3fb' stroke='#8aa4cf'/>"
        f"<text {text}>{escape_text(label)}</text></g>"
    )
    return left + width, drawing


def draw_html(explanation: TargetExplanation) -> str:
    """Return a page of its own: the drawing, and a table with the edges of every walk."""
    rows = "\n".join(
        f"<tr><td>{number}</td><td>{walk.score:.4f}</td><td>{edge.layer}</td><td>{edge.weight:.4f}</td>"
        f"<td>{escape_text(edge.triple.head)}</td><td>{escape_text(edge.triple.relation)}</td><td>{escape_text(edge.triple.tail)}</td>"
        f"<td>{'yes' if edge.inverse else ''}</td><td>{escape_text(', '.join(edge.triple.passages))}</td></tr>"
        for number, walk in enumerate(explanation.walks, 1)
        for edge in walk.edges
    )
    head = "".join(
        f"<th>{name}</th>"
        for name in ("walk", "score", "layer", "weight", "head", "relation", "tail", "walked from tail", "stated in")
    )
    notes = "".join(f"<p>{escape_text(note)}</p>" for note in explanation.notes)
    style = (
        "body{font-family:sans-serif;margin:2em}td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ddd}"
    )
    return (
        f"<!doctype html>\n<html><head><meta charset='utf-8'><title>{escape_text(explanation.target)}</title>"
        f"<style>{style}</style></head>\n<body><h1>{escape_text(explanation.question)}</h1>\n{draw_svg(explanation)}\n"
        f"<table><tr>{head}</tr>\n{rows}\n</table>{notes}</body></html>"
    )
