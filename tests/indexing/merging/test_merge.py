"""The arrays of a snapshot, merged from segments, are those that Python objects give, however passages are divided."""

from collections.abc import Sequence
from dataclasses import fields
from itertools import combinations
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.csr import Adjacency
from clew.graph.segments.flat import flatten_arrays
from clew.graph.segments.segment import CollisionError, Segment
from clew.graph.sentence_index import SentenceRows
from clew.graph.snapshot.imported_graph import ImportedGraph
from clew.graph.string_array import StringArray
from clew.indexing.kg_formats.entities import GraphTexts, build_imported_graph
from clew.indexing.merging.match_texts import MatchTexts, read_match_texts, select_match_texts
from clew.indexing.merging.merge import MergedArrays, merge_segments
from clew.indexing.merging.title_matches import TitleMatches
from clew.indexing.segments.maker import make_segment
from clew.store.schema import PassageRow
from clew.text import normalization, token_arrays
from clew.text.normalization import key_hash
from clew.types import Mention
from tests.indexing.merging.corpora import corpora, shortened
from tests.indexing.segments.rows import passage_rows, stored_table
from tests.oracles.sentences import SENTENCE_ROWS
from tests.oracles.snapshots import plain_form, plain_snapshot


def merge_rows(parts: list[list[PassageRow]], salt: int = 0) -> MergedArrays:
    return merge_segments([make_segment(stored_table(part, 0), 0, salt) for part in parts], None, salt)


ENDS = st.sampled_from(("Fram", "fram", "Oslo", "<http://x/The_Fram>", "Vega", "new york", "7"))
TRIPLES = st.lists(st.tuples(ENDS, st.sampled_from(("built", "in", "links to")), ENDS), min_size=1, max_size=6)


def read_graph(triples: list[tuple[str, str, str]], salt: int = 0) -> ImportedGraph:
    columns = [pa.array([row[index] for row in triples], pa.string()) for index in range(3)]
    texts = GraphTexts()
    texts.add_triples(pa.StructArray.from_arrays(columns, ["head", "relation", "tail"]))
    return build_imported_graph(texts, salt)


@given(rows=corpora(), triples=TRIPLES)
@pytest.mark.slow
def test_a_graph_is_merged_too(rows: list[PassageRow], triples: list[tuple[str, str, str]]) -> None:
    graph, table = read_graph(triples), stored_table(rows, 0)
    merged = merge_segments([make_segment(table, 0)], graph)
    assert plain_form(merged) == plain_snapshot(table.to_pylist(), graph)
    assert merged.imported.any()


def test_texts_of_segments_that_were_merged_before_are_compared_with_new_ones_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (normalization, token_arrays):
        monkeypatch.setattr(module, "blake2b", shortened(1))
    words = [f"word{number}" for number in range(30)]

    def make(word: str, salt: int) -> Segment:
        row = PassageRow(f"{word}#0", word, 0, word, word, 0, 9, extractor="rules")
        return make_segment(stored_table([row], 0), 0, salt)

    hashes = {(word, salt): key_hash(word, salt) for word in words for salt in range(4)}
    pairs = [(one, other, salt) for salt in range(4) for one, other in combinations(words, 2)]
    colliding = [(one, other, salt) for one, other, salt in pairs if hashes[one, salt] == hashes[other, salt]]
    assert colliding
    for one, other, salt in colliding:
        segments = [make(one, salt), make(other, salt)]
        for agreeing in (set(), {0}, {1}):
            with pytest.raises(CollisionError, match="have the same hash"):
                merge_segments(segments, None, salt, None, agreeing)
        merge_segments(segments, None, salt, None, {0, 1})
    different = [make(word, 0) for word in words[:2]]
    for agreeing in ({0}, {1}, {0, 1}):
        assert content(merge_segments(different, None, 0, None, agreeing)) == content(merge_segments(different))


def content(arrays: MergedArrays) -> dict[str, bytes]:
    """Return the bytes of every array that does not say where passages lie."""
    parts: dict[str, bytes] = {}
    for field in fields(MergedArrays):
        value = getattr(arrays, field.name)
        names = {StringArray: ("data", "offsets"), Adjacency: ("indptr", "indices", "weights")}.get(type(value), ())
        if isinstance(value, SentenceRows):
            parts["sentences.offsets"] = _bytes(value.offsets)
            for name in SENTENCE_ROWS:
                rows: Adjacency = getattr(value, name)
                parts[f"sentences.{name}"] = _bytes(rows.indptr) + _bytes(rows.indices)
            continue
        for name in names:
            parts[f"{field.name}.{name}"] = _bytes(getattr(value, name))
        if not names and field.name not in ("places", "positions"):
            parts[field.name] = _bytes(value)
    return parts


