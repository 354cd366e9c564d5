"""Time each step from an entity to its paths, on a small and a large graph: `python bench/graph_search.py`.

The small one is MetaQA's; the large one is generated: ten million triples of three million entities with a power law,
one of which occurs in a million triples. The settings are those of the published FRAG: 2 and 4 hops, 2,000 entities
kept, damping 0.8.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from clew.graph.paths.simple_paths import shortest_paths, simple_paths
from clew.graph.ppr.local_ppr import best_positions, push_ppr, random_walk_with_restart
from clew.graph.subgraphs.k_hop import explored_graph, filter_edges, local_graph, neighbourhood
from clew.graph.subgraphs.textual_graph import FactGraph, fact_graph
from workbench import DATA, describe_machine, print_table

TOPICS, MOST_EDGES, KEPT, MOST_PATHS = 200, 300_000, 2_000, 20_000
TRIPLES, ENTITIES, HUB = 10_000_000, 3_000_000, 1_000_000

T = TypeVar("T")


def main() -> None:
    """Print the median and 95th percentile of every step on both graphs, and the ratio of the totals."""
    print(describe_machine())
    totals: dict[str, list[float]] = {}
    for name, make in (("MetaQA", metaqa), ("power law", power_law)):
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        triples, entities = make()
        started = time.perf_counter()
        graph = fact_graph(triples, entities)
        widest = int(np.diff(graph.indptr).max())
        print(f"\n{name}: {len(triples):,} triples, {entities:,} entities, at most {widest:,} edges of one")
        print(f"graph built in {time.perf_counter() - started:.2f} s")
        topics = np.random.default_rng(1).choice(triples[:, 0], TOPICS)
        totals[name] = [measure_steps(graph, topics, hops) for hops in (2, 4)]
    if len(totals) > 1:
        ratios = [large / small for small, large in zip(*totals.values(), strict=True)]
        print(f"\nratio of the medians of the whole: k = 2 {ratios[0]:.1f}, k = 4 {ratios[1]:.1f}")


def metaqa() -> tuple[np.ndarray, int]:
    """Return the triples of MetaQA's graph, and the number of entities."""
    lines = (DATA / "metaqa" / "kg.tsv").read_text(encoding="utf-8").splitlines()
    names: dict[str, int] = defaultdict(lambda: len(names))
    relations: dict[str, int] = defaultdict(lambda: len(relations))
    cells = (line.split("\t") for line in lines)
    triples = [(names[head], relations[relation], names[tail]) for head, relation, tail in cells]
    return np.array(triples, dtype=np.int32), len(names)


def power_law(seed: int = 0) -> tuple[np.ndarray, int]:
    """Return a graph whose entity of rank r has about r to the power of -0.7 times as many edges as the first."""
    random = np.random.default_rng(seed)
    ids = random.permutation(ENTITIES).astype(np.int32)
    triples = np.empty((TRIPLES, 3), dtype=np.int32)
    for column, power in ((0, 1.4), (2, 1 / 0.3)):
        triples[:, column] = ids[(ENTITIES * random.random(TRIPLES) ** power).astype(np.int64)]
    triples[:, 1] = (1000 * random.random(TRIPLES) ** 2).astype(np.int32)
    triples[random.choice(TRIPLES, HUB, replace=False), 2] = ids[0]
    return triples, ENTITIES


def measure_steps(graph: FactGraph, topics: np.ndarray, hops: int) -> float:
    """Print the milliseconds and sizes of each step; return the median total."""
    times: dict[str, list[float]] = defaultdict(list)
    sizes: dict[str, list[int]] = defaultdict(list)
    for topic in (*topics[-5:], *topics):  # the first compile and warm up
        seconds_of, sizes_of = time_steps(graph, np.array([topic], dtype=np.int32), hops)
        for step, seconds in seconds_of.items():
            times[step].append(1000 * seconds)
        for step, size in sizes_of.items():
            sizes[step].append(size)
    rows = []
    for step, all_times in times.items():
        milliseconds, counts = all_times[5:], sizes[step][5:]
        middle = f"{np.median(counts):,.0f}" if counts else ""
        rows.append([step, f"{np.median(milliseconds):.2f}", f"{np.percentile(milliseconds, 95):.2f}", middle])
    print(f"\nk = {hops}\n")
    print_table(("step", "ms p50", "ms p95", "size p50"), rows)
    return float(np.median(times["**whole**"][5:]))


def time_steps(graph: FactGraph, topic: np.ndarray, hops: int) -> tuple[dict[str, float], dict[str, int]]:
    """Return the seconds and the size of the result of each step."""
    times: dict[str, float] = {}
    sizes: dict[str, int] = {}

    def run_timed(step: str, size: Callable[[T], int], run: Callable[[], T]) -> T:
        started = time.perf_counter()
        result = run()
        times[step], sizes[step] = time.perf_counter() - started, size(result)
        return result

    start, even = np.zeros(1, dtype=np.int64), np.ones(1)
    around = run_timed("neighbourhood", lambda r: len(r.nodes), lambda: neighbourhood(graph, topic, hops, MOST_EDGES))
    wide = run_timed("explored graph", lambda r: len(r.edges), lambda: explored_graph(graph, around))
    scores = run_timed("push", np.count_nonzero, lambda: push_ppr(wide, start, even))
    best = run_timed("best nodes", len, lambda: wide.nodes[best_positions(scores, KEPT)])
    local = run_timed("local graph", lambda r: len(r.edges), lambda: local_graph(graph, best))
    everything = np.ones(len(local.edges), dtype=np.bool_)  # filters nothing: the worst case
    local = run_timed("edges kept", lambda r: len(r.edges), lambda: filter_edges(local, everything))
    topical = local.positions(topic)
    if hops == 2:
        run_timed("simple paths", len, lambda: simple_paths(local, topical, hops, MOST_PATHS))
    else:
        run_timed("shortest paths", lambda r: len(r[0]), lambda: shortest_paths(local, topical, hops))
    times["**whole**"] = sum(times.values())
    costs = 1.0 + local.edges % 7
    run_timed("(shortest paths, costs)", lambda r: len(r[0]), lambda: shortest_paths(local, topical, hops, costs))
    run_timed("(restart instead)", np.count_nonzero, lambda: random_walk_with_restart(wide, start, even))
    return times, sizes


if __name__ == "__main__":
    main()
