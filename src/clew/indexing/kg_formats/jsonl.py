"""Triples and names of entities from lines of JSON, in any of the usual spellings."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NoReturn

from clew.indexing.kg_formats.statements import Malformed, Named, Stated, Statement, fault_of
from clew.indexing.kg_formats.tables import line_fault

SPELLINGS = (("head", "relation", "tail"), ("h", "r", "t"), ("subject", "predicate", "object"))
_WANTED = '{"head", "relation", "tail"}, ["head", "relation", "tail"], or {"id", "label", "aliases"} for names'


def json_statements(lines: Iterable[str], place: str) -> Iterator[Statement]:
    """Yield what each line that is not blank states: `{"head": ..., "relation": ..., "tail": ...}` or names.

    Args:
        lines: Text with line ends; bytes that are none of its encoding as lone surrogates.
        place: How faults name the file.
    """
    for number, line in enumerate(lines, 1):
        if line.isspace():
            continue
        try:
            yield _statement(line)
        except ValueError as error:  # of ours and of the JSON reader
            yield Malformed(f"{place}:{number}", str(error))
        except RecursionError:
            yield Malformed(f"{place}:{number}", "brackets are nested too deeply")


def _statement(line: str) -> Stated | Named:
    if fault := line_fault(line):
        raise ValueError(fault)
    try:
        # Numbers are names as they are written: 1990 stays 1990, and 1e400 is no infinity.
        record = json.loads(line, parse_int=str, parse_float=str, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg} at character {error.pos + 1} of the line") from error
    if isinstance(record, list) and len(record) == 3:
        return _triple(*record)
    if isinstance(record, dict):
        for head, relation, tail in SPELLINGS:
            if head in record and relation in record and tail in record:
                return _triple(record[head], record[relation], record[tail])
        if "id" in record and record.keys() & {"label", "name", "aliases"}:
            return _named(record)
    raise ValueError(f"no triple; wanted {_WANTED}")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"not valid JSON: {name}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a name is {json.dumps(value)[:60]}; wanted a string or a number")
    return value.strip()


def _triple(head: object, relation: object, tail: object) -> Stated:
    triple = _text(head), _text(relation), _text(tail)
    if fault := fault_of(*triple):
        raise ValueError(fault)
    return triple


def _named(record: Mapping[str, object]) -> Named:
    aliases = record.get("aliases") or []
    if not isinstance(aliases, list):
        raise ValueError('"aliases" is no list')
    label = record.get("label", record.get("name"))
    id_, names = _text(record["id"]), [_text(alias) for alias in aliases]
    shown = "" if label is None else _text(label)
    if fault := fault_of(id_, *filter(None, (shown, *names))):
        raise ValueError(fault)
    return Named(id_, shown, tuple(dict.fromkeys(filter(None, names))), listed=True)
