"""Places in a text, and the times of a passage: stored with the metadata of each passage, under keys of their own."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, fields, replace
from typing import Any

from clew.text.normalization import name_key
from clew.types import Passage, Place, PlaceStart, StatedTime, Time

PLACES_KEY = "\u2316"
"""The key of the stored metadata that is no field, but the places of a passage (`⌖`)."""

TIMES_KEY = "\u231a"
"""The key of the stored metadata that is no field, but the times of a passage and of its text (`⌚`)."""

HEADING_SEPARATOR = " > "
"""Separator of the headings of a place, which stand from the highest to the lowest."""
_STORED_HEADING = '"heading":'
_MAX_HEADING_CHARACTERS = 500
_FIELDS = tuple((field.name, field.default) for field in fields(Place))
_FILTERED_FIELDS = ("page", "slide", "sheet", "heading")


def cut_places(
    places: Sequence[PlaceStart], text: str, spans: Iterable[tuple[int, int]]
) -> Iterator[tuple[PlaceStart, ...]]:
    """Yield the places in each of some spans of a text, with offsets in the span; starts of spans ascend."""
    current: PlaceStart | None = None
    following = 0
    for start, end in spans:
        while following < len(places) and places[following].offset <= start:
            current, following = places[following], following + 1
        own: list[PlaceStart] = []
        if current is not None:
            current = _move(current, text, start)
            own.append(PlaceStart(0, current.place))
        for later in places[following:]:
            if later.offset >= end:
                break
            own.append(PlaceStart(later.offset - start, later.place))
        yield tuple(own)


def _move(current: PlaceStart, text: str, offset: int) -> PlaceStart:
    """Return the place at a later offset, before the next one begins."""
    line = current.place.line
    breaks = 0 if line is None else text.count("\n", current.offset, offset)
    place = replace(current.place, line=line + breaks) if line is not None and breaks else current.place
    return PlaceStart(offset, place)


def title_with_headings(title: str, text: str, places: Sequence[PlaceStart]) -> str:
    """Return the title of a passage, and the headings that it stands under, as they are read before its text.

    Those that the title has, and those that the passage begins with, are not repeated.
    """
    path = places[0].place.heading if places and not places[0].offset else ""
    if not path:
        return title
    first, known = name_key(text[:_MAX_HEADING_CHARACTERS].partition("\n")[0]), title
    for heading in path.split(HEADING_SEPARATOR):
        key = f" {name_key(heading)} "
        if key not in f" {name_key(known)} " and key not in f" {first} ":
            known = f"{known}, {heading}" if known else heading
    return known


def stored_titles(titles: Sequence[str], texts: Sequence[str], metadata: Sequence[str]) -> list[str]:
    """Return `title_with_headings` of passages, given their titles, texts and metadata in stored form."""
    return [
        title_with_headings(title, text, unpack_metadata(stored)["places"]) if _STORED_HEADING in stored else title
        for title, text, stored in zip(titles, texts, metadata, strict=True)
    ]


def describe_places(places: Iterable[PlaceStart]) -> list[list[Any]]:
    """Return places in stored form: the offset of each, and its fields that are no defaults."""
    return [
        [start.offset, {name: value for name, default in _FIELDS if (value := getattr(start.place, name)) != default}]
        for start in places
    ]


def pack_metadata(passage: Passage) -> dict[str, Any]:
    """Return the metadata of a passage as they are stored, with its places and times."""
    stored = dict(passage.metadata)
    if passage.places:
        stored[PLACES_KEY] = describe_places(passage.places)
    if passage.time or passage.times:
        stored[TIMES_KEY] = [astuple(passage.time) if passage.time else None, *map(list, passage.times)]
    return stored


def unpack_metadata(stored: str) -> dict[str, Any]:
    """Return the fields `metadata`, `places`, `time` and `times` of a passage from the stored JSON."""
    metadata: dict[str, Any] = json.loads(stored)
    places, times = metadata.pop(PLACES_KEY, ()), metadata.pop(TIMES_KEY, (None,))
    return {
        "metadata": metadata,
        "places": tuple(PlaceStart(offset, Place(**values)) for offset, values in places),
        "time": Time(*times[0]) if times[0] else None,
        "times": tuple(StatedTime(*each) for each in times[1:]),
    }


def read_time(stored: str) -> Time | None:
    """Return the time of a passage from the stored JSON of its metadata."""
    time = json.loads(stored)[TIMES_KEY][0] if TIMES_KEY in stored else None
    return Time(*time) if time else None


def read_filter_fields(stored: str) -> dict[str, Any]:
    """Return the fields that a filter knows: metadata, and where they name none such, page, slide, sheet and heading.

    Where a passage has several, a field is the list of them.
    """
    metadata: dict[str, Any] = json.loads(stored)
    places = metadata.pop(PLACES_KEY, ())
    metadata.pop(TIMES_KEY, None)
    for name in _FILTERED_FIELDS if places else ():
        values = list(dict.fromkeys(place[name] for _, place in places if name in place))
        if values and name not in metadata:
            metadata[name] = values if len(values) > 1 else values[0]
    return metadata
