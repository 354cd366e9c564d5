"""Prompt of a causal language model that answers a question on a subgraph."""

_GRAPH_TEMPLATE = """\
A graph is written as two tables. The first gives the nodes, the second the edges between them by their ids.

{graph}

Use the graph to answer the question."""
_QUESTION_TEMPLATE = "Question: {question}\nGive nothing but the answer, as short as it can be.\nAnswer:"


def build_prompt(question: str, graph: str) -> str:
    """Return the text that the answer continues; a graph "" leaves out its tables of nodes and edges."""
    end = _QUESTION_TEMPLATE.replace("{question}", question.strip())
    return f"{_GRAPH_TEMPLATE.replace('{graph}', graph.strip())}\n{end}" if graph.strip() else end
