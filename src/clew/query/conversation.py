"""Questions of a conversation made whole, by rules for English: what "he", "its" and "the same ship" refer to.

What can be referred to are the names in earlier questions and the earlier answers, the latest turn first; see
`clew.query.referents` for their kinds. A reference is resolved where one name of the latest turn that has any fits
best, by number, kind and noun. Where several fit as well, or the one that fits is an answer that is merely likely, the
question is not changed, and a line says which names it could mean; the name that is then written completes it.

Questions that leave something out are completed from the question before: "and Colin Archer?", "what about the Fram?",
"when?", "and in 1912?", "who was the captain?". Questions in other languages, and those that refer to nothing, stay as
they are.

Questions made of the question before: with another question word, another name, or another time.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import final

from clew.query.referents import (
    DATE,
    OPENING_WORDS,
    PERSON,
    PERSON_NOUNS,
    PLACE,
    POSSESSIVE,
    THING,
    Described,
    Referent,
    answer_referent,
    complete_answer,
    complete_name,
    find_reference_words,
    fits_it,
    fits_noun,
    fits_owner,
    fits_person,
    fits_she,
    fits_they,
    is_plain,
    must_refer,
    noun_kind,
    topic_referent,
    write_name,
)
from clew.text.mentions import find_mentions
from clew.text.normalization import name_key
from clew.types import read_headline

_MAX_SHARED_WORDS = 4  # of a new name and the words around the old one
_QUESTION_START = re.compile(
    r"\A(?:who|whom|when|where|why|how|what|in\s+(?:which|what)\s+\w+|(?:which|what)\s+\w+)\s+"
    r"(?=(?P<aux>is|was|are|were|did|does|do|has|had|can|will)\b)",
    re.I,
)
_WHO_DID = re.compile(
    r"\A(?:who|which\s+\w+)\s+(?P<verb>\w+ed|built|led|wrote|made|found|bought|sold)\s+(?P<rest>[^?]+?)\??\Z"
)
_PARTICIPLES = {"wrote": "written"}
_PARTICIPLE = re.compile(r"\b(?:\w+ed|born|built|led|made|kept|found|bought|sold|written|held|lost|sunk)\b", re.I)
_YEAR = re.compile(r"\b(?:in|after|before|since|until)\s+\d{3,4}\b", re.I)
_PHRASE = re.compile(
    r"(?P<preposition>in|on|at|after|before|during|since|until|by|for|from|to|with)\s+(?P<object>.+)", re.I
)


def ask_otherwise(question: str, word: str) -> str:
    """Return a question with `when` or `where`: `When was Fram designed?` for `Who designed Fram?`; "" for none."""
    if did := _WHO_DID.match(question[:1].lower() + question[1:]):
        return f"{word.capitalize()} was {did['rest']} {_PARTICIPLES.get(did['verb'], did['verb'])}?"
    start = _QUESTION_START.match(question)
    if start is None or question.lower().startswith(("who", word)):
        return ""
    rest = question[start.end() :]
    is_whole = start["aux"].lower() in ("did", "does", "do") or _PARTICIPLE.search(rest)
    return f"{word.capitalize()} {rest}" if is_whole else ""


def ask_of_phrase(question: str, phrase: str) -> str:
    """Return a question about another time or place: `in 1912` for `in 1911`, or at the end; "" for none."""
    match = _PHRASE.fullmatch(phrase)
    if match is None:
        return ""
    same = re.search(rf"\b{match['preposition']}\s+(?:\d{{3,4}}|[A-Z][\w’'-]*(?:\s+[A-Z][\w’'-]*)*)", question)
    if same is not None:
        return f"{question[: same.start()]}{phrase}{question[same.end() :]}"
    if not _YEAR.fullmatch(phrase):
        return ""
    return f"{_YEAR.sub('', question).rstrip(' ?')} {phrase}?"


def replace_name(question: str, name: str, other: str) -> str:
    """Return a question with another name, without words around it that would stand twice: the article, its noun."""
    found = re.search(re.escape(name), question, re.I)
    if found is None:
        return question
    before, after = question[: found.start()], question[found.end() :]
    words = [re.escape(word) for word in other.split()]
    is_noun_shared = False
    for count in range(min(len(words) - 1, _MAX_SHARED_WORDS), 0, -1):
        opening = r"\s+".join(words[:count])
        if shared := re.search(rf"(?<!\w){opening}\s+\Z", before, re.I):
            before = before[: shared.start()]
            break
    for count in range(min(len(words) - 1, _MAX_SHARED_WORDS), 0, -1):
        ending = r"\s+".join(words[-count:])
        if shared := re.match(rf"\s+{ending}(?!\w)", after, re.I):
            after, is_noun_shared = after[shared.end() :], True
            break
    next_word = re.match(r"\s+([a-z]+)", after)
    has_noun = is_noun_shared or (next_word is not None and noun_kind(next_word[1]) == THING)
    if not (has_noun or re.match(r"(?:the|an?)\s", other, re.I)):
        before = re.sub(r"\bthe\s+\Z", "", before, flags=re.I)  # not `the Roald Amundsen` for `the Fram`
    return f"{before}{other}{after}"


_MAX_TURNS = 20
_MAX_ANSWER = 120  # characters of an answer that is a name, and no text
_MAX_QUESTION = 2_000  # characters; a longer one stays as it is
_MAX_OPTIONS = 4  # names that a reference could mean, that are shown

_HE = frozenset(["he", "him", "his"])
_SHE = frozenset(["she", "her", "hers"])
_PERSONAL = _HE | _SHE
_IT = frozenset(["it", "its", "that"])
_ABOUT = re.compile(r"\A(?:(?:what|how)\s+about|and)\s+(?P<rest>[^?]+?)\s*\?*\s*\Z", re.I)
_BARE_WORD = re.compile(r"\A(?P<word>when|where|why|who|whom|how|what|which)\s*[?!.]*\s*\Z", re.I)
_EMPTY = re.compile(r"\A(?:(?:and|but|so|ok|okay|then|also|really|more|go\s+on)[\s,?!.]*)+\Z", re.I)
_SHIP_ROLES = "captain|skipper|crew|commander|cargo|hull|mast|sailor|officer|navigator"
_ATTRIBUTES = (
    f"{_SHIP_ROLES}|{PERSON_NOUNS}|length|weight|size|age|name|population|purpose|result|cause|height|width|speed|cost|"
    "price|goal|aim|route|outcome|mayor"
)
_OPEN_NOUN = re.compile(rf"\bthe\s+(?:[a-z]+\s+)?(?P<noun>{_ATTRIBUTES})\b(?!\s+(?:of|who|that|which|from|for|in)\b)")
_BARE_NOUN = re.compile(
    rf"\A(?P<own>the|an?|its|his|her|their)\s+(?P<words>(?:[a-z]+\s+)?(?P<noun>{_ATTRIBUTES}))\Z", re.I
)
_SHIP_ROLE = re.compile(rf"\s+(?:[a-z]+\s+)?(?:{_SHIP_ROLES})\b", re.I)
_VERB = re.compile(
    r"\b(?:is|was|are|were|did|does|do|has|had|have|can|could|will|would|\w+ed|built|led|wrote|made)\b", re.I
)
_IS_QUESTION = re.compile(r"(?:in\s+)?(?:who|when|where|why|how|what|which)\b", re.I)
_SENTENCE_END = re.compile(r"[a-z]{3}[.!?]\s")
_ASKS_WHO = re.compile(r"\A\W*(?:(?:and|but|so)\s+)?(?:who|whom|whose)\b", re.I)

NameFinder = Callable[[str], Sequence[str]]
"""Returns the names in a question, in order."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question as it was asked in full, what it was about, and its answers: one, or those that are likely."""

    question: str
    topics: tuple[Referent, ...]
    answers: tuple[Referent, ...] = ()

    @property
    def answer(self) -> Referent | None:
        """The answer, or the likeliest."""
        return self.answers[0] if self.answers else None


