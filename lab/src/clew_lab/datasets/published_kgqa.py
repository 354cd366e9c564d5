"""Questions of WebQSP and CWQ in their published forms, of which two bring their own graph.

    RoG          JSONL {id, question, answer: [name], q_entity: [name], graph: [[head, relation, tail]]}
    FRAG         JSONL {id, question, answers: [name or {text}], entities: [name or {text}], subgraph: the same, or
                 {tuples: the same, or of objects {text, kb_id} and {text, rel_id}, as GraftNet writes}}
    WebQSP       {Questions: [{QuestionId, RawQuestion, Parses: [{TopicEntityName, Answers: [{EntityName}]}]}]}
    CWQ          [{ID, question, answers: [{answer_id, answer}], sparql}]

Source: the records of Luo et al., "Reasoning on Graphs" (RoG, 2024), the code of Gao et al., "FRAG" (2025), and the
data sets of Yih et al. (2016) and of Talmor and Berant (2018).
Differs from the source: an answer of WebQSP without a name is its identifier or value; CWQ names no topics, which are
the identifiers of its query in SPARQL; all parses of a question of WebQSP count.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from clew.datasets.questions import Record, check_unique, open_text, preview, read_records
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import TextualGraph
from clew.indexing.kg_formats.json_records import own_graph_triples
from clew.indexing.kg_formats.tables import RawTriple
from clew.text.display import format_count
from clew.types import Question
from clew_lab.datasets.graph_datasets import TOPIC_SEPARATOR, GraphDataset, GraphQuestion

_HEAD_CHARACTERS = 4096
_FREEBASE_ID = re.compile(r"\bns:([mg]\.\w+)")


def layout_of(record: Record) -> str:
    """Return `own graph` or `cwq` for a record of these forms, "" for another."""
    keys = record.fields.keys()
    if "question" in keys and keys & {"graph", "subgraph"} and keys & {"answer", "answers", "a_entity"}:
        return "own graph"
    return "cwq" if {"ID", "question", "answers"} <= keys else ""


def is_webqsp(path: Path) -> bool:
    """Return whether a file is WebQSP's own, one object of all questions."""
    if not path.is_file():
        return False
    with open_text(path, "JSON file") as file:
        head = file.read(_HEAD_CHARACTERS)
    return head.lstrip().startswith("{") and '"Questions"' in head


def read_webqsp(path: Path) -> Iterator[tuple[str, Question]]:
    """Yield the questions of WebQSP's own file with their locations; raises InputError where it is not in this form."""
    with open_text(path, "JSON file") as file:
        try:
            content = json.load(file)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{path}: line {error.lineno}: invalid JSON ({error.msg}); wanted WebQSP's file"
            ) from error
    for number, value in enumerate(Record(str(path), content).items("Questions"), 1):
        record = Record(f"{path}: question {number}", value if isinstance(value, dict) else {})
        parses = [one for one in record.items("Parses") if isinstance(one, dict)]
        answers = [name for parse in parses for name in _webqsp_answers(record, parse.get("Answers"))]
        topics = [str(parse.get("TopicEntityName") or parse.get("TopicEntityMid") or "") for parse in parses]
        yield (
            record.location,
            Question(
                record.identifier("QuestionId"),
                record.text("RawQuestion"),
                _distinct(answers),
                topics=_distinct(topics),
            ),
        )


def make_question(record: Record, layout: str) -> Question:
    """Return the question of a record; its topics are the names of the entities that it is about."""
    if layout == "cwq":
        answers = [_name(record, one, "answer", "answer_id") for one in record.items("answers")]
        topics = _FREEBASE_ID.findall(str(record.fields.get("sparql") or ""))
        given = {str(one.get("answer_id")) for one in record.items("answers") if isinstance(one, dict)}
        return Question(
            record.identifier("ID"),
            record.text("question"),
            _distinct(answers),
            topics=_distinct(topic for topic in topics if topic not in given),
        )
    answer_key = next((key for key in ("answer", "answers", "a_entity") if record.fields.get(key) is not None), "")
    topic_key = next((key for key in ("q_entity", "entities") if record.fields.get(key) is not None), "")
    return Question(
        record.identifier("id"),
        record.text("question"),
        _distinct(_names(record, answer_key)) if answer_key else (),
        topics=_distinct(_names(record, topic_key)) if topic_key else (),
    )


def load_own_graphs(path: Path) -> GraphDataset:
    """Load questions that bring their own graph, as RoG's records or FRAG's lines.

    Topics are the nodes of the names that a question is about; `notes` count the questions without one.
    """
    graphs: list[TextualGraph] = []
    questions: list[tuple[str, GraphQuestion]] = []
    lacking = 0
    for number, record in enumerate(read_records(path)):
        if layout_of(record) != "own graph":
            raise record.error(f"the keys are {record.key_names}", "a question with its 'graph' or 'subgraph'")
        try:
            triples = own_graph_triples(record.fields)
        except ValueError as error:
            raise record.error(str(error), "[head, relation, tail] for each fact") from error
        question = make_question(record, "own graph")
        graph = _textual_graph(triples)
        position = {name: place for place, name in enumerate(graph.nodes)}
        topics = tuple(position[name] for name in question.topics if name in position)
        lacking += not topics
        graphs.append(graph)
        group = TOPIC_SEPARATOR.join(question.topics)
        questions.append(
            (record.location, GraphQuestion(question.id, number, question.text, question.answers, topics, (), group))
        )
    of_all = format_count(len(questions), "question has", "questions have")
    notes = (f"{lacking:,} of {of_all} no topic in their graph",) if lacking else ()
    return GraphDataset(graphs, tuple(check_unique(questions)), notes=notes)


def name_without_graphs(path: Path) -> str:
    """Return `WebQSP` or `CWQ` for their own files, whose questions bring no graph; "" for another."""
    if is_webqsp(path):
        return "WebQSP"
    return "CWQ" if path.is_file() and layout_of(next(read_records(path))) == "cwq" else ""


def has_own_graphs(path: Path) -> bool:
    """Return whether the first record of a file is a question with its own graph."""
    return path.is_file() and layout_of(next(read_records(path))) == "own graph"


def _textual_graph(triples: list[RawTriple]) -> TextualGraph:
    distinct = list(dict.fromkeys(triples))
    position = {name: place for place, name in enumerate(dict.fromkeys(end for h, _, t in distinct for end in (h, t)))}
    ends = np.array([(position[head], position[tail]) for head, _, tail in distinct], dtype=np.int32).reshape(-1, 2)
    return TextualGraph(tuple(position), ends, tuple(relation for _, relation, _ in distinct))


def _webqsp_answers(record: Record, value: Any) -> list[str]:
    answers = value or []
    if not isinstance(answers, list):
        raise record.error(f"the 'Answers' of a parse are {preview(value)}", "a list")
    if strange := [answer for answer in answers if not isinstance(answer, dict)]:
        raise record.error(f"an answer is {preview(strange[0])}", "an object with EntityName or AnswerArgument")
    return [str(answer.get("EntityName") or answer.get("AnswerArgument") or "") for answer in answers]


def _names(record: Record, key: str) -> list[str]:
    value = record.fields[key]
    return [_name(record, one, "text", "kb_id") for one in (value if isinstance(value, list) else [value])]


def _name(record: Record, value: Any, *keys: str) -> str:
    if isinstance(value, dict):
        value = next((value[key] for key in keys if value.get(key)), "")
    if not isinstance(value, str | int | float):
        raise record.error(f"a name is {preview(value)}", f"a text, or an object with {' or '.join(keys)}")
    return str(value)


def _distinct(names: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
