"""Data sets of questions on graphs: their checks, caching and splits."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion, LazyGraphs, check_positions, split_dataset


def make_graph(position: int = 0) -> TextualGraph:
    return TextualGraph((f"node {position}",), np.zeros((0, 2), dtype=np.int32), ())


def make_dataset(groups: list[str]) -> GraphDataset:
    questions = [GraphQuestion(f"q{n}", 0, "who?", ("a",), group=group) for n, group in enumerate(groups)]
    return GraphDataset([make_graph()], tuple(questions), ("a", "b"), ("a note",))


@pytest.mark.parametrize("position", [-1, 2])
def test_a_question_must_be_on_a_graph_of_the_data_set(position: int) -> None:
    with pytest.raises(InputError, match=rf"'q' is on graph {position}: wanted 0 to 1"):
        GraphDataset([make_graph(), make_graph()], (GraphQuestion("q", position, "who?", ()),))


def test_graphs_are_made_on_access_and_a_bounded_number_is_cached() -> None:
    made: list[int] = []

    def make(position: int) -> TextualGraph:
        made.append(position)
        return make_graph(position)

    graphs = LazyGraphs(4, make, cache_size=2)
    assert (len(graphs), made) == (4, [])
    assert graphs[1] is graphs[1]
    assert graphs[-1].nodes == ("node 3",)
    assert made == [1, 3]
    assert [one.nodes[0] for one in graphs[:2]] == ["node 0", "node 1"]
    assert made == [1, 3, 0, 1]
    assert [one.nodes[0] for one in graphs] == [f"node {position}" for position in range(4)]
    with pytest.raises(IndexError):
        graphs[4]


@given(
    st.lists(st.sampled_from(["", "a", "b", "c", "d e"]), min_size=2, max_size=30),
    st.floats(0.01, 0.99),
    st.integers(0, 9),
)
def test_a_split_keeps_groups_together_and_approximates_the_share(groups: list[str], share: float, seed: int) -> None:
    whole = make_dataset(groups)
    all_groups = {q.group or q.id for q in whole.questions}
    if len(all_groups) < 2:
        with pytest.raises(InputError, match="cannot be split; wanted at least 2 groups"):
            split_dataset(whole, share, seed)
        return
    first, second = split_dataset(whole, share, seed)
    assert first.questions
    assert second.questions
    assert sorted(first.questions + second.questions, key=whole.questions.index) == list(whole.questions)
    for part in (first, second):
        assert list(part.questions) == sorted(part.questions, key=whole.questions.index)
        assert (part.graphs, part.choices, part.notes) == (whole.graphs, whole.choices, whole.notes)
    ours, others = ({q.group or q.id for q in part.questions} for part in (first, second))
    assert not ours & others
    largest = max(Counter(q.group or q.id for q in whole.questions).values())
    assert abs(len(first.questions) - share * len(groups)) <= largest
    assert split_dataset(whole, share, seed)[0].questions == first.questions


def test_a_split_depends_on_the_seed_and_not_on_the_order_of_questions() -> None:
    groups = [f"topic {number}" for number in range(20)]
    parts = {tuple(q.id for q in split_dataset(make_dataset(groups), 0.5, seed)[0].questions) for seed in range(5)}
    assert len(parts) == 5
    backwards = GraphDataset([make_graph()], make_dataset(groups).questions[::-1])
    assert set(split_dataset(backwards, 0.3, 1)[0].questions) == set(
        split_dataset(make_dataset(groups), 0.3, 1)[0].questions
    )


TOPICS = st.lists(st.sampled_from("abcdefghijklmnop"), max_size=2, unique=True).map(sorted).map(" | ".join)


@settings(deadline=None)
@given(st.lists(TOPICS, min_size=1, max_size=14), st.integers(0, 3))
def test_questions_that_share_a_topic_stay_together(groups: list[str], seed: int) -> None:
    joined = np.array([[bool(split_topics(one) & split_topics(other)) for other in groups] for one in groups])
    count, component = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(joined), directed=False)
    if count < 2:
        with pytest.raises(InputError, match="cannot be split"):
            split_dataset(make_dataset(groups), 0.5, seed)
        return
    first, second = split_dataset(make_dataset(groups), 0.5, seed)
    number_of = {question.id: number for number, question in enumerate(make_dataset(groups).questions)}
    ours, others = ({component[number_of[q.id]] for q in part.questions} for part in (first, second))
    assert ours
    assert others
    assert not ours & others
    assert len(ours) + len(others) == count


def split_topics(group: str) -> set[str]:
    return set(group.split(" | ")) - {""}


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"topics": (0, 1)}, "its topics hold node 1, and its graph has 1 node; wanted 0 to 0"),
        ({"gold": ((0,), (0, 7))}, "its gold hold node 7, and"),
        ({"gold": ((-1,),)}, "its gold hold node -1, and"),
    ],
)
def test_positions_must_be_nodes_of_the_questions_graph(positions: dict[str, Any], message: str) -> None:
    check_positions(GraphQuestion("q", 0, "who?", ("a",), (0,), ((0,),)), make_graph())
    with pytest.raises(InputError, match=f"question 'q': {message}"):
        check_positions(GraphQuestion("q", 0, "who?", ("a",), **positions), make_graph())
    with pytest.raises(InputError, match="has 0 nodes; wanted none"):
        check_positions(
            GraphQuestion("q", 0, "who?", ("a",), (0,)), TextualGraph((), np.zeros((0, 2), dtype=np.int32), ())
        )


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_must_be_between_0_and_1(share: float) -> None:
    with pytest.raises(InputError, match="wanted more than 0 and less than 1"):
        split_dataset(make_dataset(["a", "b"]), share, 0)
