"""The contents of one file as a reader finds them, and what puts them together block by block."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from clew.text.display import format_count
from clew.text.places import HEADING_SEPARATOR, describe_places
from clew.types import Place, PlaceStart


@dataclass(frozen=True, slots=True)
class FileContents:
    """The text of a file, or of one message of a mailbox, and what is known of it."""

    text: str
    titles: tuple[str, ...] = ()  # the likeliest first; those not taken are other names
    places: tuple[PlaceStart, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # on what was left out, one sentence each

    def to_json(self) -> dict[str, Any]:
        """Return the contents as a JSON object."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "places": describe_places(self.places)
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "FileContents":
        """Return the contents of `to_json`."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
        values["places"] = tuple(PlaceStart(offset, Place(**place)) for offset, place in record["places"])
        return cls(**values)


class HeadingPath:
    """The headings above the current place."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, text: str) -> str:
        """Return the path with a new heading, which closes those of its level and below."""
        self._open = [(own, heading) for own, heading in self._open if own < level]
        self._open.append((level, text))
        return self.path

    @property
    def path(self) -> str:
        """The headings from the highest to the lowest."""
        return HEADING_SEPARATOR.join(heading for _, heading in self._open)


class TextBuilder:
    """Puts a text together from blocks, with the place of each."""

    def __init__(self) -> None:
        self.links: dict[str, None] = {}
        self.notes: list[str] = []
        self.left_out: Counter[str] = Counter()  # by name, as "hidden row": how many were not read
        self._parts: list[str] = []
        self._length = 0
        self._places: list[PlaceStart] = []

    def add(self, block: str, place: Place | None = None, separator: str = "\n\n") -> None:
        """Add a block of text at a place, None for that of the block before it; an empty one adds nothing."""
        block = block.strip("\n")
        if not block.strip():
            return
        if self._parts:
            self._parts.append(separator)
            self._length += len(separator)
        if place is not None and (not self._places or self._places[-1].place != place):
            self._places.append(PlaceStart(self._length, place))
        self._parts.append(block)
        self._length += len(block)

    def add_contents(self, contents: FileContents, heading: str) -> None:
        """Add the contents of a file within the file, under a heading."""
        start = self._length + (2 if self._parts else 0)
        self.add(contents.text.strip("\n"), Place(heading=heading))
        self._places += [
            PlaceStart(
                start + own.offset,
                replace(own.place, heading=HEADING_SEPARATOR.join(filter(None, [heading, own.place.heading]))),
            )
            for own in contents.places
        ]
        self.links.update(dict.fromkeys(contents.links))
        self.notes += [f"{heading}: {note}" if heading else note for note in contents.notes]

    def contents(self, titles: Sequence[str] = (), metadata: Mapping[str, Any] | None = None) -> FileContents:
        """Return the contents so far."""
        names = tuple(dict.fromkeys(name for title in titles if (name := " ".join(title.split()))))
        places, links = tuple(self._places), tuple(self.links)
        notes = (*self.notes, *_describe_left_out(self.left_out))
        return FileContents("".join(self._parts), names, places, metadata or {}, links, notes)


def _describe_left_out(counts: Mapping[str, int]) -> list[str]:
    """Return a note on what was not read, such as `left out: 1 hidden sheet, 40 characters of deleted text`."""
    parts = []
    for name, count in counts.items():
        noun, separator, rest = name.partition(" of ")
        if count:
            parts.append(f"{format_count(count, noun)}{separator}{rest}")
    return [f"left out: {', '.join(parts)}"] if parts else []
