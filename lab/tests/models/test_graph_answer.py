"""The prompt for a question on a graph's tables."""

from clew_lab.models.graph_answer import build_prompt

GRAPH = "node_id,node_attr\n0,Fram {question}\n\nsrc,edge_attr,dst\n"


def test_the_graph_comes_before_the_question_and_the_answer_follows() -> None:
    text = build_prompt(" Who sailed {graph}? ", GRAPH)
    assert text.index(GRAPH.strip()) < text.index("Question: Who sailed {graph}?\n")
    assert text.endswith("Answer:")


def test_without_a_graph_the_prompt_does_not_mention_one() -> None:
    assert "graph" not in build_prompt("Who sailed?", " \n")
    assert build_prompt("Who sailed?", GRAPH).endswith(build_prompt("Who sailed?", ""))
