"""Random graphs for property tests: symmetric, weighted, with hubs, isolated and blocked nodes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from clew.graph.csr import Adjacency, build_adjacency

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.types import FloatArray, IntArray


@dataclass(frozen=True)
class PushProblem:
    """The arguments of a forward push."""

    graph: Adjacency
    restart: "tuple[IntArray, FloatArray]"
    attraction: "FloatArray"
    blocked: "NDArray[np.bool_]"
    damping: float

    @property
    def restart_row(self) -> "NDArray[np.float64]":
        """The restart as a dense vector (n,)."""
        row = np.zeros(self.graph.row_count)
        row[self.restart[0]] = self.restart[1]
        return row


def symmetric_graph(pairs: dict[tuple[int, int], float], count: int) -> Adjacency:
    """Return the graph of undirected edges, each given once."""
    one, two = [a for a, _ in pairs], [b for _, b in pairs]
    return build_adjacency(one + two, two + one, [*pairs.values()] * 2, count)


@st.composite
def push_problems(draw: st.DrawFn, largest: int = 14) -> PushProblem:
    """Draw a graph, restart, attraction, blocked nodes and damping."""
    count = draw(st.integers(1, largest))
    node = st.integers(0, count - 1)
    weight = st.integers(1, 40).map(lambda x: x / 8)
    pairs = draw(st.dictionaries(st.tuples(node, node).filter(lambda p: p[0] < p[1]), weight, max_size=3 * count))
    if draw(st.booleans()):
        pairs |= {(0, other): 1.0 for other in range(1, count)}
    starts = draw(st.lists(node, min_size=1, max_size=4, unique=True))
    shares = np.array([draw(weight) for _ in starts])
    return PushProblem(
        symmetric_graph(pairs, count),
        (np.array(starts, dtype=np.int32), (shares / shares.sum()).astype(np.float32)),
        np.array([draw(weight) for _ in range(count)], dtype=np.float32),
        np.array([draw(st.sampled_from([False, False, False, True])) for _ in range(count)]),
        draw(st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.9])),
    )
