"""Mentions and triples from published results of open information extraction, so that any model's triples can be used.

    layout       an entry                                                     is found by
    JSON lines   {id, entities: [name], triples: [[head, relation, tail]]}    the passage's id
    gfmrag       a line {title, passage, extracted_entities, extracted_...}   as HippoRAG's; the passage begins with its
                                                                              title, with which it need not be found
    HippoRAG     {docs: [{passage, extracted_entities, extracted_triples}]}   the text of title and passage, else of the
                                                                              passage, ignoring white space and case

JSON lines are read at their offsets, so that the file may be larger than memory; a HippoRAG file is read whole.

Source: the result files of HippoRAG (Gutiérrez et al., 2024) and HippoRAG 2 (2025).
Differs from the source: nothing is evaluated, so a list written as a string is not a list; a number counts as the text
it was written as; a part that is neither a name nor a triple is left out and counted.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, final

from clew.errors import InputError
from clew.indexing.extraction.mention_spans import locate_mentions
from clew.store.atomic import file_hash
from clew.text.display import has_surrogate
from clew.text.normalization import fold
from clew.types import Extraction, Failure, Passage

_LAYOUTS = (
    'lines of {"id": ..., "entities": [...], "triples": [...]}, or one object '
    '{"docs": [{"passage": ..., "extracted_entities": [...], "extracted_triples": [...]}]}'
)

T = TypeVar("T")


@final
class PublishedExtractor:
    """Looks passages up in a file of results, of which the fingerprint is a hash; one not in it is a failure."""

    def __init__(self, path: str | Path) -> None:
        """Find the offsets of the file's entries; an InputError names the line or entry that has no layout above."""
        self._path = Path(path)
        try:
            self.fingerprint = f"published:{file_hash(self._path)}"
            self._entries: _TextEntries | _LineEntries
            if _is_single_object(self._path):
                self._entries = _TextEntries(self._path, _read_document_list(self._path))
            elif _has_passages(self._path):
                records = _read_records(self._path)
                self._entries = _TextEntries(self._path, [(f"line {n}", record) for n, _, record in records])
            else:
                self._entries = _LineEntries(self._path)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error}); give a file of {_LAYOUTS}") from error

    def extract(self, passages: Sequence[Passage]) -> list[Extraction | Failure]:
        """Return passages' entries: mentions by position, then others; triples in order; InputError: file changed."""
        try:
            entries = self._entries.find(passages)
        except OSError as error:
            raise InputError(f"{self._path}: cannot be read any more ({error}); restore it") from error
        return [self._make_result(passage, entry) for passage, entry in zip(passages, entries, strict=True)]

    def _make_result(self, passage: Passage, entry: "_Entry | None") -> Extraction | Failure:
        if entry is None:
            return Failure(passage.id, f"not in {self._path.name}: no entry has {self._entries.describe_key(passage)}")
        names, triples = _read_parts(entry.entities, _read_name), _read_parts(entry.triples, _read_triple)
        dropped = names.count(None) + triples.count(None)
        if dropped == len(names) + len(triples):
            reason = f"none of its {dropped} parts is a name or a triple" if dropped else "it is empty"
            return Failure(passage.id, f"its entry in {self._path.name} cannot be used: {reason}")
        mentions = locate_mentions(passage.text, [name for name in names if name is not None])
        return Extraction(mentions, tuple(dict.fromkeys(triple for triple in triples if triple is not None)))


class _Entry(NamedTuple):
    entities: Any
    triples: Any


