"""From a question to the entities it names, and to what is left of it when the names are taken out.

What is left is what the question asks *about* the names: `who directed` in `Who directed Fram?`. A passage at the far
end of a chain matches that part and none of the names, so the two are kept apart.

Source: none; measured in docs/decisions.md. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from clew.graph.snapshot.snapshot import Snapshot
from clew.query.masking import FUNCTION_WORDS
from clew.text.gazetteer import COMMON_WORDS, looks_like_name
from clew.text.mentions import find_mentions
from clew.text.normalization import Token, key_hash, tokens

MAX_NAME_TOKENS = 16
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_MIN_UNCASED_CHARACTERS = 4
# A question is read up to here; names further on are not looked for, which bounds the time of a hostile question.
MAX_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class LinkedName:
    """A name in a question and the entities it may stand for.

    Attributes:
        start: Where it begins in the question.
        end: Where it ends.
        entities: Positions in `snapshot.entities`, ascending; empty when the index does not know the name.
    """

    start: int
    end: int
    entities: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LinkedQuestion:
    """A question, the names in it, and the rest.

    Attributes:
        names: In order, none overlapping.
        remainder: The question with every name cut out.
    """

    text: str
    names: tuple[LinkedName, ...]
    remainder: str

    @property
    def linked_names(self) -> tuple[LinkedName, ...]:
        """The names that the index knows."""
        return tuple(name for name in self.names if name.entities)

    @property
    def unlinked_names(self) -> tuple[str, ...]:
        """The names, as written, that the index does not know."""
        return tuple(self.text[name.start : name.end] for name in self.names if not name.entities)


def link_question(snapshot: Snapshot, question: str) -> LinkedQuestion:
    """Find the names of a question among the entities of an index: exact folded names, longest first.

    Args:
        snapshot: The index.
        question: Any string; capitals are asked of short names only where the question uses capitals at all.
    """
    question = question[:MAX_CHARACTERS]
    known = _find_known_names(snapshot, question)
    others = [
        LinkedName(m.start, m.end, ())
        for m in find_mentions(question, 0, len(question))
        if m.kind in ("name", "quoted", "acronym", "identifier")
        and not any(name.start < m.end and m.start < name.end for name in known)
    ]
    names = tuple(sorted([*known, *others], key=lambda name: name.start))
    return LinkedQuestion(question, names, _remove_names(question, names))


def _find_known_names(snapshot: Snapshot, question: str) -> list[LinkedName]:
    words = tokens(question)
    cased = any(letter.isupper() for letter in question[1:])
    found: list[LinkedName] = []
    position = 0
    while position < len(words):
        length, entities = _longest_known_name(
            snapshot, question, words[position : position + MAX_NAME_TOKENS], cased=cased
        )
        if length:
            found.append(LinkedName(words[position].start, words[position + length - 1].end, entities))
        position += length or 1
    return found


def _longest_known_name(
    snapshot: Snapshot, question: str, words: Sequence[Token], *, cased: bool
) -> tuple[int, tuple[int, ...]]:
    """Return how many of the words make the longest known name, and its entities; 0 for none."""
    for length in range(len(words), 0, -1):
        key = " ".join(word.key for word in words[:length])
        surface = question[words[0].start : words[length - 1].end]
        if key in COMMON_WORDS or (cased and length <= 2 and not looks_like_name(surface)):
            continue
        if not cased and length == 1 and surface.isascii() and len(surface) < _MIN_UNCASED_CHARACTERS:
            continue
        entities = snapshot.entities_with_key(key_hash(key))
        if not cased and length == 1 and surface.isalpha():
            # Without capitals to go by, an ordinary word is taken for a name only where a document is called so.
            entities = entities[snapshot.title_mask(entities)]
        if len(entities):
            return length, tuple(int(entity) for entity in entities)
    return 0, ()


def _remove_names(question: str, names: Sequence[LinkedName]) -> str:
    pieces: list[str] = []
    place = 0
    for name in names:
        pieces.append(question[place : name.start])
        place = max(place, name.end)
    return " ".join([*pieces, question[place:]])


@dataclass(frozen=True, slots=True)
class TopicEntities:
    """The entities that a question on a graph is about.

    Attributes:
        text: The question, without brackets.
        entities: Positions in `snapshot.entities`, each once.
        spans: Where their names begin and end in the text.
        unknown_names: Given names that no entity has.
    """

    text: str
    entities: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    unknown_names: tuple[str, ...] = ()


def find_topic_entities(snapshot: Snapshot, question: str, names: Sequence[str] = ()) -> TopicEntities:
    """Return what a question on a graph is about.

    Args:
        snapshot: The index.
        question: Any string; names in square brackets are taken as given.
        names: Of the entities; without any, and without brackets, the names in the question are linked.
    """
    bracketed = [found.group(1).strip() for found in _BRACKETS.finditer(question)]
    text = _BRACKETS.sub(r"\1", question)[:MAX_CHARACTERS]
    given = [name for name in (*names, *bracketed) if name.strip()]
    if not given:
        return _link_topics(snapshot, text)
    entities: list[int] = []
    places: list[tuple[int, int]] = []
    unknown: list[str] = []
    for name in dict.fromkeys(given):
        found = snapshot.entities_with_name(name)
        entities += found.tolist()
        if not len(found):
            unknown.append(name)
        start = text.casefold().find(name.strip().casefold()) if len(text) == len(text.casefold()) else text.find(name)
        if start >= 0:
            places.append((start, start + len(name.strip())))
    return TopicEntities(text, tuple(dict.fromkeys(entities)), tuple(sorted(places)), tuple(unknown))


def _link_topics(snapshot: Snapshot, text: str) -> TopicEntities:
    """Link the longest names of a question; single words in small letters count only where nothing longer is named."""
    found = _find_graph_names(snapshot, text)
    strong = [place for place in found if _is_strong(text[place[0] : place[1]])]
    kept = strong or found
    entities = [int(entity) for start, end in kept for entity in snapshot.entities_with_name(text[start:end])]
    return TopicEntities(text, tuple(dict.fromkeys(entities)), tuple(kept))


def _find_graph_names(snapshot: Snapshot, text: str) -> list[tuple[int, int]]:
    words = tokens(text)
    found: list[tuple[int, int]] = []
    position = 0
    while position < len(words):
        for length in range(min(MAX_NAME_TOKENS, len(words) - position), 0, -1):
            key = " ".join(word.key for word in words[position : position + length])
            known = key not in COMMON_WORDS and key not in FUNCTION_WORDS
            if known and len(snapshot.entities_with_key(key_hash(key))):
                found.append((words[position].start, words[position + length - 1].end))
                position += length
                break
        else:
            position += 1
    return found


def _is_strong(surface: str) -> bool:
    """Whether a name cannot be an ordinary word: it has several words, a capital, or a figure."""
    return " " in surface.strip() or any(letter.isupper() or letter.isdigit() for letter in surface)
