"""Write data sets of questions on graphs in the layout of G-Retriever (see `load_g_retriever`)."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.g_retriever import CHOICES_FILE, EDGE_COLUMNS, NODE_COLUMNS
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion

_COLUMNS = ("q_id", "image_id", "question", "answer", "full_answer", "answers", "topics", "gold", "group")


def write_g_retriever(dataset: GraphDataset, folder: Path, splits: Mapping[str, GraphDataset] | None = None) -> None:
    """Write a data set, and parts of it by name, to a new folder; `load_g_retriever` reads it back equal.

    Graphs are named by their positions, and further columns hold what the layout does not provide for.
    """
    for name in ("nodes", "edges", "split"):
        (folder / name).mkdir(parents=True)
    for number, graph in enumerate(dataset.graphs):
        _write_graph(folder, str(number), graph)
    _write(folder / "questions.csv", _COLUMNS, map(_row, dataset.questions))
    if dataset.choices:
        (folder / CHOICES_FILE).write_text(json.dumps(dataset.choices) + "\n", encoding="utf-8")
    row_of = {question.id: row for row, question in enumerate(dataset.questions)}
    for name, part in (splits or {}).items():
        rows = "".join(f"{row_of[question.id]}\n" for question in part.questions)
        (folder / "split" / f"{name}_indices.txt").write_text(rows, encoding="utf-8")


def _write_graph(folder: Path, name: str, graph: TextualGraph) -> None:
    _write(folder / "nodes" / f"{name}.csv", NODE_COLUMNS, enumerate(graph.nodes))
    ends = zip(graph.edges.tolist(), graph.relations, strict=True)
    rows = ((source, relation, target) for (source, target), relation in ends)
    _write(folder / "edges" / f"{name}.csv", EDGE_COLUMNS, rows)


def _row(question: GraphQuestion) -> tuple[str | int, ...]:
    answer = "|".join(question.answers)
    lists = (json.dumps(values) for values in (question.answers, question.topics, question.gold))
    return question.id, question.graph, question.text, answer, answer, *lists, question.group


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str | int]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        # Texts quoted whatever they hold: Python 3.11 leaves a lone carriage return bare, which then ends the row.
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
