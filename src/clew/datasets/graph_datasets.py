"""Questions on textual graphs: the records, and how a set is parted so that nothing learned leaks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import final, overload

import numpy as np

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph

TOPIC_SEPARATOR = " | "
"""Stands between the topics of a group."""


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question on one graph of a set.

    Attributes:
        id: Distinct in the set.
        graph: The position of its graph in the set.
        text: As a reader gets it.
        answers: Any one of them is right.
        topics: The positions of the nodes that it names.
        gold: For each alternative chain of evidence the positions of the nodes it needs.
        group: What a split must not tear apart, such as its topics with ` | ` between them: questions that share one
            stay together; "" for a question that stands alone.
    """

    id: str
    graph: int
    text: str
    answers: tuple[str, ...]
    topics: tuple[int, ...] = ()
    gold: tuple[tuple[int, ...], ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GraphDataset:
    """Graphs, and questions on them.

    Attributes:
        graphs: May be made when they are asked for, and be more than the questions are on.
        questions: In the order of their file.
        choices: The answers that are possible, where they are few and the same for all questions.
        notes: What could not be used, in words.

    Raises:
        InputError: A question is on a graph that is not there.
    """

    graphs: Sequence[TextualGraph]
    questions: tuple[GraphQuestion, ...]
    choices: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that all graphs are there."""
        for question in self.questions:
            if not 0 <= question.graph < len(self.graphs):
                raise InputError(
                    f"question {question.id!r} is on graph {question.graph}: wanted 0 to {len(self.graphs) - 1}; "
                    "give the position of its graph in the set"
                )


@final
class LazyGraphs(Sequence[TextualGraph]):
    """Graphs that are made when they are asked for.

    Args:
        count: How many there are.
        make: Gives the graph at a position, the same every time.
        cache_size: How many are remembered; the one not asked for the longest goes first.
    """

    def __init__(self, count: int, make: Callable[[int], TextualGraph], cache_size: int = 256) -> None:
        self._positions = range(count)
        self._make_cached = lru_cache(maxsize=cache_size)(make)

    def __len__(self) -> int:
        """Return the number of graphs."""
        return len(self._positions)

    @overload
    def __getitem__(self, place: int) -> TextualGraph: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[TextualGraph]: ...

    def __getitem__(self, place: int | slice) -> TextualGraph | Sequence[TextualGraph]:
        """Return a graph, or those of a slice, all of them made."""
        if isinstance(place, slice):
            return [self._make_cached(one) for one in self._positions[place]]
        return self._make_cached(self._positions[place])


def check_positions(question: GraphQuestion, graph: TextualGraph) -> None:
    """Refuse a question whose topics or gold are no nodes of its graph.

    Raises:
        InputError: They are not.
    """
    count = len(graph.nodes)
    for name, places in (("topics", question.topics), ("gold", tuple(chain.from_iterable(question.gold)))):
        if wrong := [place for place in places if not 0 <= place < count]:
            wanted = f"0 to {count - 1}" if count else "none"
            raise InputError(
                f"question {question.id!r}: its {name} hold node {wrong[0]}, and its graph has {count} nodes; wanted "
                f"{wanted}: give positions in the question's own graph"
            )


def split_dataset(dataset: GraphDataset, share: float, seed: int) -> tuple[GraphDataset, GraphDataset]:
    """Part a set in two, by chance; questions whose groups share a topic stay together, in their order.

    Args:
        dataset: Both parts keep all its graphs.
        share: Of the questions that go into the first part, between 0 and 1; met as nearly as whole groups allow.
        seed: The same seed and set give the same parts.

    Raises:
        InputError: `share` is not between 0 and 1, or there are not two groups.
    """
    if not 0 < share < 1:
        raise InputError(f"a split with {share} of the questions in its first part: wanted more than 0 and less than 1")
    group_of = _connected_groups(dataset.questions)
    groups = sorted(set(group_of))
    if len(groups) < 2:
        raise InputError(
            f"{len(dataset.questions)} questions in {len(groups)} group cannot be split; wanted at least 2 groups. "
            "Give questions on more topics"
        )
    shuffled = [groups[place] for place in np.random.default_rng(seed).permutation(len(groups))]
    sizes = dict.fromkeys(groups, 0)
    for group in group_of:
        sizes[group] += 1
    upto = np.cumsum([sizes[group] for group in shuffled])
    # Neither part is empty, however uneven the groups are.
    count = 1 + int(np.abs(upto[:-1] - share * upto[-1]).argmin())
    first = set(shuffled[:count])
    placed = list(zip(dataset.questions, group_of, strict=True))
    return (
        replace(dataset, questions=tuple(question for question, group in placed if group in first)),
        replace(dataset, questions=tuple(question for question, group in placed if group not in first)),
    )


def count_groups(questions: Sequence[GraphQuestion]) -> int:
    """Return how many parts questions can be split into."""
    return len(set(_connected_groups(questions)))


def _connected_groups(questions: Sequence[GraphQuestion]) -> list[tuple[str, str]]:
    """Return for each question the first of all topics that are joined to its own by questions that name several."""
    names = [
        [(name, "") for name in q.group.split(TOPIC_SEPARATOR) if name] or [(q.group, "" if q.group else q.id)]
        for q in questions
    ]
    parent = {name: name for several in names for name in several}

    def root(name: tuple[str, str]) -> tuple[str, str]:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    for several in names:
        roots = {root(name) for name in several}
        parent.update(dict.fromkeys(roots, min(roots)))
    return [root(several[0]) for several in names]
