"""Questions of a conversation made whole, by rules for English: what "he", "its" and "the same ship" refer to.

What can be referred to are the names in earlier questions and the earlier answers, the latest turn first. Each has a
kind, as far as the questions tell it: the answer to "who" is a person, to "where" a place, to "when" a date; one who is
born or dies is a person, a name after "the" is a thing. A pronoun takes the first referent of its kind, else the first
whose kind is not known; "it" looks at what a turn was about before its answer, "he" and "there" at the answer first.

Questions that leave something out are completed from the question before: "and Colin Archer?", "what about the Fram?",
"when?", "who was the captain?". Questions in other languages, and those that refer to nothing, stay as they are.

Source: none. Differs from the source: nothing.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

from clew.text.mentions import find_mentions
from clew.text.normalization import name_key

PERSON, PLACE, DATE, THING, UNKNOWN = "person", "place", "date", "thing", ""
_MAX_TURNS = 20
_MAX_ANSWER = 120  # characters of an answer that is a name, and no text
_MAX_SHARED_WORDS = 4  # of a new name and the words around the old one
_MAX_QUESTION = 2_000  # characters; a longer one stays as it is

_PEOPLE = (
    "man|woman|person|captain|leader|explorer|king|queen|author|engineer|architect|founder|owner|skipper|president|"
    "director|scientist|sailor|poet|artist|officer|commander|boy|girl|inventor|builder|designer|manager"
)
_PLACES = "place|town|city|country|island|village|region|province|port|harbour|county|state|street|river|continent"
_DATES = "year|day|date|month|time|century|decade"
_NOT_NOUNS = "is|was|are|were|did|does|do|has|had|can|will|of|in|on|at|by|from|to|for|with|and|or|the|a|an"
_REFERENCE = re.compile(
    r"(?P<the>\b(?:the\s+same|this|that|these|those)\s+(?P<noun>[a-z][\w-]*))"
    r"|\b(?P<pronoun>he|him|his|she|hers?|it|its|they|them|theirs?|there|then)\b(?!['’])",
    re.I,
)
_HE = frozenset(["he", "him", "his"])
_SHE = frozenset(["she", "her", "hers"])
_IT = frozenset(["it", "its"])
_POSSESSIVE = frozenset(["his", "her", "hers", "its", "their", "theirs"])
_DEMONSTRATIVE_BEFORE = re.compile(
    r"(?:\A|\b(?:of|in|on|at|by|from|to|for|with|did|was|is|were|are|does|do|has|had|and|about|on|under|near|after)\s+)\Z",
    re.I,
)
_EXPLETIVE = re.compile(r"\b(?:is|was|are|were)\s+(?:there|it)\s+(?:an?|any|true|in|that|the\s+case|possible)\b", re.I)
_EXISTS = re.compile(r"\bthere\s+(?:is|was|are|were|be|been|exists?)\b|\b(?:is|are|was|were)\s+there\b", re.I)
_TAKES = re.compile(r"\b(?:does|did|do)\s+it\s+(?:take|mean|matter|cost)\b", re.I)
_LIVED = re.compile(
    r"\b(?:born|die[ds]?|death|married|wife|husband|mother|father|son|daughter|birthday|buried)\b", re.I
)
_OPENING = re.compile(r"\A\s*(?:(?:and|but|so|ok|okay|then|also)[,\s]+)+", re.I)
_ABOUT = re.compile(r"\A(?:(?:what|how)\s+about|and)\s+(?P<rest>[^?]+?)\s*\?*\s*\Z", re.I)
_BARE_WORD = re.compile(r"\A(?P<word>when|where|why|who|whom|how)\s*\??\s*\Z", re.I)
_QUESTION_START = re.compile(
    r"\A(?P<word>who|whom|when|where|why|how|what|in\s+(?:which|what)\s+\w+|(?:which|what)\s+\w+)\s+"
    r"(?=(?:is|was|are|were|did|does|do|has|had|can|will)\b)",
    re.I,
)
_WHO_DID = re.compile(
    r"\A(?:who|which\s+\w+)\s+(?P<verb>\w+ed|built|led|wrote|made|found|bought|sold)\s+(?P<rest>[^?]+?)\??\Z"
)
_PARTICIPLES = {"wrote": "written"}
_OPEN_NOUN = re.compile(r"\bthe(?:\s+[a-z][\w-]*){1,3}\s*\??\s*\Z")
_VERB = re.compile(
    r"\b(?:is|was|are|were|did|does|do|has|had|have|can|could|will|would|\w+ed|built|led|wrote|made)\b", re.I
)
_UNSURE = re.compile(r"Not sure: likely (?P<first>.+?)(?: or .+)?")  # of `Answer.headline`
_SENTENCE_END = re.compile(r"[a-z]{3}[.!?]\s")
_NOT_POSSESSED = re.compile(r"\s*(?:\Z|[?.,;!]|(?:to|in|on|at|by|from|for|with|and|or|as|after|before)\b)", re.I)

NameFinder = Callable[[str], Sequence[str]]
"""Returns the names in a question, in order."""


@dataclass(frozen=True, slots=True)
class Referent:
    """A name that a later question may refer to."""

    name: str
    kind: str = UNKNOWN  # "person", "place", "date", "thing", or "" where it is not known


@dataclass(frozen=True, slots=True)
class Turn:
    """A question as it was asked in full, what it was about, and its answer."""

    question: str
    topics: tuple[Referent, ...]
    answer: Referent | None = None


@final
@dataclass(frozen=True, slots=True)
class WholeQuestion:
    """A question that stands by itself."""

    text: str
    references: tuple[tuple[str, str], ...] = ()  # words as they were written, and what they were taken for
    unresolved: tuple[str, ...] = ()  # words that refer to nothing that is known

    def notes(self) -> tuple[str, ...]:
        """Return a note for each word that refers to nothing that is known."""
        return tuple(f"{word!r} refers to nothing that was asked before" for word in self.unresolved)


def find_names(question: str) -> list[str]:
    """Return the names in a question by its capitals, brackets and quotes, without dates and numbers."""
    bracketed = re.findall(r"\[([^\[\]]+)\]", question)
    mentions = find_mentions(question, 0, len(question))
    return bracketed or [m.name for m in mentions if m.kind in ("name", "acronym", "quoted", "identifier")]


@final
class Conversation:
    """The turns of a conversation, at most the last twenty."""

    def __init__(self, names: NameFinder = find_names) -> None:
        self._names = names
        self._turns: deque[Turn] = deque(maxlen=_MAX_TURNS)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns, in order."""
        return tuple(self._turns)

    def add(self, question: str, answer: str = "") -> None:
        """Add a whole question and its answer, "" for none; an answer that is a text, and no name, is not kept."""
        topics = tuple(Referent(name, _topic_kind(question, name)) for name in self._names(question))
        plain = " ".join(answer.split()).rstrip(".")
        if unsure := _UNSURE.fullmatch(plain):
            plain = unsure["first"]
        is_name = plain and len(plain) <= _MAX_ANSWER and not (_SENTENCE_END.search(plain) or _VERB.search(plain))
        known = {name_key(topic.name) for topic in topics}
        said = Referent(plain, _answer_kind(question, plain)) if is_name and name_key(plain) not in known else None
        self._turns.append(Turn(question, topics, said))

    def resolve(self, question: str) -> WholeQuestion:
        """Return a question with its references replaced by what they refer to, and completed where it is cut short."""
        text = " ".join(question.split())
        if not self._turns or not text or len(text) > _MAX_QUESTION:
            return WholeQuestion(question)
        if (completed := self._complete(text)) is not None:
            return completed
        opening = _OPENING.match(text)
        body = text[opening.end() :] if opening else text
        whole = self._replace(body)
        if not whole.references and not whole.unresolved:
            whole = self._add_topic(body)
        if not whole.references:
            return WholeQuestion(question, (), whole.unresolved)
        return WholeQuestion(_capitalise(whole.text), whole.references, whole.unresolved)

    def _complete(self, text: str) -> WholeQuestion | None:
        """Return a question that repeats the last one about something else, or asks it with another word."""
        last = self._turns[-1]
        opening = _OPENING.match(text)
        bare = _BARE_WORD.match(text[opening.end() :] if opening else text)
        if bare is not None:
            made = _ask_otherwise(last.question, bare["word"].lower())
            return WholeQuestion(made, ((text, made),)) if made else None
        about = _ABOUT.match(text)
        if (
            about is None
            or _VERB.search(about["rest"])
            or re.match(r"(?:who|when|where|why|how)\b", about["rest"], re.I)
        ):
            return None
        rest = about["rest"]
        if (referred := self._replace(rest)).references:
            rest = referred.text
        if not last.topics:
            return None
        replaced = _replace_name(last.question, last.topics[0].name, rest)
        return WholeQuestion(replaced, ((text, replaced),)) if replaced != last.question else None

    def _replace(self, text: str) -> WholeQuestion:
        """Return a text with the names that its references stand for."""
        pieces, place = [], 0
        references, unresolved = [], []
        named = [text.find(name) for name in self._names(text)]
        for match in _REFERENCE.finditer(text):
            if any(0 <= at < match.start() for at in named) or _is_no_reference(text, match):
                continue
            found = self._find(match)
            if found is None:
                unresolved.append(match.group())
                continue
            pieces += [text[place : match.start()], _write(found, match, text)]
            place = match.end()
            references.append((match.group(), found.name))
        whole = "".join([*pieces, text[place:]])
        return WholeQuestion(whole, tuple(references), tuple(unresolved))

    def _find(self, match: re.Match[str]) -> Referent | None:
        word = (match["pronoun"] or "").lower()
        if noun := match["noun"]:
            kind = next((k for k, nouns in _NOUNS.items() if re.fullmatch(rf"(?:{nouns})s?", noun, re.I)), THING)
            return self._first(kind, answers_first=kind != THING)
        if word in _HE:
            return self._first(PERSON, answers_first=True)
        if word in _SHE:  # a ship is a she
            return self._first(PERSON, answers_first=True) or self._first(THING, answers_first=False)
        if word in _IT:
            return self._first(THING, PLACE, answers_first=False)
        if word == "there":
            return self._first(PLACE, answers_first=True)
        if word == "then":
            return self._first(DATE, answers_first=True, exact=True)
        return self._first(PERSON, answers_first=True) or self._first(THING, answers_first=False)

    def _first(self, *kinds: str, answers_first: bool, exact: bool = False) -> Referent | None:
        """Return the latest referent of some kinds, else the latest whose kind is not known."""
        ordered = list(self._referents(answers_first=answers_first))
        found = next((one for one in ordered if one.kind in kinds), None)
        unknown = next((one for one in ordered if one.kind == UNKNOWN), None)
        if exact or unknown is None:
            return found
        # A name of this turn whose kind is not known is likelier meant than one of that kind from turns before.
        return found if found is not None and self._age(found) <= self._age(unknown) else unknown

    def _referents(self, *, answers_first: bool) -> Iterator[Referent]:
        for turn in reversed(self._turns):
            answer = () if turn.answer is None else (turn.answer,)
            yield from (*answer, *turn.topics) if answers_first else (*turn.topics, *answer)

    def _age(self, referent: Referent) -> int:
        turns = reversed(self._turns)
        return next(age for age, turn in enumerate(turns) if referent in turn.topics or referent == turn.answer)

    def _add_topic(self, text: str) -> WholeQuestion:
        """Return a question on `the captain` as one on the captain of what the last turn was about."""
        if self._names(text) or not _OPEN_NOUN.search(text) or re.search(r"\bof\b", text):
            return WholeQuestion(text)
        topic = next(iter(self._turns[-1].topics), None)
        if topic is None:
            return WholeQuestion(text)
        whole = f"{text.rstrip(' ?')} of {topic.name}?"
        return WholeQuestion(whole, (("", topic.name),))


