"""The contents of an index at a glance: counts, languages, fields for filters, and its most frequent entities.

Fields and languages are read from at most 20,000 passages, spread evenly over the index.

Source of the languages: none; the words that each language uses most, and the scripts of others. Differs from the
source: nothing.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np

from clew.graph.snapshot.snapshot import Snapshot
from clew.models.encoders.int4_e5 import PACKAGE
from clew.models.encoders.registry import ENGLISH_ENCODERS
from clew.query.conditions import OWN_FIELDS
from clew.query.contents import GraphContents, IndexedDocuments, IndexedEntity
from clew.query.scope import Scope
from clew.text.places import read_filter_fields

_MAX_READ = 20_000  # passages whose metadata are read
_MAX_TEXTS = 500  # passages whose language is guessed
_MAX_EXAMPLES = 3
_MAX_VALUES = 1_000  # distinct values of a field that are counted
_LARGEST = 10
_LANGUAGE_SHARE = 0.02  # of the passages that are read, from which a language is named
_COMMON_WORDS = {
    "Danish": "og det er en af til på som med ikke der den",
    "Dutch": "de het een van en niet dat met voor zijn op te",
    "English": "the of and to in is was that for it with by",
    "French": "le la les des et est une du dans que pour qui",
    "German": "der die und das ist nicht von den mit ein im wurde",
    "Italian": "il di che è la per una non sono del della con",
    "Portuguese": "o de que e do da em um para não uma os",
    "Spanish": "el de que y en los del se las por con una",
    "Swedish": "och att det som en på är av för med den till",
}
_SCRIPTS = {
    "ARMENIAN": "Armenian", "CJK": "Chinese", "GEORGIAN": "Georgian", "GREEK": "Greek", "HANGUL": "Korean",
    "HEBREW": "Hebrew", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "KHMER": "Khmer", "LAO": "Lao",
    "TAMIL": "Tamil", "THAI": "Thai",
}  # fmt: skip
"""Scripts of one language; all others by their own name."""
_FOREIGN_SHARE = 0.5  # of the passages whose language is known, from which an English encoder is told of


@dataclass(frozen=True, slots=True)
class FieldOverview:
    """A field of the passages' metadata, for filters."""

    name: str
    kinds: tuple[str, ...]  # "text", "number", "boolean", "list"
    passages: int  # of those that were read, that have it
    values: int  # distinct ones, at most 1,000 are counted
    examples: tuple[str, ...]  # its most frequent values, as a filter writes them


@dataclass(frozen=True, slots=True)
class IndexOverview:
    """The contents of an index: counts, and the most frequent of what it has."""

    version: int
    documents: int
    passages: int
    entities: int
    facts: int
    languages: tuple[str, ...]  # guessed, the most frequent first
    fields: tuple[FieldOverview, ...]
    largest: tuple[IndexedEntity, ...]  # the entities that most passages mention
    encoder: str
    extractor: str
    graphs: tuple[str, ...] = ()  # names of imported graphs

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object with the attributes as keys; tuples are lists."""
        made: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return made


def describe_contents(scope: Scope, version: int, settings: Mapping[str, Any], graphs: Sequence[str]) -> IndexOverview:
    """Return the contents of a version that was made with some settings, with its imported graphs by name."""
    contents, s = GraphContents(scope), scope.snapshot
    return IndexOverview(
        version=version,
        documents=len(IndexedDocuments(scope)),
        passages=len(s.passage_ids),
        entities=contents.count_entities(),
        facts=contents.count_triples(),
        languages=guess_languages(s),
        fields=list_fields(s),
        largest=tuple(islice(contents.entities(), _LARGEST)),
        encoder=str(settings.get("encoder", "")),
        extractor=str(settings.get("extractor", "")),
        graphs=tuple(graphs),
    )


def list_fields(snapshot: Snapshot) -> tuple[FieldOverview, ...]:
    """Return the fields of the metadata, those that most passages have first, ties by name."""
    rows: Counter[str] = Counter()
    kinds: dict[str, set[str]] = {}
    values: dict[str, Counter[str]] = {}
    for position in _even_positions(len(snapshot.passage_ids), _MAX_READ):
        for name, value in _flatten(read_filter_fields(snapshot.metadata[position])):
            rows[name] += 1
            counts = values.setdefault(name, Counter())
            for each in value if isinstance(value, list) else [value]:
                kinds.setdefault(name, set()).add(_kind(each))
                if (written := write_value(each)) in counts or len(counts) < _MAX_VALUES:
                    counts[written] += 1
            if isinstance(value, list):
                kinds[name].add("list")
    names = sorted(rows, key=lambda name: (-rows[name], name))
    return tuple(
        FieldOverview(name, tuple(sorted(kinds[name])), rows[name], len(values[name]), _examples(values[name]))
        for name in names
        if name not in OWN_FIELDS
    )


def write_value(value: object) -> str:
    """Return a value as a filter writes it."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def guess_languages(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the languages of the passages, the most frequent first; scripts of several languages by their name."""
    found = _count_languages(snapshot)
    least = max(1, _LANGUAGE_SHARE * found.total())
    return tuple(name for name, count in found.most_common() if name and count >= least)


