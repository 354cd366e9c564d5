"""The record of a part, a JSON file in a staging folder: its data files, which no version has yet, and its counts."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt, ValidationError

from clew.errors import InputError
from clew.indexing.report import IndexingReport
from clew.indexing.selection import Part
from clew.types import Failure

PART_FORMAT = 3
_COUNTS = ("added", "updated", "unchanged", "passages", "sentences", "remaining")


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """The data files of a part, and its report."""

    part: Part
    settings: str  # hash of the settings of the index
    version: int  # of the table that its documents were compared with
    files_hash: str  # of that version
    sources: str  # hash of the files that its documents were read from; "" where all parts come from one run
    documents: str  # hash of the file of its documents (`part_documents`); "" where all parts come from one run
    fragments: list[str]  # metadata as JSON
    segments: list[str]  # names of the files of their segments
    report: IndexingReport

    def to_json(self) -> str:
        """Return the part as text."""
        record = {
            "format": PART_FORMAT,
            "part": [self.part.number, self.part.count],
            "settings": self.settings,
            "version": self.version,
            "files": self.files_hash,
            "sources": self.sources,
            "documents": self.documents,
            "fragments": [json.loads(fragment) for fragment in self.fragments],
            "segments": self.segments,
            "counts": {name: getattr(self.report, name) for name in _COUNTS},
            "failures": [[failure.item, failure.reason] for failure in self.report.failures],
        }
        return json.dumps(record, ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str) -> "WrittenPart":
        """Return the part of a text; InputError: it is not one, or that of another version of Clew."""
        content = read_object(text, name, "a part", "write the part again")
        if content.get("format", PART_FORMAT) != PART_FORMAT:
            raise InputError(
                f"{name} has format {content['format']!r:.40}, this version of Clew reads {PART_FORMAT}: write it again"
            )
        try:
            record = _Record.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise InputError(
                f"{name} cannot be read as a part ({place}: {first['msg']}): write the part again"
            ) from error
        return cls(
            Part(*record.part),
            record.settings,
            record.version,
            record.files,
            record.sources,
            record.documents,
            [json.dumps(fragment) for fragment in content["fragments"]],
            [Path(segment).name for segment in record.segments],
            IndexingReport(
                **record.counts.model_dump(), failures=[Failure(item, reason) for item, reason in record.failures]
            ),
        )

    def data_files(self) -> set[str]:
        """Return the names of its data files."""
        return {file["path"] for fragment in self.fragments for file in json.loads(fragment)["files"]}

    def describe(self) -> str:
        """Return how messages call the part."""
        return f"part {self.part.number} of {self.part.count}"

    def describe_repetition(self, staging: str) -> str:
        """Return how the part is written again."""
        where = f" --staging {staging}" if staging else ""
        return f"run clew index --shard {self.part.number}/{self.part.count}{where} again"


def read_object(text: str, name: str, wanted: str, advice: str) -> dict[str, Any]:
    """Return the object of a JSON text; InputError: it is no JSON, or another value, with what is to be done."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} cannot be read as {wanted} ({error}): {advice}") from error
    if not isinstance(content, dict):
        raise InputError(f"{name} holds {text.strip()!r:.40}, which is not {wanted}: {advice}")
    return content


class _DataFile(BaseModel):
    model_config = ConfigDict(strict=True)
    path: str


class _Fragment(BaseModel):
    model_config = ConfigDict(strict=True)
    files: list[_DataFile]


class _Counts(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    added: NonNegativeInt
    updated: NonNegativeInt
    unchanged: NonNegativeInt
    passages: NonNegativeInt
    sentences: NonNegativeInt
    remaining: NonNegativeInt


class _Record(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    format: int
    part: tuple[PositiveInt, PositiveInt]
    settings: str
    version: PositiveInt
    files: str
    sources: str
    documents: str
    fragments: list[_Fragment]
    segments: list[str]
    counts: _Counts
    failures: list[tuple[str, str]]