_NOUNS = {PERSON: _PEOPLE, PLACE: _PLACES, DATE: _DATES}


def _is_no_reference(text: str, match: re.Match[str]) -> bool:
    """Return whether a word that looks like a reference is none: `is there a`, `the ship that sank`, `does it take`."""
    around = text[max(0, match.start() - 12) : match.end() + 16]
    if match["noun"]:
        is_relative = match.group().lower().startswith("th") and not match.group().lower().startswith("the same")
        bare = re.fullmatch(_NOT_NOUNS, match["noun"], re.I) is not None
        return bare or (is_relative and _DEMONSTRATIVE_BEFORE.search(text[: match.start()]) is None)
    word = match["pronoun"].lower()
    if word == "it":
        return bool(_EXPLETIVE.search(around) or _TAKES.search(around))
    return word == "there" and bool(_EXISTS.search(around))


def _write(referent: Referent, match: re.Match[str], text: str) -> str:
    """Return a name in place of a reference: `Fram's` for `its`, `in Oslo` for `there`."""
    word = (match["pronoun"] or "").lower()
    name = referent.name
    if word in _POSSESSIVE and not (word == "her" and _NOT_POSSESSED.match(text, match.end())):
        return f"{name}’" if name.endswith("s") else f"{name}'s"
    if word == "there":
        return f"in {name}"
    return f"in {name}" if word == "then" else name


