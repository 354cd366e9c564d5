"""Expected answer type of an English question: date, number, person, place, name, yes or no, or one of two options.

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from clew.text.gazetteer import COMMON_WORDS
from clew.text.normalization import fold, tokens
from clew.types import Mention

_QUESTION_WORD = re.compile(
    r"\b(?:who(?:se|m)?|when|where|which|what|how(?: (?:many|much|old|long|far|tall|high|large))?)\b", re.I
)
_OPENING_PREPOSITION = re.compile(r"\W*(?:(?:in|at|on|by|for|to|of|from|during|with)\s+)?", re.I)
# The noun of "which company developed", "what was the name of the river that".
_NOUN_PHRASE = re.compile(
    r"(?:\s+(?:is|was|are|were|other))?(?:\s+the)?(?:\s+names?\s+of)?(?:\s+the)?((?:\s+[^\W_][\w'’-]*){1,5})", re.I
)
_COPULA = re.compile(r"\s+(?:is|was|are|were)\b", re.I)
_YES_OR_NO = re.compile(r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b", re.I)
# Bounded lengths: unbounded ones would take minutes on a long question full of "in" and "or".
_OPTION_PATTERNS = tuple(
    re.compile(
        rf"{start}\s(?:the\s)?(?P<first>[^\s{stop}][^{stop}]{{0,80}}?),?\sor\s(?:the\s)?(?P<second>[^{stop}]{{1,80}})\Z"
    )
    for start, stop in ((":", ":?"), (r"(?:[,;]|\b(?:is|was|between|than|in|first)\b)", ",:;?"))
)
_SAME_NATIONALITY = re.compile(r"\bsame (?:nationality|country)\b|\bshare\b.*\bnationality\b", re.I)
EARLIER = re.compile(r"\b(?:first|earlier|earliest|older|oldest|before)\b", re.I)
_LATER = re.compile(r"\b(?:later|latest|younger|youngest|newer|newest|recently)\b", re.I)
# Similarity of question and sentence does not decide these comparisons.
QUANTITY_COMPARISON = re.compile(
    r"\b(?:more|most|less|fewer|higher|taller|larger|bigger|smaller|longer|shorter|further|closer|best|better)\b", re.I
)
# A passage mostly gives these dates second, after that of birth or foundation.
_ENDING_VERB = re.compile(r"\b(?:die[ds]?|death|dissolved|closed|ended|disbanded)\b", re.I)
_YEAR = re.compile(r"(?<![\d,.$£€])(?:1\d{3}|20\d{2})(?![\d%]|,\d)")
_NUMBER = re.compile(
    r"(?<![\w.,])\d[\d,.]*(?:\s(?:million|billion|thousand))?(?!\w)|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|hundred)\b",
    re.I,
)
_NATIONALITY = re.compile(
    r"\b(?:is|was|are|were)\s+(?:an?|the)\s+"
    r"(?:(?!(?:in|of|at|on|from|near|by|for)\b)[a-z]+\s+){0,2}(?P<name>[A-Z][a-z]+(?:-[A-Z][a-z]+)?)\b"
)


_SUFFIXES = ("ations", "ation", "ings", "ing", "ers", "ors", "er", "or", "ed", "es", "ly", "s", "e")


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FUNCTION_WORDS = COMMON_WORDS | _word_set("who whom whose when where which what how was were does did has")
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
NAME_NOUNS = _NOT_PERSONS | _PLACES
"""Common nouns that names end with: river, county, university."""
_LINKING_WORDS = _word_set("of the for and in at on")
_AFTER_NOUN = (COMMON_WORDS - _DATES - _PERSONS - _PLACES) | _word_set("won named called known located born played")


@dataclass(frozen=True, slots=True)
class QuestionType:
    """The kind of answer that a question expects."""

    kind: str  # "date", "number", "person", "place", "name" or "yes or no"; "" when unknown
    noun: str = ""  # folded noun after "which", "what", "how many" or "who is the"; "" without one
    options: tuple[str, ...] = ()  # the two alternatives of "A or B", as written; () without them
    # criterion between the options: "earlier", "later", "description", "undecidable"; "" without options
    comparison: str = ""
    asks_same_nationality: bool = False


_AUXILIARY = "is|was|were|are|did|does|do|has|had|will|would|can|could"
_ASKED_VERB = re.compile(
    rf"\bwho (?!(?:{_AUXILIARY})\b)(\w+)|\bby whom? (?:is|was|were) .*\b(\w+)$"
    r"|\b(?:when|where) (?:is|was|were) .* (\w+ed)$",
    re.IGNORECASE,
)


def classify_question(question: str) -> QuestionType:
    """Return the answer type of a question; kind "" for a question without English question words."""
    question = " ".join(question.split()).rstrip(" ?.")
    for pattern in _OPTION_PATTERNS:
        if options := pattern.search(question):
            pair = (options["first"].strip(), options["second"].strip())
            return QuestionType("name", options=pair, comparison=_comparison_kind(question))
    if _YES_OR_NO.match(question):
        return QuestionType("yes or no", asks_same_nationality=_SAME_NATIONALITY.search(question) is not None)
    word = _find_question_word(question)
    if word is None:
        return QuestionType("")
    kind = fold(word.group())
    rest = question[word.end() :]
    nominal = kind in ("what", "which", "how many") or (kind == "who" and _COPULA.match(rest))
    noun = _answer_noun(rest) if nominal else ""
    return QuestionType(_answer_kind(kind, noun), noun)


def find_asked_verb(question: str) -> str:
    """Return the stem of the main verb of `Who founded ...` or `When was ... founded`; "" for other questions."""
    match = _ASKED_VERB.search(" ".join(question.split()).rstrip(" ?."))
    return stem(fold(next(filter(None, match.groups())))) if match else ""


def _comparison_kind(question: str) -> str:
    early, late = EARLIER.search(question), _LATER.search(question)
    if early or late:
        return "undecidable" if _ENDING_VERB.search(question) else "earlier" if early else "later"
    return "undecidable" if QUANTITY_COMPARISON.search(question) else "description"


def _find_question_word(question: str) -> "re.Match[str] | None":
    """Prefer the word that opens the question or follows a comma, then the last "what" or "how", then the last one."""
    words = list(_QUESTION_WORD.finditer(question))
    for word in words:
        if _OPENING_PREPOSITION.fullmatch(question[: word.start()]) or question[: word.start()].rstrip().endswith(","):
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


def extract_year(mention: Mention) -> Mention:
    """Return the year inside a date mention, with its span; the mention itself without one."""
    match = _YEAR.search(mention.name) if mention.kind == "date" else None
    if match is None:
        return mention
    return Mention(match.group(), "date", mention.start + match.start(), mention.start + match.end())


def find_first_year(text: str) -> int | None:
    """Return the first year from 1000 to 2099 in a text."""
    match = _YEAR.search(text)
    return int(match.group()) if match else None


def find_years(text: str) -> list[int]:
    """Return the years from 1000 to 2099 in a text, in its order."""
    return [int(match.group()) for match in _YEAR.finditer(text)]


def find_nationality(text: str) -> str:
    """Return the capitalised word of a phrase like "is an American writer"; "" without one."""
    match = _NATIONALITY.search(text)
    return match["name"] if match else ""


def find_content_stems(text: str, offset: int = 0) -> list[tuple[str, int]]:
    """Return the stems of the content words of a text, and bigrams of unspaced scripts, with their start offsets."""
    words = tokens(text)
    stems = []
    for word, after in zip_longest(words, words[1:]):
        if len(word.key) == 1 and not word.key.isascii():
            if after and after.start == word.end:
                stems.append((word.key + after.key, offset + word.start))
        elif word.key not in _FUNCTION_WORDS and (len(word.key) > 1 or word.key.isdigit()):
            stems.append((stem(word.key), offset + word.start))
    return stems


def stem(word: str) -> str:
    """Strip the first matching English suffix that leaves at least four letters."""
    return next((word[: -len(e)] for e in _SUFFIXES if word.endswith(e) and len(word) - len(e) >= 4), word)
