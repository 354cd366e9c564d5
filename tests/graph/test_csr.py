"""Adjacency and the walk graph against dictionaries of dictionaries."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph import csr
from clew.graph.csr import Adjacency, build_adjacency
from clew.graph.snapshot.walk_graph import entity_nodes, walk_graph

Rows = dict[int, dict[int, float]]
Entries = list[tuple[int, int, float]]
ENTRIES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(1, 8).map(lambda x: x / 8)), max_size=40)


def to_dictionary(graph: Adjacency) -> Rows:
    result: Rows = {}
    for row in range(graph.row_count):
        columns = graph.row(row).tolist()
        assert columns == sorted(set(columns))
        weights = graph.weights[graph.indptr[row] : graph.indptr[row + 1]].tolist()
        if columns:
            result[row] = dict(zip(columns, weights, strict=True))
    return result


def keep_heaviest(entries: Entries) -> Rows:
    result: Rows = defaultdict(dict)
    for row, column, weight in entries:
        result[row][column] = max(result[row].get(column, 0.0), weight)
    return dict(result)


def from_entries(entries: Entries, count: int = 8) -> Adjacency:
    return build_adjacency([e[0] for e in entries], [e[1] for e in entries], [e[2] for e in entries], count)


@given(ENTRIES)
def test_the_heaviest_of_equal_pairs_is_kept(entries: Entries) -> None:
    graph = from_entries(entries)
    assert graph.row_count == 8
    assert to_dictionary(graph) == keep_heaviest(entries)
    assert graph.degrees().tolist() == [len(keep_heaviest(entries).get(row, {})) for row in range(8)]


@given(ENTRIES)
def test_transpose_swaps_rows_and_columns(entries: Entries) -> None:
    transposed = from_entries(entries).transpose(8)
    assert to_dictionary(transposed) == keep_heaviest([(column, row, weight) for row, column, weight in entries])
    restored = transposed.transpose(8)
    assert to_dictionary(restored) == to_dictionary(from_entries(entries))


def test_rows_without_pairs() -> None:
    assert build_adjacency([], [], [], 0).row_count == 0
    assert build_adjacency([], [], [], 3).degrees().tolist() == [0, 0, 0]
    assert build_adjacency([], [], [], 0).transpose(4).degrees().tolist() == [0] * 4


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[int], list[set[int]], int]:
    """Draw the title entity (or -1) and the mentions of each passage; every entity is mentioned somewhere."""
    count = draw(st.integers(1, 6))
    mentions = [draw(st.sets(st.integers(0, 7), max_size=5)) for _ in range(count)]
    titles = [draw(st.sampled_from([-1, *range(8)])) for _ in range(count)]
    for passage, title in enumerate(titles):
        mentions[passage] |= {title} - {-1}
    number = {entity: i for i, entity in enumerate(sorted(set().union(*mentions)))}
    return (
        [number.get(title, -1) for title in titles],
        [{number[entity] for entity in row} for row in mentions],
        len(number),
    )


@given(corpora())
def test_the_walk_graph(corpus: tuple[list[int], list[set[int]], int]) -> None:
    titles, mentioned, entities = corpus
    pairs = [(p, e, 1.0 / (1 + e)) for p, row in enumerate(mentioned) for e in row]
    mentions = from_entries(pairs, len(titles))
    nodes = entity_nodes(np.array(titles, dtype=np.int32), mentions.transpose(entities)).tolist()

    wanted: list[int] = []
    following = len(titles)
    for entity in range(entities):
        titled = [p for p, title in enumerate(titles) if title == entity]
        passages = [p for p, row in enumerate(mentioned) if entity in row]
        if len(titled) == 1:
            wanted.append(titled[0])
        elif len(passages) == 1:
            wanted.append(passages[0])
        else:
            wanted.append(following)
            following += 1
    assert nodes == wanted

    edges: Rows = defaultdict(dict)
    for one, other, weight in ((p, nodes[e], float(np.float32(w))) for p, e, w in pairs):
        if one != other:
            edges[one][other] = max(edges[one].get(other, 0.0), weight)
            edges[other][one] = max(edges[other].get(one, 0.0), weight)
    walk = walk_graph(np.array(nodes, dtype=np.int32), mentions)
    assert walk.row_count == following
    assert to_dictionary(walk) == dict(edges)


@given(ENTRIES)
def test_counting_gives_what_sorting_gives(entries: Entries) -> None:
    graph = from_entries(entries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csr, "_COUNTING_SIZE", 0)
        counted, transposed = from_entries(entries), graph.transpose(9)
    for actual, expected in ((counted, graph), (transposed, graph.transpose(9))):
        for name in ("indptr", "indices", "weights"):
            one, other = getattr(actual, name), getattr(expected, name)
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
