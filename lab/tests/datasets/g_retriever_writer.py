"""Write data sets of questions on graphs in the layout of G-Retriever (see `load_g_retriever`), for other tools.

Source: as `clew_lab.datasets.g_retriever`.
Differs from the source: cells of text are always quoted, and additional columns hold what the layout does not provide
for.
"""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clew.datasets.questions import check_unique
from clew.errors import InputError, ProviderError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.g_retriever import CHOICES_FILE, EDGE_COLUMNS, NODE_COLUMNS
from clew_lab.datasets.graph_datasets import GraphDataset, GraphQuestion

_COLUMNS = ("q_id", "image_id", "question", "answer", "full_answer", "answers", "topics", "gold", "group")


def write_g_retriever(
    dataset: GraphDataset, folder: str | Path, splits: Mapping[str, GraphDataset] | None = None
) -> None:
    """Write a data set; `load_g_retriever` reads it back equal.

    Args:
        dataset: Data set; graphs are named by their positions, and `answer` has the alternatives separated by `|`.
        folder: New or empty folder.
        splits: Parts of the data set by the NAME of their `split/NAME_indices.txt`; G-Retriever uses train, val, test.

    Raises:
        InputError: The folder is not empty, two questions have the same id, an id or a question is blank, a split has a
            question outside the data set, or a text is not valid Unicode.
        ProviderError: The folder cannot be written.
    """
    target = Path(folder)
    _check(dataset)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise InputError(f"{target}: holds files; give a new or an empty folder")
        for name in ("nodes", "edges", "split"):
            (target / name).mkdir()
        for number, graph in enumerate(dataset.graphs):
            _write_graph(target, str(number), graph)
        _write(target / "questions.csv", _COLUMNS, map(_row, dataset.questions))
        if dataset.choices:
            (target / CHOICES_FILE).write_text(json.dumps(dataset.choices) + "\n", encoding="utf-8")
        for name, part in (splits or {}).items():
            rows = "".join(f"{row}\n" for row in _rows(dataset, name, part))
            (target / "split" / f"{name}_indices.txt").write_text(rows, encoding="utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{target}: a text holds half a character ({error.reason}); wanted Unicode. Leave it out"
        ) from error
    except OSError as error:
        raise ProviderError(f"{target}: cannot be written ({error.strerror}); check the disk and its rights") from error


def _check(dataset: GraphDataset) -> None:
    check_unique((f"question {number}", question) for number, question in enumerate(dataset.questions))
    for question in dataset.questions:
        if not question.id.strip():
            raise InputError(f"question {question.text!r} has the id {question.id!r}; wanted one that is not blank")


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


def _rows(dataset: GraphDataset, name: str, part: GraphDataset) -> list[int]:
    row_of = {question.id: row for row, question in enumerate(dataset.questions)}
    for question in part.questions:
        if question.id not in row_of:
            raise InputError(f"split {name!r} has question {question.id!r}; wanted one of the set's. Split this set")
    return [row_of[question.id] for question in part.questions]
