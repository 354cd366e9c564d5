"""Expected answer type of a question: date, number, person, place, name, yes or no, or one of two options.

English questions are read by rules; of other languages the question words alone (`languages`).

Source: own rules. Differs from the source: nothing.

Times of day in a text: 9:30, 18:00, 7 am, 2.15 p.m., noon; they answer "when" and "at what time".

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clew.answering.languages import ENGLISH, QuestionLanguage
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import fold, tokens
from clew.types import Mention

_HALF = r"[ap]\.?\s?m\b\.?"
_CLOCK_TIME = re.compile(
    rf"(?<![\w:.,])(?:(?:[01]?\d|2[0-3]):[0-5]\d(?:\s?{_HALF})?|(?:1[0-2]|[1-9])(?:\.[0-5]\d)?\s?(?:{_HALF}|o['’]clock\b)"
    r"|noon\b|midnight\b)(?![:\w])",
    re.I,
)


def find_clock_times(text: str, start: int, end: int) -> list[Mention]:
    """Return the times of day in `text[start:end]`, as dates; a full stop that ends the sentence is no part of one."""
    found = []
    for match in _CLOCK_TIME.finditer(text, start, end):
        name = match.group() if "." in match.group()[:-1] else match.group().rstrip(".")
        found.append(Mention(name, "date", match.start(), match.start() + len(name)))
    return found


def is_clock_time(text: str) -> bool:
    """Return whether a text begins and ends with a time of day: it is one, or a range of two."""
    times = find_clock_times(text, 0, len(text))
    return bool(times) and times[0].start == 0 and times[-1].end == len(text)


_QUESTION_WORD = re.compile(
    r"\b(?:who(?:se|m)?|when|where|which|what|how(?: (?:many|much|old|long|far|tall|high|large))?)\b", re.I
)
_OPENING_PREPOSITION = re.compile(r"\W*(?:(?:in|at|on|by|for|to|of|from|during|with)\s+)?", re.I)
# The noun of "which company developed", "what was the name of the river that".
_NOUN_PHRASE = re.compile(
    r"(?:\s+(?:is|was|are|were|other))?(?:\s+the)?(?:\s+names?\s+of)?(?:\s+the)?((?:\s+[^\W_][\w'’-]*){1,5})", re.I
)
MAX_CLOSING_WORDS = 2
"""Words after a question word near the end: "in what year", "in which US state"."""
_CLOSING_NOUN = re.compile(r"(?:which|whose|who)(?:\s\w+){0,2}", re.IGNORECASE)
_COPULA = re.compile(r"\s+(?:is|was|are|were)\b", re.I)
_YES_OR_NO = re.compile(r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b", re.I)
# Bounded lengths: unbounded ones would take minutes on a long question full of "in" and "or".
_OPTION_PATTERNS = tuple(
    re.compile(
        rf"{start}\s(?:the\s)?(?P<first>[^\s{stop}][^{stop}]{{0,80}}?),?\sor\s(?:the\s)?(?P<second>[^{stop}]{{1,80}})\Z"
    )
    for start, stop in ((":", ":?"), (r"(?:[,;]|\b(?:is|was|between|than|in|first)\b)", ",:;?"))
)
EARLIER = re.compile(r"\b(?:first|earlier|earliest|older|oldest|before)\b", re.I)
DENIAL = re.compile(r"\b(?:not|never|no|nor|neither|cannot|different|differ|unlike)\b|n['’]t\b", re.I)
"""A word after which the sentences that speak for a statement speak against it."""
_YEAR = re.compile(r"(?<![\d,.$£€])(?:1\d{3}|20\d{2})(?![\d%]|,\d)")
_UNITS = "one|two|three|four|five|six|seven|eight|nine"
_NUMBER = re.compile(
    r"(?<![\w.,])\d[\d,.]*(?:\s(?:million|billion|thousand))?(?!\w)|\b(?:(?:twenty|thirty|forty|fifty|sixty|seventy|"
    rf"eighty|ninety)(?:-(?:{_UNITS}))?|{_UNITS}|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|hundred)\b",
    re.I,
)
_NATIONALITY = re.compile(
    r"\b(?:is|was|are|were)\s+(?:an?|the)\s+"
    r"(?:(?!(?:in|of|at|on|from|near|by|for)\b)[a-z]+\s+){0,2}(?P<name>[A-Z][a-z]+(?:-[A-Z][a-z]+)?)\b"
)


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DATES = _word_set("year years date day month decade century")
_NUMBERS = _word_set("number population percentage amount height length age distance area size")
_PLACES = _word_set("city town country state county village island continent province region district place")
_PERSONS = _word_set(
    "person actor actress singer author writer director president king queen player man woman musician founder father "
    "mother brother sister son daughter wife husband spouse sibling child composer producer poet leader artist"
)
_ORGANIZATIONS = _word_set(
    "university college school company club band award awards church party league association corporation records show "
    "series war army institute group council festival cup tv bbc film films"
)
_NOT_PERSONS = _ORGANIZATIONS | _word_set(
    "county city river street house museum center centre expedition island islands sea ocean bay mount ship war battle "
    "treaty award prize medal order"
)
_MONTHS = _word_set("january february march april may june july august september october november december")
_NO_PLACES = _word_set("navy army expedition war")
NAME_NOUNS = _NOT_PERSONS | _PLACES
"""Common nouns that names end with: river, county, university."""
_LINKING_WORDS = _word_set("of the for and in at on")
_AFTER_NOUN = (COMMON_WORDS - _DATES - _PERSONS - _PLACES) | _word_set("won named called known located born played")


LIFE_EVENTS = {
    "born": re.compile(r"\b(?:was|were|is)\b[^,;]*\bborn\b(?!\W+first)|\bbirth(?:days?|places?|dates?)?\b", re.I),
    "die": re.compile(r"\b(?:die|died|dies)\b(?=\W*\Z)|\bdid\b.*\bdie\b|\b(?:place|date|cause|year) of death\b", re.I),
}
"""Words of a question for a birth or a death, by a verb of it."""
_PARTICIPLE = r"built|made|held|written|sung|sold|found|shot|lost|kept|won|sunk|begun|taken|given|known|\w{3,}ed"
_ASKED_PARTICIPLE = re.compile(
    rf"\b(?:when|where|(?:which|what)\s(?:\w+\s){{1,2}}?)\s?(?:is|was|were|are)\b.*?\b({_PARTICIPLE})\b", re.IGNORECASE
)
_ASKED_BASE = re.compile(r"\b(?:when|where|which|what|how)\b.*\b(?:did|does|do)\b.*\b(\w{3,})$", re.IGNORECASE)
TIME_OF_DAY = "time"
"""Noun of a question for a time of day: "at what time does it open"."""
_TIME_OF_DAY = re.compile(r"\s+(?:time|hour)\b(?!\s+(?:zone|period|signature|magazine|span|frame|limit)s?\b)", re.I)
EXPLANATION = "explanation"
"""Kind of the question words for reasons and manners: no name answers them."""


@dataclass(frozen=True, slots=True)
class QuestionType:
    """The kind of answer that a question expects."""

    kind: str  # "date", "number", "person", "place", "name" or "yes or no"; "" when unknown
    noun: str = ""  # folded noun after "which", "what", "how many" or "who is the"; "" without one
    options: tuple[str, ...] = ()  # the two alternatives of "A or B", as written; () without them


_AUXILIARY = "is|was|were|are|did|does|do|has|had|will|would|can|could"
_ASKED_VERB = re.compile(
    rf"\bwho (?!(?:{_AUXILIARY})\b)(\w+)|\bby whom? (?:is|was|were) .*\b(\w+)$|\bwho (?:is|was|were) .*\b(\w+) by$"
    r"|\b(?:when|where) (?:is|was|were) .* (\w+ed)$",
    re.IGNORECASE,
)


def classify_question(question: str, language: QuestionLanguage = ENGLISH) -> QuestionType:
    """Return the answer type of a question; kind "" for a question without question words of its language."""
    question = " ".join(question.split()).rstrip(" ?.")
    if not language.is_english:
        kind, noun = language.find_kind(question)
        return QuestionType("" if kind == EXPLANATION else kind, noun)
    for pattern in _OPTION_PATTERNS:
        if options := pattern.search(question):
            pair = (options["first"].strip(), options["second"].strip())
            return QuestionType("name", options=pair)
    if _YES_OR_NO.match(question):
        return QuestionType("yes or no")
    word = _find_question_word(question)
    if word is None:
        return QuestionType("")
    kind = fold(word.group())
    rest = question[word.end() :]
    if kind in ("what", "which") and _TIME_OF_DAY.match(rest):
        return QuestionType("date", TIME_OF_DAY)
    nominal = kind in ("what", "which", "how many") or (kind == "who" and _COPULA.match(rest))
    noun = _answer_noun(rest) if nominal else ""
    return QuestionType(_answer_kind(kind, noun), noun)


def find_asked_verb(question: str) -> str:
    """Return the stem of the main verb of an English question, "born" and "die" for births and deaths; "" without one.

    It is the verb after "who", the participle of "where was ... built", or what ends "when did ... close".
    """
    question = " ".join(question.split()).rstrip(" ?.")
    for event, pattern in LIFE_EVENTS.items():
        if pattern.search(question):
            return ENGLISH.stem(event)
    match = _ASKED_VERB.search(question) or _ASKED_PARTICIPLE.search(question) or _ASKED_BASE.search(question)
    return ENGLISH.stem(fold(next(filter(None, match.groups())))) if match else ""


def _find_question_word(question: str) -> "re.Match[str] | None":
    """Prefer the word that opens the question, then one near its end, then one after a comma, then the last one.

    Of those in the middle "what" and "how" come before the others, which may open a relative clause.
    """
    words = list(_QUESTION_WORD.finditer(question))
    for word in words:
        if _OPENING_PREPOSITION.fullmatch(question[: word.start()]):
            return word
    closing = [word for word in words if len(question[word.end() :].split()) <= MAX_CLOSING_WORDS]
    asking = [word for word in closing if fold(word.group()) not in ("who", "which", "whose")]
    asking += [word for word in closing if _CLOSING_NOUN.fullmatch(question, word.start())]
    if asking:
        return asking[-1]
    for word in words:
        if question[: word.start()].rstrip().endswith(","):
            return word
    plain = [word for word in words if word.group().lower().startswith(("what", "how"))]
    return plain[-1] if plain else words[-1] if words else None


def _answer_noun(rest: str) -> str:
    match = _NOUN_PHRASE.match(rest)
    words = fold(match[1]).split() if match else []
    last = next((i for i, word in enumerate(words) if word in _AFTER_NOUN), len(words))
    typed = [word for word in words[:last] if word in _DATES | _NUMBERS | _PERSONS | _PLACES]
    return (typed or words[:last] or [""])[-1]


def _answer_kind(word: str, noun: str) -> str:
    if word.startswith("how ") or noun in _NUMBERS:
        return "number"
    if word.startswith("who") or noun in _PERSONS:
        return "person"
    if word == "when" or noun in _DATES:
        return "date"
    if word == "where" or noun in _PLACES:
        return "place"
    return "name" if word in ("what", "which") else ""


def score_type_fit(mention: Mention, kind: str) -> float:
    """Return how well a mention fits an answer kind, from 1 (fits) over 0 (undecided) to -1 (cannot be)."""
    literal = mention.kind if mention.kind in ("date", "number") else "name"
    if kind in ("date", "number"):
        return 1.0 if literal == kind else -1.0
    if kind not in ("person", "place", "name"):
        return 0.0
    if literal != "name":
        return -1.0
    words = fold(mention.name).split()
    if kind != "person":
        return -0.5 if kind == "place" and (mention.kind == "quoted" or _ORGANIZATIONS.intersection(words)) else 0.5
    if mention.kind != "name" or any(word in _NOT_PERSONS or word.isdigit() for word in words):
        return -0.5
    return 1.0 if 2 <= len(words) <= 4 and not _LINKING_WORDS.intersection(words) else 0.3


def can_answer(text: str, span_kind: str, question_type: QuestionType) -> bool:
    """Whether a span, of a kind of mention, can be an answer of a type at all, by its form."""
    has_digit = any(letter.isdigit() for letter in text)
    if question_type.kind == "date":
        is_time = is_clock_time(text)
        if is_time or question_type.noun == TIME_OF_DAY:
            return is_time and question_type.noun in ("", TIME_OF_DAY)
        if question_type.noun in ("year", "years"):
            years = find_years(text)
            return (len(years) == 1 and len(text.strip()) == 4) or (span_kind == "joined" and len(years) > 1)
        if question_type.noun in ("century", "decade"):
            return question_type.noun in text.lower() or text.lower().rstrip().endswith("0s")
        return has_digit and span_kind in ("date", "year", "day", "joined")
    if question_type.kind == "number" and question_type.noun != "area":
        return has_digit or _NUMBER.search(text) is not None
    if question_type.kind == "place" and (fold(text) in _MONTHS or _NO_PLACES.intersection(fold(text).split()[-1:])):
        return False
    if question_type.kind in ("person", "place"):
        is_range = span_kind == "joined" and has_digit and fold(text).split()[0] in _MONTHS  # "April and May 2017"
        is_literal = span_kind in ("phrase", "date", "year", "day", "number") or is_range
        return not is_literal and any(map(str.isalpha, text))
    return True


def find_numbers(text: str, start: int, end: int) -> list[Mention]:
    """Return the numbers in `text[start:end]`, in digits or words; years are left out."""
    numbers = [(m.start(), m.group().rstrip(".,")) for m in _NUMBER.finditer(text, start, end)]
    return [Mention(name, "number", at, at + len(name)) for at, name in numbers if not _YEAR.fullmatch(name)]


def find_unmentioned_numbers(text: str, start: int, end: int, mentions: Sequence[Mention]) -> list[Mention]:
    """Return the numbers in `text[start:end]` that overlap none of some mentions."""
    return [n for n in find_numbers(text, start, end) if not any(n.start < m.end and m.start < n.end for m in mentions)]


def is_person_noun(word: str) -> bool:
    """Whether a folded word names a person by a role: actor, wife."""
    return word in _PERSONS


def find_years(text: str) -> list[int]:
    """Return the years from 1000 to 2099 in a text, in its order."""
    return [int(match.group()) for match in _YEAR.finditer(text)]


def find_nationality(text: str) -> str:
    """Return the capitalised word of a phrase like "is an American writer"; "" without one."""
    match = _NATIONALITY.search(text)
    return match["name"] if match else ""


def find_content_stems(text: str, offset: int = 0, language: QuestionLanguage = ENGLISH) -> list[tuple[str, int]]:
    """Return the stems of the content words of a text, and bigrams of unspaced scripts, with their start offsets."""
    words = tokens(text)
    stems = []
    for word, after in zip_longest(words, words[1:]):
        if len(word.key) == 1 and not word.key.isascii():
            if after and after.start == word.end:
                stems.append((word.key + after.key, offset + word.start))
        elif word.key not in language.function_words and (len(word.key) > 1 or word.key.isdigit()):
            stems.append((language.stem(word.key), offset + word.start))
    return stems
