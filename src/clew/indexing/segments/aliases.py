"""The names of passages that are aliases, taken for the full names that they stand for in their document."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from clew.store.schema import ALIAS_RELATION


def use_full_names(rows: pa.Table) -> pa.Table:
    """Return rows whose mentions and facts have full names in place of aliases; without aliases, the same rows.

    Each passage's aliases hold for it alone. What is left is written like any other passage: places in the text, order
    and facts stay.
    """
    relations = rows["triples"].combine_chunks().flatten().field("relation")
    if not pc.any(pc.equal(relations, ALIAS_RELATION)).as_py():
        return rows
    mentions, triples = rows["mentions"].to_pylist(), rows["triples"].to_pylist()
    for row, stated in enumerate(triples):
        full = {t["head"]: t["tail"] for t in stated if t["relation"] == ALIAS_RELATION}
        if full:
            mentions[row] = [_with_full_names(mention, full) for mention in mentions[row]]
            facts = [t for t in stated if t["relation"] != ALIAS_RELATION]
            triples[row] = [_with_full_names(fact, full) for fact in facts]
    for name, cells in (("mentions", mentions), ("triples", triples)):
        place = rows.schema.get_field_index(name)
        column = rows.schema.field(place)
        rows = rows.set_column(place, column, pa.array(cells, type=column.type))
    return rows


def _with_full_names(cell: Mapping[str, Any], full: Mapping[str, str]) -> dict[str, Any]:
    return {key: full.get(value, value) if key in ("name", "head", "tail") else value for key, value in cell.items()}
