"""Data sets of questions on graphs in the layout of G-Retriever: folders of tables.

    nodes/NAME.csv                  node_id, node_attr           one file per graph
    edges/NAME.csv                  src, edge_attr, dst          ends are `node_id`s
    questions.csv, questions.jsonl  question, answer, ...        or
    train_dev.tsv                   arg1, arg2, label, graph     (ExplaGraphs)
    split/PART_indices.txt          numbers of questions from 0, one per line

Source: He et al., "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering"
(2024), and the layout written by its published code.
Differs from the source: the questions of WebQSP come from a file in the folder instead of a hub; additional columns
hold what the layout does not provide for.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clew.datasets.questions import Record, check_unique, open_text, preview, read_records
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew_lab.datasets.explagraphs import STANCES, build_graph, make_stance_question
from clew_lab.datasets.graph_datasets import TOPIC_SEPARATOR, AccuracyRule, GraphDataset, GraphQuestion, LazyGraphs
from clew_lab.datasets.tables import read_table

QUESTION_FILES = ("questions.csv", "questions.jsonl", "train_dev.tsv")
CHOICES_FILE = "choices.json"
NODE_COLUMNS, EDGE_COLUMNS = ("node_id", "node_attr"), ("src", "edge_attr", "dst")
STANCE_COLUMNS = ("arg1", "arg2", "label")


def load_g_retriever(folder: str | Path, split: str | None = None) -> GraphDataset:
    """Load questions, all or those that `split/SPLIT_indices.txt` selects; graphs are read on access.

    `questions.csv` and `questions.jsonl` have the columns `question` and `answer` (or `a_entity`), with alternatives in
    a list or separated by `|`, and optionally

        q_id or id                  distinct id; default: the number of the question from 0
        image_id or graph_id        NAME of the graph; default: the number of the question (WebQSP)
        answers, topics, gold       JSON lists of texts, of nodes' positions, of lists of these; `answers` overrides
                                    `answer`
        group                       or `q_entity`; default: NAME of the graph, and no group for a graph that is named by
                                    the question's number

    `train_dev.tsv` needs no `nodes/` and `edges/`: its column `graph` holds concatenated `(head; relation; tail)`.
    `choices.json`, a list of texts, may give the possible answers of all questions. Raises InputError if a file is
    missing, cannot be read or is malformed; for files of a graph, on access.
    """
    source = Path(folder)
    path = next((source / name for name in QUESTION_FILES if (source / name).is_file()), None)
    if path is None:
        raise InputError(f"{source}: wanted a folder that holds {' or '.join(QUESTION_FILES)}; give such a folder")
    stances = path.suffix == ".tsv"
    columns, delimiter = (STANCE_COLUMNS, "\t") if stances else (("question",), ",")
    rows = read_records(path) if path.suffix == ".jsonl" else read_table(path, columns, delimiter).records()
    records = list(rows)
    if stances and not (source / "nodes").is_dir():
        graphs: LazyGraphs | list[TextualGraph] = [build_graph(_parse_triples(record)) for record in records]
        graph_of = {str(number): number for number in range(len(records))}
    else:
        names = _graph_names(source)
        graphs = LazyGraphs(len(names), lambda position: read_graph(source, names[position]))
        graph_of = {name: position for position, name in enumerate(names)}
    make = _make_stance_question if stances else _make_question
    questions = check_unique((record.location, make(record, row, graph_of)) for row, record in enumerate(records))
    if split is not None:
        questions = [questions[row] for row in read_split(source, split, len(questions))]
    choices = STANCES if stances else _read_choices(source / CHOICES_FILE)
    return GraphDataset(graphs, tuple(questions), choices, accuracy=_accuracy_rule(records))


def read_graph(folder: Path, name: str) -> TextualGraph:
    """Read the graph of `nodes/NAME.csv` and `edges/NAME.csv`; an edge must end at existing nodes."""
    nodes = read_table(folder / "nodes" / f"{name}.csv", NODE_COLUMNS)
    node_of: dict[str, int] = {}
    texts: list[str] = []
    for line, (node, text) in nodes.columns(*NODE_COLUMNS):
        if node in node_of:
            raise InputError(f"{nodes.location(line)}: node_id {node!r} was already used; give each node its own")
        node_of[node] = len(texts)
        texts.append(text)
    edges = read_table(folder / "edges" / f"{name}.csv", EDGE_COLUMNS)
    ends, relations = [], []
    for line, (source, relation, target) in edges.columns(*EDGE_COLUMNS):
        if source not in node_of or target not in node_of:
            unknown = source if source not in node_of else target
            raise InputError(f"{edges.location(line)}: an edge ends at {unknown!r}; wanted a node_id of {nodes.path}")
        ends.append((node_of[source], node_of[target]))
        relations.append(relation)
    return TextualGraph(tuple(texts), np.array(ends, dtype=np.int32).reshape(-1, 2), tuple(relations))


def _graph_names(folder: Path) -> list[str]:
    """Return the names of the graphs, numbers first and by value."""
    names = [path.stem for path in (folder / "nodes").glob("*.csv")]
    if not names:
        raise InputError(f"{folder / 'nodes'}: holds no graph; wanted NAME.csv with {', '.join(NODE_COLUMNS)}")
    return sorted(names, key=lambda name: (0, int(name), name) if re.fullmatch("[0-9]+", name) else (1, 0, name))


def _make_stance_question(record: Record, row: int, graph_of: dict[str, int]) -> GraphQuestion:
    return make_stance_question(record, str(row), _graph_position(record, str(row), graph_of))


def _make_question(record: Record, row: int, graph_of: dict[str, int]) -> GraphQuestion:
    fields = record.fields
    graph_key, id_key = _first_key(fields, "image_id", "graph_id"), _first_key(fields, "q_id", "id")
    name = record.identifier(*graph_key) if graph_key else str(row)
    chains = _json_list(record, "gold") if fields.get("gold") else []
    return GraphQuestion(
        record.identifier(*id_key) if id_key else str(row),
        _graph_position(record, name, graph_of),
        record.text("question"),
        _answers(record),
        _check_positions(record, "topics", _json_list(record, "topics")) if fields.get("topics") else (),
        tuple(_check_positions(record, "gold", chain) for chain in chains),
        _question_group(record, name if graph_key else ""),
    )


def _accuracy_rule(records: Sequence[Record]) -> AccuracyRule:
    """Return the rule of scene graphs, whose questions name an image, or of WebQSP."""
    return "inside" if any("image_id" in record.fields for record in records) else "hit"


def _question_group(record: Record, name: str) -> str:
    if "group" in record.fields:
        return record.text("group")
    return TOPIC_SEPARATOR.join(_alternatives(record, "q_entity")) if "q_entity" in record.fields else name


def _first_key(fields: dict[str, Any], *keys: str) -> tuple[str, ...]:
    return tuple(key for key in keys if key in fields)[:1]


def _graph_position(record: Record, name: str, graph_of: dict[str, int]) -> int:
    if name not in graph_of:
        raise record.error(f"the question is on graph {name!r}", f"one that has a nodes/{name}.csv")
    return graph_of[name]


def _answers(record: Record) -> tuple[str, ...]:
    if record.fields.get("answers"):
        answers = _json_list(record, "answers")
        if not all(isinstance(answer, str) for answer in answers):
            raise record.error(f"'answers' is {preview(answers)}", "a list of strings")
        return tuple(answers)
    return _alternatives(record, "answer" if "answer" in record.fields else "a_entity")


def _alternatives(record: Record, key: str) -> tuple[str, ...]:
    value = record.value(key)
    if isinstance(value, list):
        return record.texts(key)
    return tuple(dict.fromkeys(part.strip() for part in record.text(key).split("|") if part.strip()))


def _json_list(record: Record, key: str) -> list[Any]:
    """Return a list: the value itself, or the JSON in a table's cell."""
    value = record.value(key)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError) as error:
            raise record.error(f"{key!r} is {preview(value)}", "a JSON list") from error
    if not isinstance(value, list):
        raise record.error(f"{key!r} is {preview(value)}", "a list")
    return value


