"""Documents and questions in the files of the package gfmrag.

    file                                 content
    documents.json, dataset_corpus.json  {title: text}, or {title: {"text" or "content": text}}; the title is the id
    titles.json                          {id: title} of documents that have another title than their id; written by
                                         `clew export` beside documents.json, and not read by gfmrag
    train.json, test.json                [{id, question, answer, supporting_documents: [title]}], or, in its first
                                         version, supporting_facts: [title], or, of its stage 1 alone, target_nodes:
                                         {document: [title]}
    nodes.csv                            its stage 1, which is written and not read: columns name, type, attributes
    relations.csv                        columns name, attributes
    edges.csv                            columns source, relation, target, attributes; an edge of an entity and a
                                         document is a mention

A document is a node with its content, which their code embeds, as the literal of a Python dictionary, which it parses.
A name may be that of one node alone there: an entity called exactly as a document is written in lower case, or where
that is a document too, with ` (entity)` behind it.

Source: the documentation and the code of the authors' package gfmrag (GFM-RAG, G-reasoner). Differs from the source:
entities that its stages add to questions are not read.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from clew.datasets.questions import Record, open_text, preview
from clew.errors import InputError
from clew.types import Document, Question

DOCUMENT_FILES = ("documents.json", "dataset_corpus.json")
TITLES_FILE = "titles.json"
NODES, RELATIONS, EDGES = "nodes.csv", "relations.csv", "edges.csv"
DOCUMENT, ENTITY, MENTION = "document", "entity", "is_mentioned_in"
_GOLD_KEYS = ("supporting_documents", "supporting_facts")
_TEXT_KEYS = ("text", "content")


def is_documents_file(path: Path) -> bool:
    """Return whether a path is that of documents, by its name, and holds one object."""
    if path.name not in DOCUMENT_FILES or not path.is_file():
        return False
    with open_text(path, "JSON file") as file:
        return file.read(1024).lstrip().startswith("{")


def read_documents(path: Path) -> Iterator[Document]:
    """Yield the documents of a file, in its order; an unusable one is an InputError that names it."""
    with open_text(path, "JSON file") as file:
        try:
            content = json.load(file)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{path}: is not JSON ({error}); wanted an object of titles and texts") from error
    titles = _read_titles(path.with_name(TITLES_FILE))
    for title, value in content.items():
        record = Record(f"{path}: {preview(title)}", value if isinstance(value, dict) else {"text": value})
        if not title.strip():
            raise record.error("the title is blank", "a title, which is the document's id")
        yield Document(title, titles.get(title, title), record.text(*_TEXT_KEYS))


def _read_titles(path: Path) -> dict[str, str]:
    """Return the titles of a file that may be absent, by the ids of their documents."""
    if not path.is_file():
        return {}
    with open_text(path, "JSON file") as file:
        try:
            titles = json.load(file)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{path}: is not JSON ({error}); wanted an object of ids and titles") from error
    if not isinstance(titles, dict) or not all(isinstance(title, str) for title in titles.values()):
        raise InputError(f"{path}: wanted an object of ids and titles: correct it, or remove it")
    return titles


def is_question(record: Record) -> bool:
    """Return whether a record is a question whose evidence is a list of titles."""
    gold = record.fields[key] if (key := _gold_key(record.fields)) else _target_documents(record.fields)
    return isinstance(gold, list) and "context" not in record.fields and all(isinstance(id_, str) for id_ in gold)


def make_question(record: Record) -> Question:
    """Return the question of a record; its gold ids are the titles of documents."""
    key = _gold_key(record.fields)
    if not key:
        record = Record(record.location, {**record.fields, "target_nodes": _target_documents(record.fields)})
    answer = record.fields.get("answer")
    answers = record.texts("answer") if isinstance(answer, list) else (record.text("answer"),) if answer else ()
    aliases = record.texts("answer_aliases") if record.fields.get("answer_aliases") else ()
    gold = tuple(dict.fromkeys(record.texts(key or "target_nodes")))
    return Question(record.identifier("id", "_id"), record.text("question"), (*answers, *aliases), gold)


def _gold_key(fields: Mapping[str, Any]) -> str:
    return next((key for key in _GOLD_KEYS if key in fields), "")


def _target_documents(fields: Mapping[str, Any]) -> Any:
    nodes = fields.get("target_nodes")
    return nodes.get("document") if isinstance(nodes, dict) else None


def format_documents(documents: Iterable[tuple[str, str]]) -> str:
    """Return the file of documents, given with their ids, which are its titles."""
    return json.dumps(dict(documents), ensure_ascii=False, indent=1) + "\n"


def format_questions(questions: Sequence[Question]) -> str:
    """Return the file of questions; readers of its first version find `supporting_facts` too."""
    records: list[dict[str, Any]] = [
        {
            "id": question.id,
            "question": question.text,
            "answer": question.answers[0] if question.answers else "",
            "answer_aliases": list(question.answers[1:]),
            "supporting_documents": list(question.gold),
            "supporting_facts": list(question.gold),
        }
        for question in questions
    ]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def format_stage1(
    entities: Iterable[str],
    triples: Iterable[tuple[str, str, str]],
    documents: Mapping[str, str],
    mentions: Iterable[tuple[str, str]],
) -> dict[str, str]:
    """Return the text of each file; documents have their texts, mentions are pairs of an entity and a document."""

    def own_name(entity: str) -> str:
        free = (name for name in (entity, entity.lower(), f"{entity} (entity)") if name not in documents)
        return next(free, f"{entity} ({ENTITY}) ({ENTITY})")

    stated = sorted({(own_name(head), relation, own_name(tail)) for head, relation, tail in triples})
    rows: dict[str, Sequence[tuple[str, ...]]] = {
        NODES: [(name, ENTITY, "{}") for name in sorted({*map(own_name, entities)})]
        + [(name, DOCUMENT, repr({"content": documents[name]})) for name in sorted(documents)],
        RELATIONS: [(name, "{}") for name in sorted({*(relation for _, relation, _ in stated), MENTION})],
        EDGES: [(*triple, "{}") for triple in stated]
        + [(one, MENTION, document, "{}") for one, document in sorted({(own_name(e), d) for e, d in mentions})],
    }
    heads = {NODES: ("name", "type"), RELATIONS: ("name",), EDGES: ("source", "relation", "target")}
    texts = {}
    for name, own in rows.items():
        stream = StringIO(newline="")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow((*heads[name], "attributes"))
        writer.writerows(own)
        texts[name] = stream.getvalue()
    return texts
