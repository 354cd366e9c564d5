"""A report of how files were read: how many of each kind, encodings that were guessed, columns that were taken."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from clew.text.display import format_count


@dataclass(slots=True)
class ReadingReport:
    """Counts of the files of a run, and notes on the reading of some."""

    files: Counter[str] = field(default_factory=Counter)  # by suffix, those that were read to their end
    documents: Counter[str] = field(default_factory=Counter)  # by suffix
    encodings: dict[str, str] = field(default_factory=dict)  # file -> encoding, where it is not UTF-8
    columns: dict[str, str] = field(default_factory=dict)  # file -> the columns that were taken, in words
    notes: list[str] = field(default_factory=list)  # on what was left out of a file
    outer_links: dict[str, str] = field(default_factory=dict)  # links out of a given folder -> where they lead
    empty_files: list[str] = field(default_factory=list)  # files of no bytes in given folders
    bytes_read: int = 0
    bytes_total: int = 0  # of all sources; 0 where it is not known: standard input

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "files": dict(sorted(self.files.items())),
            "documents": dict(sorted(self.documents.items())),
            "encodings": dict(self.encodings),
            "columns": dict(self.columns),
            "notes": [*self._skip_notes(), *self.notes],
        }

    def lines(self, limit: int | None = None) -> list[str]:
        """Return what a person should know, a line each: guesses and what was left out, at most `limit` of them."""
        lines = self._skip_notes()
        lines += [f"{item}: read as {encoding}, since it is not UTF-8" for item, encoding in self.encodings.items()]
        lines += [f"{item}: {words}" for item, words in self.columns.items()]
        lines += self.notes
        if limit is not None and len(lines) > limit:
            lines = [*lines[:limit], f"... and {len(lines) - limit} more on how files were read"]
        return lines

    def _skip_notes(self) -> list[str]:
        """Return a note on the links, and one on the empty files, that were not read."""
        notes = []
        if self.outer_links:
            link, target = next(iter(self.outer_links.items()))
            count = format_count(len(self.outer_links), "link leads", "links lead")
            first = "" if len(self.outer_links) == 1 else "the first, "
            notes.append(
                f"{count} out of the given folder and {'was' if not first else 'were'} not read ({first}{link} -> "
                f"{target}); to read it, give the place it leads to"
            )
        if self.empty_files:
            count = format_count(len(self.empty_files), "empty file was", "empty files were")
            first = "" if len(self.empty_files) == 1 else ", the first "
            notes.append(f"{count} skipped{first or ': '}{self.empty_files[0]}")
        return notes

    @property
    def summary(self) -> str:
        """The kinds of files and their numbers, such as `12 .md, 3 .pdf`."""
        return ", ".join(f"{count} {kind}" for kind, count in sorted(self.files.items()))
