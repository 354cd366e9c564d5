"""Data sets of questions on textual graphs, and their splits without leakage."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Literal, final, overload

import numpy as np

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.text.display import format_count

TOPIC_SEPARATOR = " | "
"""Separator of the topics in a group."""
AccuracyRule = Literal["inside", "hit", "first-choice"]
"""Rule by which the published code of a data set calls a reply right (see `clew_lab.evaluation.published_accuracy`)."""


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question on one graph of a data set."""

    id: str  # distinct in the data set
    graph: int  # position of its graph in the data set
    text: str
    answers: tuple[str, ...]
    topics: tuple[int, ...] = ()  # positions of the nodes named in the question
    gold: tuple[tuple[int, ...], ...] = ()  # for each alternative chain of evidence, the positions of its nodes
    # questions of one group stay together in a split; several groups, such as topics, are separated by ` | ` and join
    # all of them. "" for a question without a group.
    group: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GraphDataset:
    """Graphs, possibly made lazily and more than have questions, and questions on existing ones, in their order."""

    graphs: Sequence[TextualGraph]
    questions: tuple[GraphQuestion, ...]
    choices: tuple[str, ...] = ()  # the possible answers, if all questions share a small set of them
    notes: tuple[str, ...] = ()  # messages about what could not be used
    accuracy: AccuracyRule = "hit"  # accuracy as published; of a set with choices it is `first-choice`

    def __post_init__(self) -> None:
        for question in self.questions:
            if not 0 <= question.graph < len(self.graphs):
                raise InputError(
                    f"question {question.id!r} is on graph {question.graph}: wanted 0 to {len(self.graphs) - 1}; "
                    "give the position of its graph in the set"
                )


@final
class LazyGraphs(Sequence[TextualGraph]):
    """Graphs that `make` returns on access, always the same for a position; `cache_size` of them are kept."""

    def __init__(self, count: int, make: Callable[[int], TextualGraph], cache_size: int = 256) -> None:
        self._positions = range(count)
        self._make_cached = lru_cache(maxsize=cache_size)(make)

    def __len__(self) -> int:
        return len(self._positions)

    @overload
    def __getitem__(self, position: int) -> TextualGraph: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[TextualGraph]: ...

    def __getitem__(self, position: int | slice) -> TextualGraph | Sequence[TextualGraph]:
        if isinstance(position, slice):
            return [self._make_cached(one) for one in self._positions[position]]
        return self._make_cached(self._positions[position])


def check_positions(question: GraphQuestion, graph: TextualGraph) -> None:
    """Raise InputError unless the topics and gold of a question are nodes of its graph."""
    count = len(graph.nodes)
    for name, nodes in (("topics", question.topics), ("gold", tuple(chain.from_iterable(question.gold)))):
        if wrong := [node for node in nodes if not 0 <= node < count]:
            wanted = f"0 to {count - 1}" if count else "none"
            raise InputError(
                f"question {question.id!r}: its {name} hold node {wrong[0]}, and its graph has "
                f"{format_count(count, 'node')}; wanted {wanted}: give positions in the question's own graph"
            )


def split_dataset(dataset: GraphDataset, share: float, seed: int) -> tuple[GraphDataset, GraphDataset]:
    """Split a data set in two at random; questions whose groups share a topic stay together, in their order.

    Both parts keep all graphs. The first has a `share` of the questions, between 0 and 1, as closely as whole groups
    allow. Raises InputError for another share, or fewer than two groups.
    """
    if not 0 < share < 1:
        raise InputError(f"the share of the first part is {share}: wanted more than 0 and less than 1")
    group_of = connected_groups(dataset.questions)
    groups = sorted(set(group_of))
    if len(groups) < 2:
        raise InputError(
            f"{len(dataset.questions)} questions in {len(groups)} group cannot be split; wanted at least 2 groups. "
            "Give questions on more topics"
        )
    shuffled = [groups[position] for position in np.random.default_rng(seed).permutation(len(groups))]
    sizes = Counter(group_of)
    cumulative = np.cumsum([sizes[group] for group in shuffled])
    # At least one group on either side, however unequal the groups are.
    count = 1 + int(np.abs(cumulative[:-1] - share * cumulative[-1]).argmin())
    first = set(shuffled[:count])
    pairs = list(zip(dataset.questions, group_of, strict=True))
    return (
        replace(dataset, questions=tuple(question for question, group in pairs if group in first)),
        replace(dataset, questions=tuple(question for question, group in pairs if group not in first)),
    )


def connected_groups(questions: Sequence[GraphQuestion]) -> list[tuple[str, str]]:
    """Return for each question the least topic of its component; questions with several topics connect them."""
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
