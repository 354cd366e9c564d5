"""Triples and names of entities from JSON, in the common spellings: lines, a list of records, or one after another."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NoReturn

from clew.errors import InputError
from clew.indexing.kg_formats.tables import (
    MAX_RECORD_CHARACTERS,
    EntityNames,
    MalformedStatement,
    RawTriple,
    Statement,
    find_name_fault,
    find_text_fault,
)

TRIPLE_KEYS = (("head", "relation", "tail"), ("h", "r", "t"), ("subject", "predicate", "object"))
_PART_KEYS = ("text", "kb_id", "rel_id")  # of the object of an entity or relation, the name before identifiers
_SPACE = re.compile(r"[ \t\r\n]+")
_EXPECTED_FORMS = '{"head", "relation", "tail"}, ["head", "relation", "tail"], or {"id", "label", "aliases"} for names'


def read_json_statements(lines: Iterable[str], file_name: str) -> Iterator[Statement]:
    """Yield the triple or names in each line that is not blank; undecodable bytes come as lone surrogates."""
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            yield from _parse_line(line)
        except ValueError as error:  # raised here or by the JSON parser
            yield MalformedStatement(f"{file_name}:{number}", str(error))
        except RecursionError:
            yield MalformedStatement(f"{file_name}:{number}", "brackets are nested too deeply")


def read_json_file(text: str, file_name: str) -> Iterator[Statement]:
    """Yield the statements of each record of a text: a list of records, or records one after another.

    A record that is none is a `MalformedStatement`; raises InputError where the text is no JSON.
    """
    at = _skip_space(text, 0)
    is_list = text[at : at + 1] == "[" and text[_skip_space(text, at + 1) :][:1] in ("{", "[", "]")
    at = _skip_space(text, at + is_list)
    number = 0
    while at < len(text) and not (is_list and text[at] == "]"):
        number += 1
        position = f"{file_name}: record {number}"
        record, end = _decode_record(text, at, position)
        try:
            if fault := find_text_fault(text[at:end]):
                raise ValueError(fault)
            yield from parse_record(record)
        except ValueError as error:
            yield MalformedStatement(position, str(error))
        at = _skip_space(text, end)
        if is_list and text[at : at + 1] == ",":
            at = _skip_space(text, at + 1)
        elif is_list and text[at : at + 1] != "]":
            seen = f"is followed by {text[at]!r}" if at < len(text) else "is the last, and the list has no end"
            raise InputError(f"{position} {seen}; wanted a whole JSON list: check the file")
    if is_list and at == len(text):
        raise InputError(f"{file_name}: the list has no end; wanted a whole JSON list: check the file")


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _decode_record(text: str, at: int, position: str) -> tuple[object, int]:
    """Return the value that begins at a place of a text, and where it ends."""
    try:
        return _DECODER.raw_decode(text, at)
    except json.JSONDecodeError as error:
        raise InputError(f"{position}: invalid JSON ({error.msg}); wanted a list of records") from error
    except ValueError as error:
        raise InputError(f"{position}: {error}; wanted a list of records") from error
    except RecursionError as error:
        raise InputError(f"{position}: brackets are nested too deeply; wanted a list of records") from error


def own_graph_triples(record: Mapping[str, object]) -> list[RawTriple]:
    """Return the triples of a question that brings its own graph, under `graph` or `subgraph` (RoG, FRAG).

    They are lists of [head, relation, tail], or an object that has these under `tuples`; each part is a name, or an
    object with its `text` or identifier, as GraftNet writes. Raises ValueError for others, and for numbers, as of NSM.
    """
    facts = record["graph"] if "graph" in record else record["subgraph"]
    if isinstance(facts, dict):
        facts = facts.get("tuples")
    if not isinstance(facts, list) or not all(isinstance(fact, list) and len(fact) == 3 for fact in facts):
        raise ValueError("the graph of a question is no list of [head, relation, tail]")
    if facts and all(_is_number(part) for fact in facts for part in fact):
        raise ValueError(
            "the graph of a question is of numbers, as NSM's files number entities and relations; wanted names: put "
            "those of the entities and relations in their places"
        )
    return [_make_triple(*map(_part_name, fact)) for fact in facts]


def _is_number(part: object) -> bool:
    return isinstance(part, int) or (isinstance(part, str) and part.isascii() and part.isdigit())


def _part_name(part: object) -> object:
    """Return the name that an object of GraftNet gives an entity or a relation; another part as it is."""
    if not isinstance(part, dict):
        return part
    return next((part[key] for key in _PART_KEYS if part.get(key)), part)


def _parse_line(line: str) -> Sequence[RawTriple | EntityNames]:
    if fault := find_text_fault(line, MAX_RECORD_CHARACTERS):
        raise ValueError(fault)
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at character {error.pos + 1} of the line") from error
    if isinstance(record, list) and record and isinstance(record[0], dict):
        raise ValueError(
            f"a JSON list of {len(record)} objects; wanted one object a line, or --format json, or a file.json"
        )
    return parse_record(record)


def parse_record(record: object) -> Sequence[RawTriple | EntityNames]:
    """Return the triples or names of a JSON value whose numbers are texts; raises ValueError where it has none."""
    if isinstance(record, list) and len(record) == 3:
        return [_make_triple(*record)]
    if isinstance(record, dict):
        if "question" in record and record.keys() & {"graph", "subgraph"}:
            return own_graph_triples(record)
        if record.keys() & {"question", "Questions"}:
            raise ValueError(
                f"{'a question' if 'question' in record else 'a file of questions, as of WebQSP,'} without a graph; "
                "import the triples that it is about, or questions that bring their graph, as RoG's records, and give "
                "this file to clew eval --questions"
            )
        for head, relation, tail in TRIPLE_KEYS:
            if head in record and relation in record and tail in record:
                return [_make_triple(record[head], record[relation], record[tail])]
        if "id" in record and record.keys() & {"label", "name", "aliases"}:
            return [_make_names(record)]
    raise ValueError(f"no triple; wanted {_EXPECTED_FORMS}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not valid JSON: {name}")


# Numbers are names as they are written: 1990 stays 1990, and 1e400 is not infinity.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse_constant)


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a name is {json.dumps(value)[:60]}; wanted a string or a number")
    return value.strip()


def _make_triple(head: object, relation: object, tail: object) -> RawTriple:
    triple = _read_text(head), _read_text(relation), _read_text(tail)
    if fault := find_name_fault(*triple):
        raise ValueError(fault)
    return triple


def _make_names(record: Mapping[str, object]) -> EntityNames:
    aliases = record.get("aliases") or []
    if not isinstance(aliases, list):
        raise ValueError('"aliases" is not a list')
    label = record.get("label", record.get("name"))
    id_, names = _read_text(record["id"]), [_read_text(alias) for alias in aliases]
    label_text = "" if label is None else _read_text(label)
    if fault := find_name_fault(id_, *filter(None, (label_text, *names))):
        raise ValueError(fault)
    return EntityNames(id_, label_text, tuple(dict.fromkeys(filter(None, names))), is_listed=True)
