"""Statements of a JSON file: a list of records, or records one after another, each as a line of `jsonl` has it.

The file is read in parts, so that memory is bounded by the largest record and not by the file.
"""

import json
from collections.abc import Iterator

from clew.errors import InputError
from clew.indexing.kg_formats.jsonl import parse_record, refuse_constant
from clew.indexing.kg_formats.statements import MAX_RECORD_CHARACTERS, MalformedStatement, Statement
from clew.indexing.kg_formats.tables import find_text_fault

_SPACE = " \t\r\n"


def read_json_file(parts: Iterator[str], file_name: str) -> Iterator[Statement]:
    """Yield the statements of each record of a text, given in parts; undecodable bytes come as lone surrogates.

    A record that is none is a `MalformedStatement`; raises InputError where the text is no JSON.
    """
    number = 0
    for number, text in enumerate(_split_records(_Text(parts), file_name), 1):
        position = f"{file_name}: record {number}"
        try:
            if fault := find_text_fault(text):
                raise ValueError(fault)
            yield from parse_record(_DECODER.decode(text))
        except ValueError as error:
            yield MalformedStatement(position, str(error))


_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=refuse_constant)


class _Text:
    """A text that is read in parts; `rest` is what was read and is not used yet."""

    def __init__(self, parts: Iterator[str]) -> None:
        self._parts = parts
        self.rest = ""

    def extend(self) -> bool:
        """Read as much more as there is, at least a part; False at the end of the text."""
        wanted, read = max(len(self.rest), 1), [self.rest]
        while wanted > 0 and (part := next(self._parts, "")):
            read.append(part)
            wanted -= len(part)
        self.rest = "".join(read)
        return len(read) > 1

    def peek(self) -> str:
        """Return the first character that is no space, and drop those before it; "" at the end."""
        self.rest = self.rest.lstrip(_SPACE)
        while not self.rest and self.extend():
            self.rest = self.rest.lstrip(_SPACE)
        return self.rest[:1]

    def drop(self, count: int) -> str:
        """Return and drop the first characters."""
        dropped, self.rest = self.rest[:count], self.rest[count:]
        return dropped


def _split_records(text: _Text, file_name: str) -> Iterator[str]:
    """Yield the JSON of each record."""
    first = text.peek()
    is_list = first == "["
    if is_list:
        text.drop(1)
        if text.peek() not in ("{", "[", "]"):  # a triple, as the first of several
            text.rest, is_list = f"[{text.rest}", False
    number = 0
    while (first := text.peek()) and not (is_list and first == "]"):
        number += 1
        yield text.drop(_record_length(text, f"{file_name}: record {number}"))
        if is_list and text.peek() == ",":
            text.drop(1)
        elif is_list and text.peek() != "]":
            seen = f"is followed by {text.peek()!r}" if text.peek() else "is the last, and the list has no end"
            raise InputError(f"{file_name}: record {number} {seen}; wanted a whole JSON list: check the file")
    if is_list and not first:
        raise InputError(f"{file_name}: the list has no end; wanted a whole JSON list: check the file")


def _record_length(text: _Text, position: str) -> int:
    """Return the number of characters of the record at the beginning of a text, of which it reads as many."""
    while True:
        try:
            _, end = _DECODER.raw_decode(text.rest)
            # What ends with the text so far may be the beginning of a number.
            if end < len(text.rest) or not text.extend():
                return end
        except json.JSONDecodeError as error:
            if len(text.rest) > MAX_RECORD_CHARACTERS:
                raise InputError(
                    f"{position} is no JSON, or has more than {MAX_RECORD_CHARACTERS:,} characters ({error.msg}): "
                    "check the file, or give JSON lines"
                ) from error
            if not text.extend():
                raise InputError(f"{position}: invalid JSON ({error.msg}); wanted a list of records") from error
        except ValueError as error:
            raise InputError(f"{position}: {error}; wanted a list of records") from error
        except RecursionError as error:
            raise InputError(f"{position}: brackets are nested too deeply; wanted a list of records") from error
