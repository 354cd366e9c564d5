"""Names that a later question may refer to, with their kinds as far as a question and the passages found tell.

The answer to "who" is a person, to "where" a place, to "when" a date; one who is born or dies is a person, a name after
"the" is a thing. The passage whose title is a name says what it is in its first sentence ("Fram is a wooden ship"), and
by its pronouns.

Source: none. Differs from the source: nothing.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from clew.text.normalization import name_key

PERSON, PLACE, DATE, THING, UNKNOWN = "person", "place", "date", "thing", ""

PERSON_NOUNS = (
    "man|woman|person|captain|leader|explorer|king|queen|author|engineer|architect|founder|owner|skipper|president|"
    "director|scientist|sailor|poet|artist|officer|commander|boy|girl|inventor|builder|designer|manager|navigator|"
    "geologist|photographer|surgeon|shipbuilder|merchant|politician|writer|teacher|doctor|carpenter|aviator|seaman|"
    "businessman|banker|stowaway|painter|composer|singer|physicist|oceanographer|whaler|baronet|journalist|publisher"
)
PLACE_NOUNS = (
    "place|town|city|country|island|village|region|province|port|harbour|county|state|street|river|continent|sea|bay|"
    "glacier|sound|cape|archipelago|mountain|lake|valley|coast|district|suburb|capital|settlement"
)
DATE_NOUNS = "year|day|date|month|time|century|decade"
SHIP_NOUNS = "ship|boat|vessel|icebreaker|steamer|yacht|schooner|barque|lifeboat|whaler|trawler|tug|sealer|airship"
THING_NOUNS = (
    f"{SHIP_NOUNS}|expedition|voyage|book|film|novel|museum|company|school|college|university|institute|society|yard|"
    "painting|picture|portrait|statue|sculpture|song|opera|poem|magazine|album|"
    "shipyard|firm|hut|building|train|car|engine|machine|festival|prize|band|club|railway|bridge|newspaper|factory|brewery"
)
_NOUNS = {PLACE: PLACE_NOUNS, DATE: DATE_NOUNS, THING: THING_NOUNS, PERSON: PERSON_NOUNS}
_DEFINITION = re.compile(r"\b(?:is|was|were|are)\s+(?:an?|the|one\s+of\s+the)\s+(?P<words>(?:[\w’'-]+\s*){1,10})", re.I)
_HEAD_END = re.compile(
    r"\b(?:of|in|on|at|that|which|who|whose|for|by|from|with|led|built|and|between|off|near|to|named|less|under)\b",
    re.I,
)
_LIVED = re.compile(
    r"\b(?:born|die[ds]?|death|married|wife|husband|mother|father|son|daughter|birthday|buried)\b", re.I
)
OPENING_WORDS = re.compile(r"\A\s*(?:(?:and|but|so|ok|okay|then|also)[,\s]+)+", re.I)
_MAX_DEFINITION = 300  # characters of a passage that say what its title is
_MAX_PRONOUNS = 3_000  # characters of a passage whose pronouns are counted
_PRONOUNS = {"he": "he", "his": "he", "him": "he", "she": "she", "her": "she", "it": "it", "its": "it"}


@dataclass(frozen=True, slots=True)
class Referent:
    """A name that a later question may refer to."""

    name: str
    kind: str = UNKNOWN  # "person", "place", "date", "thing", or "" where it is not known
    noun: str = ""  # what it is called: "ship"
    pronoun: str = ""  # "he" or "she" of a person, "they" of several; "" where it is not known
    is_sure: bool = True  # False for an answer that is merely likely
    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class Described:
    """A title and a text that may say what a name is."""

    title: str
    text: str


def noun_kind(noun: str) -> str:
    """Return the kind of what a noun, in the singular or plural, stands for; "" where it is not known."""
    return next((kind for kind, nouns in _NOUNS.items() if re.fullmatch(rf"(?:{nouns})s?", noun, re.I)), UNKNOWN)


def is_same_noun(noun: str, other: str) -> bool:
    """Return whether two nouns may stand for one thing: the same, or both a ship."""
    first, second = noun.lower().removesuffix("s"), other.lower().removesuffix("s")
    return first == second or all(re.fullmatch(SHIP_NOUNS, each) for each in (first, second))


def topic_referent(question: str, name: str, passages: Iterable[Described] = ()) -> Referent:
    """Return a name in a question as what later questions may refer to."""
    before = question[: max(0, question.find(name))].rstrip()
    after = question[question.find(name) + len(name) :]
    word = before.rpartition(" ")[2].lower()
    several = "they" if re.search(r"\b(?:are|were)\s+(?:the\s*)?\Z", before, re.I) and not after.strip(" ?") else ""
    found = _read_passages(name, passages)
    if _LIVED.search(question) and word not in ("the", "in", "at") and found.kind in (PERSON, UNKNOWN):
        return Referent(name, PERSON, found.noun, found.pronoun)
    if found.kind:
        return found
    if re.search(r"\Awho(?:m|se)?\s+(?:is|was)\s*\Z", before, re.I) and not after.strip(" ?"):
        return Referent(name, PERSON)
    if noun_kind(word) in (THING, PLACE):
        return Referent(name, noun_kind(word), word)
    if word == "the" or "(" in name or name.lower().startswith("the "):
        return Referent(name, THING, _noun_after(after), several)
    if re.search(r"\b(?:in|near)\Z", before, re.I):
        return Referent(name, PLACE)
    return Referent(name, pronoun=several or found.pronoun)


def answer_referent(
    question: str, answer: str, passages: Iterable[Described] = (), *, is_sure: bool = True
) -> Referent:
    """Return the answer to a question as what later questions may refer to."""
    kind, noun = _answer_kind(question, answer)
    found = _read_passages(answer, passages)
    if kind in (UNKNOWN, THING) and found.kind:
        kind, noun = found.kind, found.noun or noun
    pronoun = found.pronoun if kind == PERSON else ""
    if re.search(r"[^,]\s+and\s+", answer):
        pronoun = "they"
    return Referent(answer, kind, noun, pronoun, is_sure, is_answer=True)


def _answer_kind(question: str, answer: str) -> tuple[str, str]:
    start = OPENING_WORDS.sub("", question).strip().lower()
    if re.fullmatch(r"(?:[\w ,]*\b)?\d{3,4}", answer):
        return DATE, ""
    asked = re.match(r"(?:(?:in|on|at|to|from|by|with)\s+)?(?:which|what)\s+(?P<noun>[a-z-]+)", start)
    if asked and (kind := noun_kind(asked["noun"])):
        return kind, asked["noun"].removesuffix("s")
    if re.match(r"(?:by |to |with |from )?who(?:m|se)?\b", start):
        return PERSON, ""
    if start.startswith(("where", "to where", "from where")):
        return PLACE, ""
    if start.startswith("when"):
        return DATE, ""
    return (UNKNOWN if answer[:1].isupper() else THING), ""


def _noun_after(text: str) -> str:
    word = re.match(r"\s+([a-z][\w-]*)", text)
    return word[1] if word and noun_kind(word[1]) == THING else ""


def _read_passages(name: str, passages: Iterable[Described]) -> Referent:
    """Return what the first passage whose title is a name says of it."""
    key = name_key(name)
    for passage in passages:
        title, _, bracketed = passage.title.partition(" (")
        if name_key(title) == key:
            said = bracketed.rstrip(") ").rpartition(" ")[2]
            noun = said if noun_kind(said) else _defining_noun(passage.text)
            return _describe(name, noun or _last_noun(name), passage.text)
    noun = _last_noun(name)
    return Referent(name, noun_kind(noun), noun)


def _last_noun(name: str) -> str:
    """Return the last word of a name of several where it says what it is: `Elephant Island`."""
    first, _, last = name.rpartition(" ")
    return last.lower() if first and noun_kind(last) in (THING, PLACE) else ""


def _defining_noun(text: str) -> str:
    """Return the head noun of the first `is a ...` whose kind is known, "" for none."""
    for match in _DEFINITION.finditer(text[:_MAX_DEFINITION]):
        words = _HEAD_END.split(match["words"], maxsplit=1)[0].split()
        if known := [word for word in words if noun_kind(word)]:
            return known[-1].lower()
    return ""


def _describe(name: str, noun: str, text: str) -> Referent:
    words = re.findall(r"\b(?:he|his|him|she|her|it|its)\b", text[:_MAX_PRONOUNS].lower())
    counts = Counter(_PRONOUNS[word] for word in words)
    pronoun = max(counts, key=counts.__getitem__) if counts else ""
    kind = noun_kind(noun)
    if not kind and pronoun == "he" and counts["he"] > counts["it"] + counts["she"]:
        kind = PERSON
    if not kind and re.search(r"\bwas born\b", text[:_MAX_DEFINITION]):
        kind = PERSON
    is_person = kind == PERSON and pronoun != "it"
    is_she = not kind and pronoun == "she"  # a woman, or a boat of a kind that is not known
    return Referent(name, kind, noun, pronoun if is_person or is_she else "")
