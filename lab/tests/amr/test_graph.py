from collections.abc import Callable, Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew_lab.amr.graph import AMRGraph, count_common_parts, path_lengths, path_words, plain_word

VOYAGE = AMRGraph(
    ("sail-01", "question", "ship", '"Fram"', "who", "ice", "1893"),
    ((0, ":ARG0", 4), (0, ":ARG1", 2), (2, ":name", 3), (1, ":topic", 0), (5, ":location-of", 6)),
)


@st.composite
def amr_graphs(draw: Callable[[st.SearchStrategy[int]], int]) -> AMRGraph:
    """A few concepts, some repeated and some that mean `question`, and any edges."""
    size = draw(st.integers(1, 7))
    names = ("question", "question-01", "a", "b-01", "b", '"Salt Lake"', '""', "c", "d")
    concepts = tuple(names[draw(st.integers(0, len(names) - 1))] for _ in range(size))
    ends = st.integers(0, size - 1)
    edges = ((draw(ends), ("r", "s")[draw(st.integers(0, 1))], draw(ends)) for _ in range(draw(st.integers(0, 9))))
    return AMRGraph(concepts, tuple(edges))


@pytest.mark.parametrize(
    ("concept", "word"),
    [
        ("win-01", "win"),
        ("have-org-role-91", "have-org-role"),
        ("world-region", "world-region"),
        ("-12", "-12"),
        ("2008-12", "2008-12"),
        ("b-1", "b-1"),
        ("v-2008", "v-2008"),
        ("-", "-"),
        ('"Salt Lake"', "Salt Lake"),
        ('"a \\"b\\" \\\\"', 'a "b" \\'),
        ('"win-01"', "win-01"),
        ('"', '"'),
        ("東京-01", "東京"),
        ("", ""),
    ],
)
def test_a_concept_in_plain_words(concept: str, word: str) -> None:
    assert plain_word(concept) == word


def test_words_are_in_path_order() -> None:
    # sail-who is one path, sail-ship-Fram another, whose shared prefix question-sail is not repeated.
    assert path_words(VOYAGE) == ("question", "sail", "who", "ship", "Fram")
    assert path_words(VOYAGE, "ice") == ("ice", "1893")


def test_no_concept_that_means_the_start_gives_no_words() -> None:
    assert path_words(VOYAGE, "sail-01") == ()
    assert path_words(AMRGraph(())) == ()
    assert path_words(AMRGraph(("question-01",))) == ("question",)


def by_enumeration(graph: AMRGraph) -> tuple[str, ...]:
    """The smallest of all shortest paths from a start to each concept, without prefixes of others."""
    network = nx.Graph()
    network.add_nodes_from(range(len(graph.concepts)))
    network.add_edges_from((head, tail) for head, _, tail in graph.edges)
    starts = [place for place, concept in enumerate(graph.concepts) if concept in ("question", "question-01")]
    shortest: list[list[int]] = []
    for end in range(len(graph.concepts)):
        paths = [
            path for s in starts if nx.has_path(network, s, end) for path in nx.all_shortest_paths(network, s, end)
        ]
        shortest += [min(paths, key=lambda path: (len(path), path))] if paths else []
    whole = [path for path in shortest if not any(path != other and path == other[: len(path)] for other in shortest)]
    words = [plain(graph.concepts[node]) for path in sorted(whole, key=lambda path: (len(path), path)) for node in path]
    return tuple(dict.fromkeys(w for w in words if w))


def plain(concept: str) -> str:
    return concept.strip('"').removesuffix("-01")


@given(amr_graphs())
def test_paths_are_those_of_an_enumeration(graph: AMRGraph) -> None:
    assert path_words(graph) == by_enumeration(graph)


def count_by_sets(graphs: Sequence[AMRGraph], without: Sequence[str]) -> list[list[list[int]]]:
    """Return the common concepts and edges of each pair of graphs, by sets."""
    names = [{c for c in graph.concepts if c not in without} for graph in graphs]
    facts = [
        {(g.concepts[h], r, g.concepts[t]) for h, r, t in g.edges if not {g.concepts[h], g.concepts[t]} & set(without)}
        for g in graphs
    ]
    places = range(len(graphs))
    return [
        [[len(names[i] & names[j]), len(facts[i] & facts[j])] if i != j else [0, 0] for j in places] for i in places
    ]


@given(st.lists(amr_graphs(), max_size=5), st.lists(st.sampled_from(["question", "a", "b"]), max_size=2))
def test_common_parts_are_those_of_sets(graphs: list[AMRGraph], without: list[str]) -> None:
    counts = count_common_parts(graphs, without)
    assert counts.shape == (len(graphs), len(graphs), 2)
    assert counts.dtype == np.int32
    assert counts.tolist() == count_by_sets(graphs, without)


@pytest.mark.parametrize(
    ("concepts", "edges", "top"),
    [(("a",), ((0, "r", 1),), 0), (("a",), ((-1, "r", 0),), 0), (("a",), (), 1), ((), (), 1), (("a",), (), -1)],
)
def test_positions_outside_a_graph_are_refused(
    concepts: tuple[str, ...], edges: tuple[tuple[int, str, int], ...], top: int
) -> None:
    with pytest.raises(InputError, match="wanted"):
        AMRGraph(concepts, edges, top)


@given(amr_graphs())
def test_path_lengths_are_those_of_the_nearest_question(graph: AMRGraph) -> None:
    joined = nx.Graph()
    joined.add_nodes_from(range(len(graph.concepts)))
    joined.add_edges_from((head, tail) for head, _, tail in graph.edges)
    starts = [place for place, concept in enumerate(graph.concepts) if plain_word(concept) == "question"]
    wanted = nx.multi_source_dijkstra_path_length(joined, starts) if starts else {}
    assert path_lengths(graph) == tuple(wanted.get(place, -1) for place in range(len(graph.concepts)))
