"""Segments of rows with aliases equal those of rows that a plain loop rewrote with full names."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.segments.flat import flatten_arrays
from clew.indexing.segments.maker import make_segment
from clew.store.schema import ALIAS_RELATION, PassageRow
from clew.types import Mention
from tests.indexing.segments.rows import WIDTH, names, passage_rows, stored_table


def rewrite(row: PassageRow, aliases: dict[str, str]) -> PassageRow:
    """Return a row in which full names stand for their aliases."""
    mentions = []
    for mention in row.mentions:
        name = mention.name
        if name in aliases:
            name = aliases[name]
        mentions.append(Mention(name, mention.kind, mention.start, mention.end))
    triples = []
    for head, relation, tail in row.triples:
        triples.append((aliases.get(head, head), relation, aliases.get(tail, tail)))
    return replace(row, mentions=tuple(mentions), triples=tuple(triples))


@given(passage_rows(), st.data())
@pytest.mark.slow
def test_aliases_stand_for_full_names_in_their_own_passage(rows: list[PassageRow], data: st.DataObject) -> None:
    stored, expected = [], []
    for row in rows:
        own = [m.name for m in row.mentions] + [end for head, _, tail in row.triples for end in (head, tail)]
        chosen = data.draw(st.lists(st.sampled_from(own), unique=True, max_size=3)) if own else []
        aliases = {name: data.draw(names) for name in chosen}
        marks = tuple((name, ALIAS_RELATION, full) for name, full in aliases.items())
        stored.append(replace(row, triples=(*row.triples, *marks)))
        expected.append(rewrite(row, aliases))
    found = flatten_arrays(make_segment(stored_table(stored), WIDTH))
    wanted = flatten_arrays(make_segment(stored_table(expected), WIDTH))
    assert found.keys() == wanted.keys()
    for path, array in found.items():
        np.testing.assert_array_equal(array, wanted[path], err_msg=path)
