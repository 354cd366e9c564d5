"""Entity linking: the entities that a question names, and the remainder of the question without the names.

The remainder is what the question asks *about* the names: `who directed` in `Who directed Fram?`. A passage at the far
end of a chain matches the remainder and none of the names, so the two are separated.

Source: none; measured in docs/decisions. Differs from the source: nothing.

Masked questions: a question without the names of its entities, and its words that may name relations.

The name of an entity says nothing on the relations that are asked for, and may hold any words, so names are removed
before a question is compared with relations or its hops are predicted.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from clew.query.visible_names import NameTable
from clew.text.casing import COMMON_WORDS, looks_like_name
from clew.text.identifiers import find_undivided
from clew.text.mentions import find_mentions
from clew.text.normalization import Token, key_hash, name_key, token_keys, tokens, word_runs
from clew.text.token_arrays import key_hashes

PLACEHOLDER = "it"
# Words that name no relation; matching skips them.
_FUNCTION_WORDS = (
    "what which who whom whose when where why how is are was were be been the a an of s in on for to by with that did "
    "do does has have had it and name or as at from there this these those their his her its me tell also"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_MAX_WORDS = 400  # longer texts are not one question


@dataclass(frozen=True, slots=True)
class MaskedQuestion:
    """The folded words of a question around the names of its entities."""

    before: tuple[str, ...]  # words before the first name
    after: tuple[str, ...]  # words after the first name, with `PLACEHOLDER` for each further name

    @property
    def text(self) -> str:
        """The question with a placeholder in place of each name."""
        return " ".join([*self.before, PLACEHOLDER, *self.after])

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return (*self.before, *self.after)


def mask_names(question: str, names: Iterable[tuple[int, int]]) -> MaskedQuestion:
    """Mask names of a question, given as start and end.

    A name that overlaps an earlier one is ignored, and of two with the same start the shorter.
    """
    pieces: list[str] = []
    end_of_last = 0
    for start, end in sorted(names, key=lambda name: (name[0], -name[1])):
        if start >= end_of_last:
            pieces.append(question[end_of_last:start])
            end_of_last = end
    pieces.append(question[end_of_last:])
    words = [token_keys(piece) for piece in pieces]
    if len(words) == 1:
        return MaskedQuestion(tuple(words[0][:_MAX_WORDS]), ())
    after = list(words[1])
    for piece in words[2:]:
        after += [PLACEHOLDER, *piece]
    return MaskedQuestion(tuple(words[0][:_MAX_WORDS]), tuple(after[:_MAX_WORDS]))


@dataclass(frozen=True, slots=True)
class RelationWords:
    """The words of a question that may name a relation, those nearest to the entity first."""

    phrases: tuple[tuple[str, ...], ...]  # for each word the phrases that contain it, the word itself first
    reverse_order: tuple[int, ...]  # positions of the words in the other order of reading


def find_relation_words(question: MaskedQuestion) -> RelationWords:
    """Return the words of a question that may name a relation, with the phrases of up to three words around each.

    English has two orders: `the birthplace of X 's father` is read from the name to the right, then from the name to
    the left; `the films that share actors with X were released when` to the left first.
    """
    before, after = _phrases_by_word(question.before), _phrases_by_word(question.after)
    phrases = after + before[::-1]
    reverse_order = [*range(len(after), len(phrases)), *range(len(after))]
    return RelationWords(tuple(phrases), tuple(reverse_order))


def _phrases_by_word(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    phrases_by_word: list[tuple[str, ...]] = []
    for position, word in enumerate(words):
        if word in FUNCTION_WORDS or word == PLACEHOLDER:
            continue
        phrases = [word]
        for start in range(max(0, position - 2), position + 1):
            phrases += [
                " ".join(words[start : start + length])
                for length in (2, 3)
                if position < start + length <= len(words) and _is_phrase(words[start : start + length])
            ]
        phrases_by_word.append(tuple(dict.fromkeys(phrases)))
    return phrases_by_word


def _is_phrase(words: tuple[str, ...]) -> bool:
    """Return whether words form a phrase: two content words, alone or joined by `of`."""
    has_content_ends = words[0] not in FUNCTION_WORDS and words[-1] not in FUNCTION_WORDS
    return has_content_ends and PLACEHOLDER not in words and (len(words) == 2 or words[1] == "of")


MAX_NAME_TOKENS = 16
NOTE_NAMES = 5
"""Entities that a search starts from and a note names, at most."""
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_MIN_UNCASED_CHARACTERS = 4
# Names further on are not looked for, which bounds the time of a hostile question.
MAX_CHARACTERS = 20_000

NO_NAME_NOTE = "no name in the question is in the index"
_SEPARATED_NOTE = "searched by its words alone: "  # and a name that hidden documents alone tie to another


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A name, `question[start:end]`, and the entities it may stand for."""

    start: int
    end: int
    # positions in the snapshot's entities, ascending; empty when the index does not know the name
    entities: tuple[int, ...]
    # how the question writes a name that the index does not know, and what differs; "" for a name that it knows
    written: str = ""
    difference: str = ""
    nearest: str = ""  # the name of its entity, where the text keeps another name that is taken for it
    is_known: bool = False  # whether the index has the name that is taken for its nearest, or that is linked to none
    listed: str = ""  # a name that a language model words unlike the question; start and end are the question's end


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A question, its names, and the remainder."""

    text: str  # with a known name in place of each unknown one that is taken for it
    names: tuple[LinkedName, ...]  # in order, without overlaps
    remainder: str  # the question with every name cut out

    def text_of(self, name: LinkedName) -> str:
        """Return a name as the text has it, or as it was listed where the text does not have it."""
        return name.listed or self.text[name.start : name.end]

    @property
    def linked_names(self) -> tuple[LinkedName, ...]:
        """The names that the index knows."""
        return tuple(name for name in self.names if name.entities)

    @property
    def unlinked_names(self) -> tuple[str, ...]:
        """The names, as written, that the index does not know."""
        return tuple(self.text_of(n) for n in self.names if not n.entities and not n.is_known)

    @property
    def separated_names(self) -> tuple[str, ...]:
        """The names, as written, that passages have, and that are linked to no entity under a filter."""
        return tuple(self.text_of(n) for n in self.names if not n.entities and n.is_known)

    def corrected_text(self, question: str) -> str:
        """Return the whole question, of any length, or its text where that has other names than the question."""
        return self.text if any(name.written for name in self.names) else question

    def describe_similar_names(self) -> tuple[str, ...]:
        """Return notes on the names that the index does not know, and that are taken for others."""
        return tuple(
            describe_similar_name(
                name.written or self.text_of(name),
                name.nearest or self.text_of(name),
                name.difference,
                is_known=name.is_known,
            )
            for name in self.names
            if name.written or name.nearest
        )


def link_question(table: NameTable, question: str) -> LinkedQuestion:
    """Find the names of a question among the entities of an index: exact folded names, longest first.

    Short names need capitals only where the question uses capitals at all.
    """
    question = question[:MAX_CHARACTERS]
    return link_spans(table, question, name_spans(question))


def link_spans(table: NameTable, question: str, spans: Sequence[tuple[int, int]]) -> LinkedQuestion:
    """Link a question as `link_question`, given what `name_spans` returns for it."""
    linked = join_names(question, _find_known_names(table, question), spans)
    return replace(linked, names=tuple(_mark_separated(table, question, name) for name in linked.names))


def _mark_separated(table: NameTable, question: str, name: LinkedName) -> LinkedName:
    key = name_key(question[name.start : name.end])
    is_separated = not name.entities and table.is_separated(key_hash(key, table.salt))
    return replace(name, is_known=True) if is_separated else name


def name_spans(text: str) -> list[tuple[int, int]]:
    """Return the starts and ends of what is written as a name in a text, in order."""
    mentions = find_mentions(text, 0, len(text))
    return [(m.start, m.end) for m in mentions if m.kind in ("name", "quoted", "acronym", "identifier")]


def join_names(text: str, known_names: Sequence[LinkedName], spans: Iterable[tuple[int, int]]) -> LinkedQuestion:
    """Return a question with its known names, and those among the spans that overlap none of them."""
    unknown_names = [
        LinkedName(start, end, ())
        for start, end in spans
        if not any(name.start < end and start < name.end for name in known_names)
    ]
    names = tuple(sorted([*known_names, *unknown_names], key=lambda name: name.start))
    return LinkedQuestion(text, names, remove_names(text, names))


def describe_similar_name(written: str, text: str, difference: str, *, is_known: bool = False) -> str:
    """Return a note on a name that is taken for another; `is_known` tells whether the index has it nevertheless."""
    reason = f"the name {written!r} is" if is_known else f"no name {written!r} in the index;"
    return f"{reason} taken for {text!r} ({difference})"


def describe_links(linked: LinkedQuestion, label: Callable[[int], str]) -> tuple[str, ...]:
    """Return notes on the linked names, and on those that the index does not know.

    `label` returns the name of an entity, "" for one that has none under a filter.
    """
    pairs = [(entity, linked.text_of(name)) for name in linked.linked_names for entity in name.entities]
    named = dict.fromkeys(filter(None, (describe_start(label(entity), written) for entity, written in pairs)))
    notes = [f"starts from {', '.join(named)}"] if named else []
    notes += [describe_separated(linked.separated_names)] if linked.separated_names else []
    notes = notes or [NO_NAME_NOTE]
    notes += linked.describe_similar_names()
    if linked.unlinked_names:
        notes.append(f"not in the index: {', '.join(linked.unlinked_names)}")
    return tuple(notes)


def describe_separated(names: Sequence[str]) -> str:
    """Return a note on names that passages have, and that are linked to no entity under a filter."""
    return f"{_SEPARATED_NOTE}{', '.join(names)}"


def describe_start(label: str, written: str) -> str:
    """Return the name of an entity, after what the question calls it where the two have no word in common.

    A document may give its subject any name as an alias or a heading, so that both are returned.
    """
    if not label or not written or not set(token_keys(label)).isdisjoint(token_keys(written)):
        return label
    return f"{written} [{label}]"


def _find_known_names(table: NameTable, question: str) -> list[LinkedName]:
    words = tokens(question)
    cased = any(letter.isupper() for letter in question[1:])
    runs = _known_runs(table, words)
    inside = {number for first, last in find_undivided(question, words) for number in range(first + 1, last)}
    names: list[LinkedName] = []
    position = 0
    while position < len(words):
        nearby = words[position : position + MAX_NAME_TOKENS]
        known = runs.get(position, ()) if position not in inside else ()
        lengths = [length for length in known if position + length not in inside]
        length, entities = _longest_known_name(table, question, nearby, lengths, cased=cased)
        if length:
            names.append(LinkedName(words[position].start, words[position + length - 1].end, entities))
        position += length or 1
    return names


def _known_runs(table: NameTable, words: Sequence[Token]) -> dict[int, list[int]]:
    """Return for the words at which a known name begins the numbers of its words; all runs are looked up at once."""
    places, keys = word_runs(words, MAX_NAME_TOKENS)
    runs: dict[int, list[int]] = {}
    for at in np.flatnonzero(table.has_keys(key_hashes(keys, table.salt))).tolist():
        first, last = places[at]
        runs.setdefault(first, []).append(last - first)
    return runs


def _longest_known_name(
    table: NameTable, question: str, words: Sequence[Token], lengths: Sequence[int], *, cased: bool
) -> tuple[int, tuple[int, ...]]:
    """Return the number of words of the longest known name that the words begin with, and its entities; 0 for none.

    `lengths`, ascending, are the numbers of words that names have there.
    """
    for length in reversed(lengths):
        key = " ".join(word.key for word in words[:length])
        surface = question[words[0].start : words[length - 1].end]
        if key in COMMON_WORDS or (cased and length <= 2 and not looks_like_name(surface)):
            continue
        if not cased and length == 1 and surface.isascii() and len(surface) < _MIN_UNCASED_CHARACTERS:
            continue
        entities = table.entities_with_key(key_hash(key, table.salt))
        if not cased and length == 1 and surface.isalpha():
            # Without capitals an ordinary word is taken for a name only where a document has it as its title.
            entities = entities[table.title_mask(entities)]
        if len(entities):
            return length, tuple(int(entity) for entity in entities)
    return 0, ()


def remove_names(question: str, names: Sequence[LinkedName]) -> str:
    """Return a question with each of some names, in order, cut out."""
    pieces: list[str] = []
    end_of_last = 0
    for name in names:
        pieces.append(question[end_of_last : name.start])
        end_of_last = max(end_of_last, name.end)
    return " ".join([*pieces, question[end_of_last:]])


@dataclass(frozen=True, slots=True)
class TopicEntities:
    """The entities that a question on a graph is about."""

    text: str  # the question, without brackets
    entities: tuple[int, ...]  # distinct positions in the snapshot's entities
    spans: tuple[tuple[int, int], ...]  # start and end of their names in the text
    unknown_names: tuple[str, ...] = ()  # given names that no entity has, and that are taken for none
    notes: tuple[str, ...] = ()  # on names that are taken for others, and on those that are linked to none

    def describe_starts(self, names: NameTable) -> str:
        """Return a note on the first `NOTE_NAMES` entities, with their names in a table."""
        written = {
            int(entity): self.text[start:end]
            for start, end in reversed(self.spans)
            for entity in names.entities_with_name(self.text[start:end])
        }
        starts = [describe_start(names.entities[e], written.get(e, "")) for e in self.entities[:NOTE_NAMES]]
        return f"starts from {', '.join(starts)}"


def find_topic_entities(table: NameTable, question: str, names: Sequence[str] = ()) -> TopicEntities:
    """Find the entities that a question on a graph is about.

    Names in square brackets count as given names; without given names, the names in the question are linked.
    """
    bracketed = [matches.group(1).strip() for matches in _BRACKETS.finditer(question)]
    text = _BRACKETS.sub(r"\1", question)[:MAX_CHARACTERS]
    given = [name for name in (*names, *bracketed) if name.strip()]
    if not given:
        return _link_topics(table, text)
    entities: list[int] = []
    spans: list[tuple[int, int]] = []
    unknown_names: list[str] = []
    separated: list[str] = []
    for name in dict.fromkeys(given):
        matches = table.entities_with_name(name)
        entities += matches.tolist()
        if not len(matches):
            is_separated = table.is_separated(key_hash(name_key(name), table.salt))
            (separated if is_separated else unknown_names).append(name)
        start = text.casefold().find(name.strip().casefold()) if len(text) == len(text.casefold()) else text.find(name)
        if start >= 0:
            spans.append((start, start + len(name.strip())))
    notes = (describe_separated(separated),) if separated else ()
    return TopicEntities(text, tuple(dict.fromkeys(entities)), tuple(sorted(spans)), tuple(unknown_names), notes)


def _link_topics(table: NameTable, text: str) -> TopicEntities:
    """Link the longest names of a question; single lower-case words count only where it names nothing else."""
    spans = _find_graph_names(table, text)
    strong_spans = [span for span in spans if _is_strong(text[span[0] : span[1]])]
    chosen = strong_spans or spans
    entities = [int(entity) for start, end in chosen for entity in table.entities_with_name(text[start:end])]
    return TopicEntities(text, tuple(dict.fromkeys(entities)), tuple(chosen))


def _find_graph_names(table: NameTable, text: str) -> list[tuple[int, int]]:
    words = tokens(text)
    spans: list[tuple[int, int]] = []
    position = 0
    while position < len(words):
        for length in range(min(MAX_NAME_TOKENS, len(words) - position), 0, -1):
            key = " ".join(word.key for word in words[position : position + length])
            is_candidate = key not in COMMON_WORDS and key not in FUNCTION_WORDS
            if is_candidate and len(table.entities_with_key(key_hash(key, table.salt))):
                spans.append((words[position].start, words[position + length - 1].end))
                position += length
                break
        else:
            position += 1
    return spans


def _is_strong(surface: str) -> bool:
    """Return whether a name cannot be an ordinary word: it has several words, a capital, or a digit."""
    return " " in surface.strip() or any(letter.isupper() or letter.isdigit() for letter in surface)
