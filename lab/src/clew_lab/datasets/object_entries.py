"""Entries of one large JSON object, read one after another, so that the file is never in memory as a whole."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, final

from clew.datasets.questions import Record, open_text, preview
from clew.errors import InputError

_BLOCK_CHARACTERS = 1 << 20
_BLANK = " \t\r\n"


def read_entries(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield the keys of a file of one JSON object with their values, which must be objects, in order.

    Raises InputError if the file cannot be read, is not UTF-8 or is not such an object, after what stands before.
    """
    with open_text(path, "JSON file") as file:
        text = _Text(path, file)
        text.expect("{")
        more = text.peek() != "}"
        while more:
            key = text.take_value()
            text.expect(":")
            value = text.take_value()
            if not isinstance(key, str) or not isinstance(value, dict):
                raise InputError(f"{path}: the value of {preview(key)} is {preview(value)}; wanted objects by name")
            yield key, Record(f"{path}: {key}", value)
            more = text.peek() == ","
            if more:
                text.expect(",")
        text.expect("}")
        text.expect_end()


@final
class _Text:
    """A file's text, of which the part from the current place on is held as far as it was needed."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path, self._file = path, file
        self._held, self._place = "", 0
        self._decode = json.JSONDecoder().raw_decode

    def peek(self) -> str:
        """Return the next character that is not blank, "" at the end."""
        while True:
            while self._place < len(self._held) and self._held[self._place] in _BLANK:
                self._place += 1
            if self._place < len(self._held) or not self._read_more():
                return self._held[self._place : self._place + 1]

    def expect(self, character: str) -> None:
        """Pass a character; raises InputError for another."""
        if (seen := self.peek()) != character:
            raise self._error(
                f"{seen!r} stands where {character!r} was wanted" if seen else f"no {character!r} follows"
            )
        self._place += 1

    def expect_end(self) -> None:
        """Raise InputError where anything follows."""
        if self.peek():
            raise self._error("more follows the object")

    def take_value(self) -> Any:
        """Return the next JSON value, which is read further until it is whole."""
        self.peek()
        while True:
            try:
                value, self._place = self._decode(self._held, self._place)
                return value
            except json.JSONDecodeError as error:
                if not self._read_more():
                    raise self._error(error.msg) from error
            except RecursionError as error:
                raise self._error("nested too deeply") from error
            except ValueError as error:  # a number of thousands of digits
                raise self._error(str(error).partition(";")[0]) from error

    def _read_more(self) -> bool:
        """Read a block, as long as what is held at least, and drop what was passed; return whether there was any."""
        left = self._held[self._place :]
        block = self._file.read(max(_BLOCK_CHARACTERS, len(left)))
        self._held, self._place = left + block, 0
        return bool(block)

    def _error(self, seen: str) -> InputError:
        near = preview(self._held[self._place : self._place + 40])
        return InputError(f"{self._path}: invalid JSON near {near} ({seen}); wanted one JSON object of objects by name")
