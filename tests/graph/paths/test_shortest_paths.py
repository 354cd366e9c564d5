"""One cheapest path to each entity, against enumerating every walk."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.paths.simple_paths import shortest_paths
from clew.graph.subgraphs.k_hop import LocalGraph, local_graph
from tests.graph.fact_graphs import FactSet, draw_entities, fact_sets, rows
from tests.graph.paths.test_simple_paths import unpadded_paths
from tests.oracles import facts as oracle


def edge_costs(local: LocalGraph, costs: list[float]) -> dict[tuple[int, int], float]:
    """Return the cost of each edge by its position and code."""
    owners = np.repeat(np.arange(len(local.nodes)), local.degrees()).tolist()
    return {(owner, code): cost for owner, code, cost in zip(owners, local.edges.tolist(), costs, strict=True)}


@settings(deadline=None, max_examples=200)
@given(st.data(), fact_sets(max_entities=6, max_facts=10), st.integers(0, 4), st.booleans())
def test_paths_are_the_cheapest_of_all_walks_and_simple(
    data: st.DataObject, fact_set: FactSet, hops: int, unit: bool
) -> None:
    nodes = data.draw(draw_entities(fact_set))
    starts = data.draw(st.lists(st.integers(0, len(nodes) - 1), max_size=3)) if nodes else []
    local = local_graph(fact_set.graph, np.array(nodes, dtype=np.int32), fact_set.blocked_mask)
    count = len(local.edges)
    eighths = data.draw(st.lists(st.integers(1, data.draw(st.sampled_from([2, 16]))), min_size=count, max_size=count))
    costs = [1.0] * count if unit else [eighth / 8 for eighth in eighths]
    paths, total = shortest_paths(local, np.array(starts, dtype=np.int64), hops, None if unit else np.array(costs))
    local_rows, prices = rows(local), edge_costs(local, costs)
    best = oracle.cheapest_walks(
        lambda position: local_rows[position], starts, hops, lambda one, _, code: prices[one, code]
    )
    wanted = sorted(best.values(), key=lambda found: (found[0], found[1], found[3][-1]))
    assert unpadded_paths(paths) == [
        (tuple(nodes[position] for position in walk), codes) for _, _, codes, walk in wanted
    ]
    assert total.tolist() == [cost for cost, *_ in wanted]
    assert all(len(set(walk)) == len(walk) for walk, _ in unpadded_paths(paths))
    assert not paths.truncated
    assert paths.nodes.shape == (len(paths), hops + 1)


@settings(deadline=None, max_examples=100)
@given(fact_sets(min_entities=1), st.integers(0, 10_000))
def test_costs_equal_those_of_dijkstra_without_an_effective_bound(fact_set: FactSet, seed: int) -> None:
    local = local_graph(fact_set.graph, np.arange(fact_set.entity_count, dtype=np.int32))
    costs = np.random.default_rng(seed).uniform(0.1, 5.0, len(local.edges))
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(range(fact_set.entity_count))
    for (one, code), cost in edge_costs(local, costs.tolist()).items():
        other = fact_set.facts[code // 2][0 if code % 2 else 2]
        known = graph.get_edge_data(one, other, {"weight": np.inf})["weight"]
        graph.add_edge(one, other, weight=min(cost, known))
    wanted = nx.single_source_dijkstra_path_length(graph, 0)
    paths, total = shortest_paths(local, np.array([0]), fact_set.entity_count, costs)
    found = {walk[-1]: cost for (walk, _), cost in zip(unpadded_paths(paths), total.tolist(), strict=True)}
    assert found == pytest.approx({node: cost for node, cost in wanted.items() if node})