@final
@dataclass(frozen=True, slots=True)
class WholeQuestion:
    """A question that stands by itself, or a line that asks what it means."""

    text: str
    references: tuple[tuple[str, str], ...] = ()  # words as they were written, and what they were taken for
    unresolved: tuple[str, ...] = ()  # words that refer to nothing that is known
    query: str = ""  # what to ask the user before the question can be answered, "" where nothing is open

    def notes(self) -> tuple[str, ...]:
        """Return a note for each word that refers to nothing that is known."""
        return tuple(f"{word!r} refers to nothing that was asked before" for word in self.unresolved)


class _AmbiguousError(Exception):
    """A word may stand for several names, or for one that is merely likely."""

    def __init__(self, word: str, options: Sequence[Referent]) -> None:
        super().__init__(word)
        self.word = word
        self.options = tuple(options)


def find_names(question: str) -> list[str]:
    """Return the names in a question by its capitals, brackets and quotes, without dates and numbers."""
    bracketed = re.findall(r"\[([^\[\]]+)\]", question)
    mentions = find_mentions(question, 0, len(question))
    names = [m.name for m in mentions if m.kind in ("name", "acronym", "quoted", "identifier")]
    return bracketed or [complete_name(question, name) for name in names]


@final
class Conversation:
    """The turns of a conversation, at most the last twenty."""

    def __init__(self, names: NameFinder = find_names) -> None:
        self._names = names
        self._turns: deque[Turn] = deque(maxlen=_MAX_TURNS)
        self._open: tuple[str, tuple[str, ...]] | None = (
            None  # a question that was not clear, and the names it may mean
        )
        self._chosen: Referent | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns, in order."""
        return tuple(self._turns)

    def add(
        self, question: str, answer: str = "", passages: Iterable[Described] = (), likely: Sequence[str] = ()
    ) -> None:
        """Add a whole question and its answer; an answer that is a text, and no name, is not kept.

        Args:
            question: The question, as it was asked in full.
            answer: Its answer, "" where none is asserted.
            passages: Those found for it, which may say what the names are.
            likely: Where no answer is asserted, the names that are likely, the likeliest first.
        """
        self._open = None
        described = list(passages)
        titles = [passage.title for passage in described]
        found = dict.fromkeys(complete_name(question, name, titles) for name in self._names(question))
        topics = tuple(topic_referent(question, name, described) for name in found)
        plain = " ".join(answer.split()).rstrip(".")
        if unsure := read_headline(plain):
            plain, likely = "", unsure
        known = {name_key(topic.name) for topic in topics}
        names = [plain] if plain else [" ".join(name.split()) for name in likely]
        answers = tuple(
            answer_referent(question, complete_answer(name, titles), described, is_sure=bool(plain))
            for name in names
            if _is_name(name) and name_key(name) not in known
        )
        self._turns.append(Turn(question, topics, answers))

    def resolve(self, question: str) -> WholeQuestion:
        """Return a question with its references replaced by what they refer to, and completed where it is cut short."""
        text = " ".join(question.split())
        if not text or len(text) > _MAX_QUESTION:
            return WholeQuestion(question)
        if self._open is not None:
            unclear, options = self._open
            self._open = None
            chosen = text.rstrip(" ?.!")
            if name := next((name for name in options if name_key(name) == name_key(chosen)), ""):
                return self._resolve_as(unclear, name)
        try:
            return self._resolve(question, text)
        except _AmbiguousError as error:
            self._open = text, tuple(option.name for option in error.options)
            return WholeQuestion(question, query=_ask_which(error))

    def _resolve_as(self, unclear: str, name: str) -> WholeQuestion:
        """Return a question that was not clear, with the name that was chosen for what it refers to."""
        self._chosen = next(one for turn in reversed(self._turns) for one in _referents(turn) if one.name == name)
        try:
            return self._resolve(unclear, unclear)
        except _AmbiguousError as error:
            return WholeQuestion(unclear, query=_ask_which(error))
        finally:
            self._chosen = None

    def _resolve(self, question: str, text: str) -> WholeQuestion:
        if (completed := self._complete(text)) is not None:
            return completed
        opening = OPENING_WORDS.match(text)
        body = text[opening.end() :] if opening else text
        whole = self._replace(body)
        if not whole.references and not whole.unresolved:
            whole = self._add_topic(body)
        if not whole.references:
            return WholeQuestion(question, (), whole.unresolved)
        return WholeQuestion(whole.text[:1].upper() + whole.text[1:], whole.references, whole.unresolved)

    def _complete(self, text: str) -> WholeQuestion | None:
        """Return a question that repeats the last one about something else, or asks it with another word."""
        opening = OPENING_WORDS.match(text)
        bare = _BARE_WORD.match(text[opening.end() :] if opening else text)
        if bare is not None or _EMPTY.match(text):
            word = bare["word"].lower() if bare is not None else ""
            made = ask_otherwise(self._turns[-1].question, word) if self._turns and word in ("when", "where") else ""
            return WholeQuestion(made, ((text, made),)) if made else WholeQuestion(text, query=_cannot_complete(text))
        about = _ABOUT.match(text)
        if about is None or not self._turns or _IS_QUESTION.match(about["rest"]) or _VERB.search(about["rest"]):
            return None
        made = self._complete_with(about["rest"])
        return WholeQuestion(made, ((text, made),)) if made else WholeQuestion(text, query=_cannot_complete(text))

    def _complete_with(self, rest: str) -> str:
        """Return the last question about another name, time or part; "" where it leaves open what is meant."""
        last = self._turns[-1].question
        if made := ask_of_phrase(last, rest):
            return made
        if noun := _BARE_NOUN.match(rest):
            return self._ask_of_part(noun)
        if (referred := self._replace(rest)).references:
            rest = referred.text
        turn = self._turn_about(rest)
        topics = () if turn is None else turn.topics
        if len(topics) > 1:
            topics = tuple(topic for topic in topics if topic.name in rest) or topics
        if turn is None or len(topics) != 1:
            return ""
        made = replace_name(turn.question, topics[0].name, rest)
        return made if made != turn.question else ""

    def _ask_of_part(self, noun: re.Match[str]) -> str:
        """Return a question on who or what a part is: `Who was the captain of Fram?` for `its captain`; "" for none."""
        verb = "Who" if noun_kind(noun["noun"]) == PERSON else "What"
        own = noun["own"].lower()
        if own in POSSESSIVE - {"its"}:
            referred = self._replace(noun.group())
            return f"{verb} was {referred.text}?" if referred.references else ""
        owner = self._owner(noun["noun"])
        phrase = f"the {noun['words']}" if own == "its" else noun.group()
        return f"{verb} was {phrase} of {owner.name}?" if owner is not None else ""

    def _turn_about(self, rest: str) -> Turn | None:
        """Return the latest turn that can be asked about another name: of "the X" none about one person alone."""
        is_thing = re.match(r"the\s+[^\W\d_]", rest, re.I) is not None
        return next(
            (turn for turn in reversed(self._turns) if not is_thing or [one.kind for one in turn.topics] != [PERSON]),
            None,
        )

    def _replace(self, text: str) -> WholeQuestion:
        """Return a text with the names that its references stand for."""
        pieces, place = [], 0
        references, unresolved = [], []
        named = [text.find(name) for name in self._names(text)]
        for match in find_reference_words(text):
            if any(0 <= at < match.start() for at in named):
                continue
            found = self._find(match, text)
            if found is None:
                unresolved += [match.group()] if must_refer(match) else []
                continue
            pieces += [text[place : match.start()], write_name(found.name, match, text)]
            place = match.end()
            references.append((match.group(), found.name))
        whole = "".join([*pieces, text[place:]])
        return WholeQuestion(whole, tuple(references), tuple(unresolved))

    def _find(self, match: re.Match[str], text: str) -> Referent | None:
        word = (match["pronoun"] or "").lower()
        if noun := match["noun"]:
            least = 3 if is_plain(match) else 1  # `the continent` may be any, where nothing was called so
            return self._choose(match.group(), lambda one: fit if (fit := fits_noun(one, noun)) >= least else 0)
        if word in _HE:
            return self._choose(word, lambda one: fits_person(one, "he"))
        if word in _SHE:  # a ship is a she, and what passages do not tell may be
            return self._choose(word, fits_she, least=2)
        if word == "its" and _SHIP_ROLE.match(text, match.end()):
            return self._choose(word, lambda one: fits_owner(one, of_ship=True))
        if word in _IT:
            is_place = re.search(r"\b(?:found(?:ed)?|population|located|lie|inhabitants|country)\b", text, re.I)
            return self._choose(word, lambda one: fits_it(one, prefers_place=is_place is not None))
        if word == "there":
            return self._choose(word, lambda one: int(one.kind == PLACE))
        if word == "then":
            return self._choose(word, lambda one: int(one.kind == DATE))
        return self._choose(word, fits_they)

    def _choose(self, word: str, fits: Callable[[Referent], int], least: int = 1) -> Referent | None:
        """Return the one referent that fits best of the latest turn with any that fits (1 or more), None for none.

        Raises _AmbiguousError where several fit best, the best is merely likely, or it fits less than `least`; also
        where a later question asked who somebody is, and got no answer: that person may be meant.
        """
        is_overtaken = False
        for turn in reversed(self._turns):
            fitting = [(fits(one), one) for one in _referents(turn)]
            best = max((fit for fit, _ in fitting), default=0)
            if best == 0:
                is_overtaken |= word in _PERSONAL and not turn.answers and _ASKS_WHO.match(turn.question) is not None
                continue
            found = {name_key(one.name): one for fit, one in fitting if fit == best}
            if self._chosen is not None and name_key(self._chosen.name) in found:
                return self._chosen
            is_sure = all(one.is_sure for one in found.values())
            if len(found) > 1 or best < least or is_overtaken or not is_sure:
                raise _AmbiguousError(word, list(found.values()))
            return next(iter(found.values()))
        return None

    def _owner(self, noun: str) -> Referent | None:
        """Return what a part or a role belongs to: the ship of a captain."""
        of_ship = re.fullmatch(_SHIP_ROLES, noun, re.I) is not None
        return self._choose(f"the {noun}", lambda one: fits_owner(one, of_ship=of_ship))

    def _add_topic(self, text: str) -> WholeQuestion:
        """Return a question on `the captain` as one on the captain of what was asked about."""
        match = _OPEN_NOUN.search(text)
        if match is None or self._names(text) or re.search(r"\bof\b", text):
            return WholeQuestion(text)
        owner = self._owner(match["noun"])
        if owner is None:
            return WholeQuestion(text)
        whole = f"{text[: match.end()]} of {owner.name}{text[match.end() :]}"
        return WholeQuestion(f"{whole.rstrip(' ?')}?", (("", owner.name),))


def _referents(turn: Turn) -> tuple[Referent, ...]:
    return (*turn.answers, *turn.topics)


def _is_name(text: str) -> bool:
    if text.lower() in ("yes", "no"):
        return False
    return bool(text) and len(text) <= _MAX_ANSWER and not (_SENTENCE_END.search(text) or _VERB.search(text))


def _ask_which(error: _AmbiguousError) -> str:
    names = [option.name for option in error.options[:_MAX_OPTIONS]]
    shown = f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]
    unsure = " (the answer before is not sure)" if not all(option.is_sure for option in error.options) else ""
    return f"{error.word!r} could mean {shown}{unsure}: write the name, or ask in full"


def _cannot_complete(text: str) -> str:
    return f"{text!r} says too little to go on from the question before: ask in full"
