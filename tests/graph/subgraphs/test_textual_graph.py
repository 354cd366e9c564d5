"""Subgraphs of textual graphs against selecting edge by edge, and their text read back as CSV."""

import csv
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.subgraphs.textual_graph import TextualGraph, induced_subgraph
from clew_lab.graph.reader_context import full_subgraph, textualise

TEXTS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("\",\r\n'; \t")), max_size=12)


def build_graph(nodes: list[str], edges: list[tuple[int, str, int]]) -> TextualGraph:
    ends = np.array([(source, target) for source, _, target in edges], dtype=np.int32).reshape(-1, 2)
    return TextualGraph(nodes, ends, [relation for _, relation, _ in edges])


@st.composite
def graphs(draw: st.DrawFn) -> TextualGraph:
    nodes = draw(st.lists(TEXTS, max_size=6))
    position = st.integers(0, max(len(nodes) - 1, 0))
    edges = draw(st.lists(st.tuples(position, TEXTS, position), max_size=10)) if nodes else []
    return build_graph(nodes, edges)


def draw_nodes(graph: TextualGraph) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, len(graph.nodes) - 1), max_size=8) if len(graph.nodes) else st.just([])


SHIP_GRAPH = build_graph(["Fram", "Larvik, Norway", 'the "Polar"\nship'], [(0, "built in", 1), (0, "is, as told", 2)])


def test_a_subgraph_is_written_as_two_tables() -> None:
    assert textualise(SHIP_GRAPH, induced_subgraph(SHIP_GRAPH, [1, 0])) == (
        'node_id,node_attr\n0,Fram\n1,"Larvik, Norway"\n\nsrc,edge_attr,dst\n0,built in,1\n'
    )
    assert (
        textualise(SHIP_GRAPH, induced_subgraph(SHIP_GRAPH, [2]))
        == 'node_id,node_attr\n2,"the ""Polar""\nship"\n\nsrc,edge_attr,dst\n'
    )


@given(graph=graphs(), data=st.data())
def test_the_text_read_back_as_csv_is_the_subgraph(graph: TextualGraph, data: st.DataObject) -> None:
    subgraph = induced_subgraph(graph, data.draw(draw_nodes(graph)))
    rows = list(csv.reader(io.StringIO(textualise(graph, subgraph), newline="")))
    nodes, edges = rows[: len(subgraph.nodes) + 1], rows[len(subgraph.nodes) + 2 :]
    assert nodes == [["node_id", "node_attr"], *([str(i), graph.nodes[i]] for i in subgraph.nodes.tolist())]
    assert rows[len(subgraph.nodes) + 1] == []
    ends = graph.edges.tolist()
    assert edges == [
        ["src", "edge_attr", "dst"],
        *([str(ends[i][0]), graph.relations[i], str(ends[i][1])] for i in subgraph.edges.tolist()),
    ]


@given(graph=graphs(), data=st.data())
def test_an_induced_subgraph_has_every_edge_between_its_nodes(graph: TextualGraph, data: st.DataObject) -> None:
    nodes = data.draw(draw_nodes(graph))
    subgraph = induced_subgraph(graph, nodes)
    assert subgraph.nodes.tolist() == sorted(set(nodes))
    assert subgraph.edges.tolist() == [
        i for i, (one, other) in enumerate(graph.edges) if one in nodes and other in nodes
    ]
    assert subgraph.nodes.dtype == subgraph.edges.dtype == np.int32


@given(graph=graphs())
def test_the_full_subgraph_is_induced_by_all_nodes(graph: TextualGraph) -> None:
    all_of_it, of_all = full_subgraph(graph), induced_subgraph(graph, range(len(graph.nodes)))
    assert all_of_it.nodes.tolist() == of_all.nodes.tolist()
    assert all_of_it.edges.tolist() == of_all.edges.tolist()
    assert all_of_it.nodes.dtype == all_of_it.edges.dtype == np.int32
