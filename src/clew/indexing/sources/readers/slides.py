"""PowerPoint files (`.pptx`) by `python-pptx`: the texts, tables and notes of each slide."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from clew.indexing.sources.contents import FileContents, TextBuilder
from clew.indexing.sources.tables import Cell, table_rows
from clew.types import Place

_STOCK_TITLES = frozenset({"powerpoint presentation", "powerpoint-präsentation"})


def read_slides(data: bytes) -> FileContents:
    """Return the text of a presentation, with the slide of each part, and the slide's title as its heading.

    Hidden slides, and hidden shapes of others, are counted in a note.
    """
    from pptx import Presentation

    presentation = Presentation(io.BytesIO(data))
    builder = TextBuilder()
    first = ""
    for number, slide in enumerate(presentation.slides, 1):
        if slide.element.get("show") in ("0", "false"):
            builder.left_out["hidden slide"] += 1
            continue
        title_shape = _find_title(slide)
        title = "" if title_shape is None else " ".join(title_shape.text_frame.text.split())
        first = first or title
        place = Place(slide=number, heading=title)
        builder.add(title, place)
        for block, separator in _blocks(
            slide.shapes, None if title_shape is None else title_shape.shape_id, builder.left_out
        ):
            builder.add(block, place, separator)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = "\n".join(map(_lines, slide.notes_slide.notes_text_frame.text.split("\n"))).strip()
            builder.add(f"Notes: {notes}" if notes else "", place)
    own = (presentation.core_properties.title or "").strip()
    return builder.contents(["" if own.lower() in _STOCK_TITLES else own, first])


def _find_title(slide: Any) -> Any:
    title = slide.shapes.title
    return None if title is None or _is_hidden(title) else title


def _is_hidden(shape: Any) -> bool:
    properties = shape.element.find(".//{*}cNvPr")  # the first is the shape's own
    return properties is not None and properties.get("hidden") in ("1", "true")


def _blocks(shapes: Iterable[Any], title_id: int | None, left_out: Counter[str]) -> Iterator[tuple[str, str]]:
    for shape in shapes:
        if _is_hidden(shape):
            left_out["hidden shape"] += 1
            continue
        if shape.shape_id == title_id or _is_number_or_date(shape):
            continue
        if hasattr(shape, "shapes"):  # a group
            yield from _blocks(shape.shapes, title_id, left_out)
        elif getattr(shape, "has_table", False):
            yield from ((row, "\n\n") for row in table_rows([_row_cells(row) for row in shape.table.rows]))
        elif shape.has_text_frame:
            for number, paragraph in enumerate(shape.text_frame.paragraphs):
                yield _lines(paragraph.text), "\n" if number else "\n\n"


def _lines(text: str) -> str:
    """Return a paragraph with its line breaks, which are vertical tabs, as new lines."""
    return "\n".join(" ".join(line.split()) for line in text.split("\v"))


def _is_number_or_date(shape: Any) -> bool:
    """Return whether a shape shows the number of the slide or the day, which are text of every slide."""
    from pptx.enum.shapes import PP_PLACEHOLDER

    return shape.is_placeholder and shape.placeholder_format.type in (PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE)


def _row_cells(row: Any) -> list[Cell]:
    return [Cell(cell.text, cell.span_width, cell.span_height) for cell in row.cells if not cell.is_spanned]