def _check_positions(record: Record, key: str, values: Any) -> tuple[int, ...]:
    match values:
        case [*nodes] if all(type(node) is int and node >= 0 for node in nodes):
            return tuple(nodes)
    raise record.error(f"{key!r} holds {preview(values)}", "a list of positions of nodes, from 0")


def _parse_triples(record: Record) -> Iterator[tuple[str, str, str]]:
    """Yield the triples of the column `graph`, in lower case as in the published code."""
    text = record.text("graph").strip()
    if not text.startswith("(") or not text.endswith(")"):
        raise record.error(f"'graph' is {preview(text)}", "(head; relation; tail)(head; relation; tail)...")
    for piece in re.split(r"\)\s*\(", text[1:-1]):
        match [part.strip().lower() for part in piece.split(";")]:
            case [head, relation, tail]:
                yield head, relation, tail
            case _:
                raise record.error(f"'graph' holds {preview(piece)}", "(head; relation; tail), with two semicolons")


def split_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the splits in a folder, sorted; none without any."""
    files = (folder / "split").glob("*_indices.txt")
    return tuple(sorted(file.name.removesuffix("_indices.txt") for file in files))


def read_split(folder: Path, split: str, count: int) -> Iterator[int]:
    """Yield the numbers of the questions, of `count`, that `split/SPLIT_indices.txt` lists."""
    path = folder / "split" / f"{split}_indices.txt"
    if not path.is_file():
        names = split_names(folder)
        raise InputError(f"{path}: no such split; wanted one of {', '.join(names) or 'none: leave the split out'}")
    with open_text(path, "split") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if not re.fullmatch("[0-9]+", line.strip()) or int(line) >= count:
            raise InputError(
                f"{path}: line {number}: {preview(line)}; wanted the number of a question, 0 to {count - 1}"
            )
        yield int(line)


def _read_choices(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    try:
        choices = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: cannot be read as JSON ({error}); wanted a list of texts, or no such file"
        ) from error
    if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
        raise InputError(f"{path}: holds {preview(choices)}; wanted a list of texts. Correct it, or remove the file")
    return tuple(choices)