class _LineEntries:
    """Entries on lines, by id; only ids and offsets are held in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened_state = self._file_state()
        self._offsets: dict[str, int] = {}
        for number, offset, record in _read_records(path):
            identifier = record.get("id")
            if not isinstance(identifier, str) or not ({"entities", "triples"} & record.keys()):
                raise InputError(f"{path} line {number}: has {_describe_keys(record)}; wanted {_LAYOUTS}")
            if identifier in self._offsets:
                raise InputError(f"{path} line {number}: id {identifier!r} occurs twice; keep one line for each id")
            self._offsets[identifier] = offset
        if not self._offsets:
            raise InputError(f"{path}: is empty; wanted {_LAYOUTS}")

    def find(self, passages: Sequence[Passage]) -> list[_Entry | None]:
        if self._file_state() != self._opened_state:
            raise InputError(f"{self._path}: has changed since it was opened; run the command again")
        with self._path.open("rb") as stream:
            return [self._read_entry(stream, self._offsets.get(passage.id)) for passage in passages]

    def describe_key(self, passage: Passage) -> str:
        return f"the id {passage.id!r}"

    def _read_entry(self, stream: Any, offset: int | None) -> _Entry | None:
        if offset is None:
            return None
        stream.seek(offset)
        record = _parse_json(stream.readline(), self._path, 1)
        return _Entry(record.get("entities", []), record.get("triples", []))

    def _file_state(self) -> tuple[int, int]:
        status = self._path.stat()
        return status.st_size, status.st_mtime_ns


class _TextEntries:
    def __init__(self, path: Path, documents: Sequence[tuple[str, Any]]) -> None:
        self._entries: dict[bytes, _Entry] = {}
        for place, document in documents:
            if not isinstance(document, dict) or not isinstance(document.get("passage"), str):
                raise InputError(
                    f"{path} {place}: has {_describe_keys(document)}, without a passage; wanted {_LAYOUTS}"
                )
            entry = _Entry(document.get("extracted_entities", []), document.get("extracted_triples", []))
            self._entries.setdefault(_text_key(document["passage"]), entry)
            title, text = document.get("title"), document["passage"]
            if isinstance(title, str) and title and text.startswith(f"{title}\n"):
                self._entries.setdefault(_text_key(text.removeprefix(f"{title}\n")), entry)

    def find(self, passages: Sequence[Passage]) -> list[_Entry | None]:
        entries = []
        for passage in passages:
            entry = self._entries.get(_text_key(f"{passage.title} {passage.text}"))
            entries.append(entry or self._entries.get(_text_key(passage.text)))
        return entries

    def describe_key(self, passage: Passage) -> str:
        return f"the text of passage {passage.id!r}, with its title or without"


def _read_document_list(path: Path) -> list[tuple[str, Any]]:
    content = _parse_json(path.read_bytes(), path, 1)
    documents = content.get("docs") if isinstance(content, dict) else None
    if not isinstance(documents, list):
        raise InputError(f"{path}: has {_describe_keys(content)}, without a list of docs; wanted {_LAYOUTS}")
    return [(f"docs[{number}]", document) for number, document in enumerate(documents)]


def _has_passages(path: Path) -> bool:
    """Return whether the first line is an entry found by its text, and not by an id."""
    first = next((record for _, _, record in _read_records(path)), {})
    return "id" not in first and "passage" in first


def _read_parts(values: Any, parse: Callable[[Any], T | None]) -> list[T | None]:
    """Return each part as parsed, None for one that cannot be used; a value that is not a list is one such part."""
    return [parse(value) for value in values] if isinstance(values, list) else [None]


def _read_name(value: Any) -> str | None:
    if not isinstance(value, str) or has_surrogate(value):  # half a character cannot be written to a table
        return None
    return " ".join(value.split()) or None


def _read_triple(value: Any) -> tuple[str, str, str] | None:
    if not isinstance(value, list) or len(value) != 3:
        return None
    head, relation, tail = (_read_name(part) for part in value)
    return (head, relation, tail) if head and relation and tail else None


def _text_key(text: str) -> bytes:
    return blake2b("".join(fold(text).split()).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _is_single_object(path: Path) -> bool:
    """Return whether a file holds one object over all its lines, judging by its first line that is not blank."""
    with path.open("rb") as stream:
        first = next((line for line in stream if line.strip()), b"").removeprefix(b"\xef\xbb\xbf").strip()
    if first == b"{" or re.match(rb'\{\s*"docs"\s*:', first):
        return True
    return b'"docs"' in first and "docs" in _parse_json(first, path, 1)


def _read_records(path: Path) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    offset = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if content := line.rstrip():  # an error at the line's end would be reported in the next line otherwise
                record = _parse_json(content, path, number)
                if not isinstance(record, dict):
                    raise InputError(f"{path} line {number}: is {_describe_keys(record)}; wanted {_LAYOUTS}")
                yield number, offset, record
            offset += len(line)


def _parse_json(data: bytes, path: Path, line: int) -> Any:
    """Parse JSON, keeping numbers as their text; `line` is the line where `data` starts, for messages."""
    try:
        return json.loads(data.decode("utf-8-sig"), parse_int=str, parse_float=str, parse_constant=lambda _: None)
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise InputError(f"{path} line {line}: is not UTF-8; save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        reason = f"is not JSON ({error.msg}, character {error.colno})"
        raise InputError(f"{path} line {line + error.lineno - 1}: {reason}; wanted {_LAYOUTS}") from error
    except RecursionError as error:
        raise InputError(f"{path} line {line}: brackets are nested too deeply; wanted {_LAYOUTS}") from error


def _describe_keys(value: Any) -> str:
    if isinstance(value, dict):
        return f"the keys {', '.join(value)[:100]}" if value else "no key"
    return f"a value {json.dumps(value)[:100]}"
