"""Notebooks (`.ipynb`): the cells of words and of code, without what they printed."""

import json
from typing import Any

from clew.errors import InputError
from clew.indexing.sources.contents import FileContents, HeadingPath, TextBuilder
from clew.indexing.sources.markdown import find_headings, find_links, write_rows
from clew.text.places import HEADING_SEPARATOR
from clew.types import Place


def read_notebook(data: bytes) -> FileContents:
    """Return the cells of a notebook, with the headings above each part, and the number of its cell."""
    try:
        notebook = json.loads(data)
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        sources = [(cell["cell_type"], _source(cell)) for cell in cells]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise InputError(f"the .ipynb file is no notebook ({error!r:.200}); save it again or leave it out") from error
    builder, headings, title = TextBuilder(), HeadingPath(), ""
    for number, (kind, text) in enumerate(sources, 1):
        starts, before = [], headings.path
        if kind in ("markdown", "heading"):
            text = "".join(part.text for part in write_rows(text))
            found = list(find_headings(text))
            title = title or next((heading.text for heading in found if heading.level == 1), "")
            starts = [(heading.offset, headings.enter(heading.level, heading.text)) for heading in found]
            builder.links.update(dict.fromkeys(find_links(text)))
        if not starts or starts[0][0] > 0:
            starts.insert(0, (0, before))
        ends = [start for start, _ in starts[1:]] + [len(text)]
        for (start, path), end in zip(starts, ends, strict=True):
            builder.add(
                text[start:end].rstrip(), Place(heading=HEADING_SEPARATOR.join(filter(None, [path, f"cell {number}"])))
            )
    return builder.contents([title])


def _source(cell: dict[str, Any]) -> str:
    source = cell["source"] if "source" in cell else cell["input"]
    text = "".join(source) if isinstance(source, list) else source
    if not isinstance(text, str):
        raise TypeError(f"a cell holds {type(text).__name__}")
    return text
