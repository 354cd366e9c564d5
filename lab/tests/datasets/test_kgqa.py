"""Questions on the neighbourhoods of their topics, against a search over plain sets."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.graph_datasets import GraphDataset
from clew_lab.datasets.kgqa import load_kgqa

Triple = tuple[str, str, str]


def load(folder: Path, triples: list[Triple], questions: list[dict[str, Any]], **options: int) -> GraphDataset:
    (folder / "kg.tsv").write_text("".join("\t".join(triple) + "\n" for triple in triples), encoding="utf-8")
    records = [{"id": f"q{n}", "question": "who ?", "answers": ["x"]} | own for n, own in enumerate(questions)]
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "questions.jsonl").write_text(text, encoding="utf-8")
    return load_kgqa(folder / "kg.tsv", folder / "questions.jsonl", **options)


def list_triples(graph: TextualGraph) -> list[Triple]:
    rows = zip(graph.edges.tolist(), graph.relations, strict=True)
    return [(graph.nodes[source], relation, graph.nodes[target]) for (source, target), relation in rows]


def expected_nodes(triples: list[Triple], topics: list[str], hops: int, most: int) -> list[str]:
    """Return the names within some hops: topics first, then nearest first, each sorted by name."""
    nodes = sorted(topics)
    level = set(nodes)
    for _ in range(hops):
        joined = {t for h, _, t in triples if h in level} | {h for h, _, t in triples if t in level}
        level = joined - set(nodes)
        nodes += sorted(level)
    return nodes[: max(most, len(topics))]


NAMES = st.sampled_from([f"n{number}" for number in range(9)])
TRIPLES = st.lists(st.tuples(NAMES, st.sampled_from(["r", "s"]), NAMES), min_size=1, max_size=14)


@settings(deadline=None, max_examples=60)
@given(st.data(), TRIPLES, st.integers(0, 3), st.integers(1, 10))
def test_graphs_have_the_nearest_nodes_all_their_edges_and_gold_of_complete_paths(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, triples: list[Triple], hops: int, most: int
) -> None:
    named = sorted({end for h, _, t in triples for end in (h, t)})
    some = st.lists(st.sampled_from(named), min_size=1, max_size=3, unique=True)
    asking = data.draw(st.lists(some, min_size=1, max_size=4))
    paths = [
        data.draw(st.lists(st.lists(st.sampled_from(triples), min_size=1, max_size=3), max_size=2)) for _ in asking
    ]
    questions = [{"topic": topics, "paths": own} for topics, own in zip(asking, paths, strict=True)]
    dataset = load(tmp_path_factory.mktemp("kg"), triples, questions, hops=hops, max_nodes=most)
    assert len(dataset.graphs) == len({frozenset(topics) for topics in asking})
    lost = total = 0
    for question, topics, own in zip(dataset.questions, asking, paths, strict=True):
        graph = dataset.graphs[question.graph]
        assert list(graph.nodes) == expected_nodes(triples, topics, hops, most)
        assert list_triples(graph) == sorted(t for t in set(triples) if t[0] in graph.nodes and t[2] in graph.nodes)
        assert [graph.nodes[node] for node in question.topics] == sorted(topics)
        assert question.group == " | ".join(sorted(topics))
        needed = list(dict.fromkeys(tuple(dict.fromkeys(end for h, _, t in path for end in (h, t))) for path in own))
        complete = [chain for chain in needed if set(chain) <= set(graph.nodes)]
        assert [tuple(graph.nodes[node] for node in chain) for chain in question.gold] == complete
        lost, total = lost + len(needed) - len(complete), total + len(needed)
    assert [note.split(" paths")[0] for note in dataset.notes] == ([f"{lost} of {total}"] if lost else [])


KG = [("a", "likes", "b"), ("b", "likes", "c"), ("c", "likes", "d")]


def test_topics_outside_the_graph_are_counted(tmp_path: Path) -> None:
    questions: list[dict[str, Any]] = [{"topic": "a"}, {"topic": ["a", "zed"]}, {"topic": "zed"}, {}]
    dataset = load(tmp_path, KG, questions, hops=1)
    assert [question.topics for question in dataset.questions] == [(0,), (0,), (), ()]
    assert [len(dataset.graphs[question.graph].nodes) for question in dataset.questions] == [2, 2, 0, 0]
    assert [question.group for question in dataset.questions] == ["a", "a | zed", "zed", ""]
    assert dataset.notes == (
        "2 of 4 questions name no topic of the graph; their graphs are empty",
        "1 of 4 questions also name topics that the graph does not have",
    )


def test_questions_without_any_topic_in_the_graph_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none of 1 question names a topic of .*kg\.tsv"):
        load(tmp_path, KG, [{"topic": "zed"}])


@pytest.mark.parametrize("options", [{"max_nodes": 0}, {"hops": -1}, {"hops": 1000}])
def test_a_number_out_of_range(tmp_path: Path, options: dict[str, int]) -> None:
    with pytest.raises(InputError, match="wanted"):
        load(tmp_path, KG, [{"topic": "a"}], **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tlikes\tb\na\tlikes\n", r"kg\.tsv:2: 2 cells, wanted 3.*; wanted head, relation and tail on each line"),
        ("\n", r"kg\.tsv states no triple; give a file"),
    ],
)
def test_a_malformed_graph(tmp_path: Path, text: str, message: str) -> None:
    load(tmp_path, KG, [{"topic": "a"}])
    (tmp_path / "kg.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_kgqa(tmp_path / "kg.tsv", tmp_path / "questions.jsonl")
