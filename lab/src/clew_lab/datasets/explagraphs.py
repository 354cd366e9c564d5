"""ExplaGraphs: two arguments and a small commonsense graph per question.

Source: Saha et al., "ExplaGraphs: An Explanation Graph Generation Task for Structured Commonsense Reasoning" (2021).
Differs from the source: the wording of the question about the stance is ours.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from clew.datasets.questions import Record, check_unique, preview, read_records
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion

STANCES = ("support", "counter")


def load_explagraphs(path: str | Path) -> GraphDataset:
    """Load questions on whether one argument supports or counters another.

    The file is JSON or JSONL {id, arg1, arg2, label, triples: [[head, relation, tail]]}. Raises InputError with file
    and line if it cannot be read, a key is missing or of the wrong type, a label is none of `STANCES`, or two ids are
    equal.
    """
    graphs, questions = [], []
    for number, record in enumerate(read_records(Path(path))):
        graphs.append(build_graph(_read_triples(record)))
        questions.append((record.location, make_stance_question(record, record.identifier("id"), number)))
    return GraphDataset(graphs, tuple(check_unique(questions)), STANCES)


def make_stance_question(record: Record, identifier: str, graph: int) -> GraphQuestion:
    """Return the question on the two arguments of a record with `arg1`, `arg2` and `label`, one of `STANCES`."""
    first, second, stance = (record.text(key) for key in ("arg1", "arg2", "label"))
    if stance not in STANCES:
        raise record.error(f"'label' is {preview(stance)}", " or ".join(STANCES))
    text = f"Claim: {first}\nReply: {second}\nDoes the reply support the claim or counter it?"
    return GraphQuestion(identifier, graph, text, (stance,), group=" ".join(first.casefold().split()))


def build_graph(triples: Iterable[tuple[str, str, str]]) -> TextualGraph:
    """Build the graph of triples: nodes in the order of their first occurrence, one edge per triple."""
    nodes: dict[str, int] = {}
    edges, relations = [], []
    for head, relation, tail in triples:
        edges.append([nodes.setdefault(end, len(nodes)) for end in (head, tail)])
        relations.append(relation)
    return TextualGraph(tuple(nodes), np.array(edges, dtype=np.int32).reshape(-1, 2), tuple(relations))


def _read_triples(record: Record) -> list[tuple[str, str, str]]:
    triples = []
    for item in record.items("triples"):
        match item:
            case [str(head), str(relation), str(tail)]:
                triples.append((head, relation, tail))
            case _:
                raise record.error(f"'triples' holds {preview(item)}", "lists of [head, relation, tail]")
    return triples