def _topic_kind(question: str, name: str) -> str:
    before = question[: max(0, question.find(name))].rstrip()
    if _LIVED.search(question) and not before.lower().endswith(("the", " in", " at")):
        return PERSON
    if re.search(r"\b(?:the|ship|boat|company|book|film|expedition)\Z", before, re.I) or "(" in name:
        return THING
    return PLACE if re.search(r"\b(?:in|to|at|near)\Z", before, re.I) else UNKNOWN


def _answer_kind(question: str, answer: str) -> str:
    start = _OPENING.sub("", question).strip().lower()
    if re.fullmatch(r"(?:[\w ,]*\b)?\d{3,4}", answer):
        return DATE
    if re.match(r"(?:by |to |with |from )?who(?:m|se)?\b", start) or re.search(rf"\bwhich (?:{_PEOPLE})\b", start):
        return PERSON
    if start.startswith(("where", "to where", "from where")) or re.search(rf"\b(?:which|what) (?:{_PLACES})\b", start):
        return PLACE
    if start.startswith("when") or re.search(rf"\b(?:which|what) (?:{_DATES})\b", start):
        return DATE
    return UNKNOWN if answer[:1].isupper() else THING


def _ask_otherwise(question: str, word: str) -> str:
    """Return a question with another question word: `When was Fram designed?` for `Who designed Fram?`; "" for none."""
    if start := _QUESTION_START.match(question):
        return f"{word.capitalize()} {question[start.end() :]}"
    if word in ("who", "whom") or not (did := _WHO_DID.match(question[:1].lower() + question[1:])):
        return ""
    return f"{word.capitalize()} was {did['rest']} {_PARTICIPLES.get(did['verb'], did['verb'])}?"


def _replace_name(question: str, name: str, other: str) -> str:
    """Return a question with another name, without words around it that would stand twice: the article, its noun."""
    found = re.search(re.escape(name), question, re.I)
    if found is None:
        return question
    before, after = question[: found.start()], question[found.end() :]
    words = [re.escape(word) for word in other.split()]
    for count in range(min(len(words) - 1, _MAX_SHARED_WORDS), 0, -1):
        opening = r"\s+".join(words[:count])
        if shared := re.search(rf"(?<!\w){opening}\s+\Z", before, re.I):
            before = before[: shared.start()]
            break
    for count in range(min(len(words) - 1, _MAX_SHARED_WORDS), 0, -1):
        ending = r"\s+".join(words[-count:])
        if shared := re.match(rf"\s+{ending}(?!\w)", after, re.I):
            after = after[shared.end() :]
            break
    return f"{before}{other}{after}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