def _bytes(array: np.ndarray) -> bytes:
    return f"{array.dtype} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes()


@given(rows=passage_rows() | corpora(), salt=st.sampled_from((0, 5)))
@pytest.mark.slow
def test_a_merge_gives_what_python_objects_give(rows: list[PassageRow], salt: int) -> None:
    table = stored_table(rows, 0)
    assert plain_form(merge_rows([rows], salt)) == plain_snapshot(table.to_pylist(), None, salt)


def test_an_ambiguous_name_means_its_own_passage_in_each_sentence() -> None:
    """Written in lower case, it matches no title; elsewhere it may mean either."""
    text = "The fram sailed north along the coast. Nobody saw the fram again for years."
    mentions = tuple(Mention("fram", "name", start, start + 4) for start in (4, text.rindex("fram")))
    rows = [
        PassageRow(title, title, 0, title, text, 0, len(text), mentions=mentions, extractor="rules-3")
        for title in ("Fram (ship)", "Fram (film)", "Harbours")
    ]
    # In most places it is written as a name is.
    often = "In that year the Fram was seen, " + "and the Fram again, " * 9
    rows.append(PassageRow("Ports", "Ports", 0, "Ports", often, 0, len(often), extractor="rules-3"))
    table = stored_table(rows, 0)
    merged = plain_form(merge_rows([rows]))
    assert merged == plain_snapshot(table.to_pylist())
    ship, film, harbours = (merged.entities.index(row.title) for row in rows[:3])
    first = dict(zip(merged.passage_ids, merged.sentences.offsets, strict=False))
    named = {id_: merged.sentences.entities[start : start + 2] for id_, start in first.items()}
    assert named["Fram (ship)"] == [[ship]] * 2
    assert named["Fram (film)"] == [[film]] * 2
    assert named["Harbours"] == [sorted([ship, film, harbours])] * 2


@given(rows=passage_rows() | corpora(), data=st.data())
@pytest.mark.slow
def test_equal_passages_give_equal_bytes_however_they_are_divided(rows: list[PassageRow], data: st.DataObject) -> None:
    whole = content(merge_rows([rows]))
    part_of = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    parts = [[row for row, part in zip(rows, part_of, strict=True) if part == number] for number in range(4)]
    Random(len(rows)).shuffle(parts)
    assert content(merge_rows([part for part in parts if part])) == whole


@given(rows=corpora(), data=st.data())
@pytest.mark.slow
def test_texts_of_an_earlier_merge_save_reading_and_change_nothing(rows: list[PassageRow], data: st.DataObject) -> None:
    """Some documents are removed after the first merge, and the others added after it."""
    documents = sorted({row.document_id for row in rows})
    stages = [data.draw(st.sampled_from(("stays", "goes", "comes"))) for _ in documents]
    stage = dict(zip(documents, stages, strict=True))
    first = [row for row in rows if stage[row.document_id] != "comes"]
    stays, comes = ([row for row in rows if stage[row.document_id] == name] for name in ("stays", "comes"))
    kept: list[MatchTexts] = []

    def keep(segments: Sequence[Segment], matches: Sequence[TitleMatches], salt: int) -> list[MatchTexts]:
        kept.extend(read_match_texts(s, m, None, salt) for s, m in zip(segments, matches, strict=True))
        return kept

    merge_segments([make_segment(stored_table(first, 0), 0)], None, 0, keep)
    before = sorted(row.id for row in first)
    remaining = np.array([before.index(id_) for id_ in sorted(row.id for row in stays)], dtype=np.int64)

    def reuse(segments: Sequence[Segment], matches: Sequence[TitleMatches], salt: int) -> list[MatchTexts]:
        known = select_match_texts(kept[0], remaining)
        reused = read_match_texts(segments[0], matches[0], known, salt)
        expected = [read_match_texts(s, m, None, salt) for s, m in zip(segments, matches, strict=True)]
        for name, array in flatten_arrays(expected[0]).items():
            np.testing.assert_array_equal(flatten_arrays(reused)[name], array, name)
        return [reused, *expected[1:]]

    parts = [make_segment(stored_table(part, 0), 0) for part in (stays, comes)]
    assert content(merge_segments(parts, None, 0, reuse)) == content(merge_segments(parts))