def describe_foreign_text(snapshot: Snapshot, encoder: str, location: str) -> str:
    """Return what to do where most text of an index is not English and its encoder knows no other language, else ""."""
    if encoder not in ENGLISH_ENCODERS:
        return ""
    found = _count_languages(snapshot)
    known = found.total() - found[""]
    share = (known - found["English"]) / max(known, 1)
    if share < _FOREIGN_SHARE:
        return ""
    names = [name for name, _ in found.most_common(4) if name not in ("", "English")]
    install = "" if find_spec(PACKAGE) else "pip install 'clew[multilingual]', then "
    return (
        f"{100 * share:.0f}% of the text is not English ({', '.join(names)}), and the encoder {encoder} knows English "
        f"alone: {install}clew reencode --index {location} --encoder multilingual"
    )


def _count_languages(snapshot: Snapshot) -> Counter[str]:
    """Return how many of the passages that are read are in each language, "" for an unknown one."""
    return Counter(guess_language(snapshot.texts[row]) for row in _even_positions(len(snapshot.texts), _MAX_TEXTS))


def guess_language(text: str) -> str:
    """Return the language of a text by its script and most common words, "" where they tell none."""
    scripts = Counter(_script(letter) for letter in text[:2_000] if letter.isalpha())
    if not scripts:
        return ""
    main = "Japanese" if scripts["Japanese"] > 0.1 * scripts.total() else max(sorted(scripts), key=scripts.__getitem__)
    if main:
        return main
    words = Counter(text[:2_000].casefold().split())
    counts = {name: sum(words[word] for word in common.split()) for name, common in _COMMON_WORDS.items()}
    best = max(counts, key=counts.__getitem__)
    is_told = any(words[word] for word in _COMMON_WORDS[best].split() if len(word) > 1)  # not by "Team E" of a table
    return best if is_told else ""


def _script(letter: str) -> str:
    """Return the language or script of a letter, "" for Latin."""
    script = "LATIN" if letter < "Ͱ" else re.split("[ -]", unicodedata.name(letter, "LATIN"))[0]
    if script in ("LATIN", "FULLWIDTH", "MATHEMATICAL", "MODIFIER"):
        return ""
    return _SCRIPTS.get(script, f"{script.title()} script")


def _even_positions(count: int, most: int) -> list[int]:
    """Return at most `most` positions (0 to count - 1), spread evenly, ascending."""
    positions: list[int] = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64)).tolist()
    return positions


def _flatten(metadata: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the fields of metadata that are not missing, by the dotted names of filters."""
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


def _kind(value: object) -> str:
    return "text" if isinstance(value, str) else "boolean" if isinstance(value, bool) else "number"


def _examples(counts: Counter[str]) -> tuple[str, ...]:
    ordered = sorted(counts, key=lambda value: (-counts[value], value))
    return tuple(ordered[:_MAX_EXAMPLES])
