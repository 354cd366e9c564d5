"""Odd rows of the passages table, for tests of segments."""

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from clew.store.integrity import INTEGRITY_COLUMNS, add_integrity_columns
from clew.store.schema import PassageRow, rows_to_table
from clew.types import Mention

WIDTH = 3

_PIECES = (
    "Fram", "fram", "the", "The", "Vega", "ship", "a", "of", "Oslo", "III", "1893", "½", "™", "№", "ﷺ", "é", "É", "ß",
    "İ", "ǆ", "ª", "卡尔", "の", "ก", "กั", "ั", "́", "k̈", "हिन्दी", "שׁ", "_", "🚢", " ", "  ", "   ", "\n", "\n\n", ". ",
    "? ", "-", "(", ")", "（", "）", "#", "## ", "### The end", "\n## Life #\n", "\n#### Works\n", "[x](a.md)", "'",
    "“", "…", "\u00a0", "\u2028", "\ufeff", "𝔉ram", "𠀀", "running", "runs", "ﬁ", "ﷺ الله",
)  # fmt: skip
texts = st.lists(st.sampled_from(_PIECES) | st.text(max_size=3), max_size=14).map(
    lambda pieces: "".join(pieces).replace("\0", "")
)
names = (
    st.sampled_from(("Fram", "The Fram", "fram", "Fram (ship)", "", " ", "!!!", "™", "tm", "A", "ﷺ", "卡尔")) | texts
)
links = st.sampled_from(
    ("a.md", "../b.md", "x/./c.md#top", "?q", "#top", "Fram_%28ship%29", "Oslo", "http://x/y.html", "/")
)
_places = st.tuples(st.integers(-1, 40), st.integers(-1, 45))
mentions = st.builds(lambda name, place: Mention(name, "name", *place), names, _places)
triples = st.tuples(names, st.sampled_from(("", " is ", "is", "mentions")) | texts, names)


@st.composite
def passage_rows(draw: st.DrawFn) -> list[PassageRow]:
    """Draw the passages of up to three documents."""
    rows: list[PassageRow] = []
    for document in draw(st.lists(st.sampled_from(("a", "x/b.md", "x/y/c", "日本", "Z")), unique=True, max_size=3)):
        title, aliases = draw(names), tuple(draw(st.lists(names, max_size=2)))
        linked = tuple(draw(st.lists(links, max_size=3)))
        rows.extend(
            PassageRow(
                id=f"{document}#{ordinal}",
                document_id=document,
                ordinal=ordinal,
                title=title,
                text=draw(texts),
                start=ordinal * 10,
                end=ordinal * 10 + 5,
                metadata={"year": ordinal},
                aliases=aliases,
                links=linked,
                document_hash=f"hash of {document}",
                mentions=tuple(draw(st.lists(mentions, max_size=4))),
                triples=tuple(draw(st.lists(triples, max_size=3))),
                failure=draw(st.sampled_from((None, "no reply"))),
                extractor=draw(st.sampled_from(("rules-1", "llm:x"))),
                vector=np.eye(WIDTH, dtype=np.float32)[ordinal % WIDTH],
            )
            for ordinal in range(draw(st.integers(1, 3)))
        )
    return rows


def stored_table(rows: list[PassageRow], dimension: int = WIDTH) -> pa.Table:
    """Return rows as the table stores them, without their checksums."""
    table = rows_to_table(rows, dimension)
    stored = add_integrity_columns(table, dimension, sorted({row.document_id for row in rows}))
    return stored.drop_columns([INTEGRITY_COLUMNS[1]])
