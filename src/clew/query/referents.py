"""Names that a later question may refer to, with their kinds as far as a question and the passages found tell.

The answer to "who" is a person, to "where" a place, to "when" a date; one who is born or dies is a person, a name after
"the" is a thing. The passage whose title is a name says what it is in its first sentence ("Fram is a wooden ship"), and
by its pronouns.

Words that refer to something said before are pronouns, `the same ship` and `there`; a referent fits one by its number,
kind and noun.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from clew.text.casing import COMMON_WORDS
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


_WORD_BEFORE = re.compile(r"(?<=\s)(?P<word>[^\W\d_a-z][\w’'-]*)\s\Z")
_QUESTION_WORDS = frozenset("who whom whose what when where which why how did does do is was are were has had".split())  # noqa: SIM905 - a list


def complete_name(text: str, name: str, titles: Iterable[str] = ()) -> str:
    """Return a name in a text with the capitalised words right before it, the text's first word aside.

    That one counts too where a passage has the whole as its title.
    """
    start = text.find(name)
    if start < 0:
        return name
    end = start + len(name)
    while match := _WORD_BEFORE.search(text, 0, start):
        if match["word"].lower() in _QUESTION_WORDS or match["word"].lower() not in COMMON_WORDS:
            break
        start = match.start("word")
    first = re.match(r"[^\W_]+\s", text[:start])
    if first is not None and first.end() == start and name_key(text[:end]) in set(map(name_key, titles)):
        start = 0
    return text[start:end]


def complete_answer(answer: str, titles: Iterable[str]) -> str:
    """Return the one title that is an answer with a common word before it, such as "The Tide" for "Tide"; else it."""
    found: set[str] = set()
    for title in titles:
        plain = title.partition(" (")[0]
        first, _, rest = plain.partition(" ")
        if plain.casefold() == answer.casefold():
            return answer
        if first.lower() in COMMON_WORDS and rest.casefold() == answer.casefold():
            found.add(plain)
    return found.pop() if len(found) == 1 else answer


POSSESSIVE = frozenset(["his", "her", "hers", "its", "their", "theirs"])
"""Pronouns that stand for a name with an 's."""

_NOT_NOUNS = "is|was|are|were|did|does|do|has|had|can|will|of|in|on|at|by|from|to|for|with|and|or|the|a|an"
_REFERENCE = re.compile(
    r"(?P<the>\b(?:the\s+same|this|that|these|those|the)\s+(?P<noun>[a-z][\w-]*))"
    r"|\b(?P<pronoun>he|him|his|she|hers?|it|its|they|them|theirs?|there|then|that)\b(?!['’-])",
    re.I,
)
_DEMONSTRATIVE_BEFORE = re.compile(
    r"(?:\A|\b(?:of|in|on|at|by|from|to|for|with|did|was|is|were|are|does|do|has|had|and|about|on|under|near|after)\s+)\Z",
    re.I,
)
_EXPLETIVE = re.compile(
    r"\b(?:is|was|are|were)\s+(?:there|it)\s+(?:an?|any|true|in|that|the\s+case|possible|cold|warm|hot|dark|light|far|late|"
    r"early|known|likely|common|safe|dangerous|difficult|easy|windy|wet|dry|snowing|raining)\b",
    re.I,
)
_EXISTS = re.compile(r"\bthere\s+(?:is|was|are|were|be|been|exists?)\b|\b(?:is|are|was|were)\s+there\b", re.I)
_TAKES = re.compile(r"\b(?:does|did|do)\s+it\s+(?:take|mean|matter|cost)\b", re.I)
_OWN_SUBJECT = re.compile(
    r"\A(?:who|(?:which|what)\s+[a-z]+s?)\b.*\b(?:said|claimed|thought|believed|that|when|after|before|because|while|if|"
    r"until)\s+\Z",
    re.I,
)
_NOT_POSSESSED = re.compile(r"\s*(?:\Z|[?.,;!]|(?:to|in|on|at|by|from|for|with|and|or|as|after|before)\b)", re.I)


def find_reference_words(text: str) -> Iterator[re.Match[str]]:
    """Yield the references of a question in order: a `pronoun`, or `the` with its `noun`."""
    return (match for match in _REFERENCE.finditer(text) if not _is_no_reference(text, match))


def is_plain(match: re.Match[str]) -> bool:
    """Return whether a reference is a noun with its article, which may mean any: `the museum`."""
    return re.match(r"the\s+(?!same\b)", match.group(), re.I) is not None


def must_refer(match: re.Match[str]) -> bool:
    """Return whether a word means nothing without what it refers to."""
    return not is_plain(match) and (match["pronoun"] or "").lower() != "that"


def _is_no_reference(text: str, match: re.Match[str]) -> bool:
    """Return whether a word that looks like a reference is none: `is there a`, `the ship that sank`, `does it take`."""
    around = text[max(0, match.start() - 12) : match.end() + 20]
    if match["noun"]:
        written = match.group().lower()
        bare = re.fullmatch(_NOT_NOUNS, match["noun"], re.I) is not None
        if is_plain(match):
            is_other = re.match(r"\s+(?:of|that|which|who|where|with|from|for|named|called|[A-Z])", text[match.end() :])
            return noun_kind(match["noun"]) not in (THING, PLACE) or is_other is not None
        is_relative = not written.startswith("the same")
        return bare or (is_relative and _DEMONSTRATIVE_BEFORE.search(text[: match.start()]) is None)
    word = match["pronoun"].lower()
    if word == "that":
        return re.search(r"\b(?:about|of|after|before)\s+\Z", text[: match.start()], re.I) is None
    if word == "it" and (_EXPLETIVE.search(around) or _TAKES.search(around)):
        return True
    if word == "there" and _EXISTS.search(around):
        return True
    return _OWN_SUBJECT.match(text[: match.start()]) is not None


def write_name(name: str, match: re.Match[str], text: str) -> str:
    """Return a name in place of a reference: `Fram's` for `its`, `in Oslo` for `there`."""
    word = (match["pronoun"] or "").lower()
    if word in POSSESSIVE and not (word == "her" and _NOT_POSSESSED.match(text, match.end())):
        return f"{name}’" if name.endswith("s") else f"{name}'s"
    return f"in {name}" if word in ("there", "then") else name


def fits_noun(one: Referent, noun: str) -> int:
    """Return how well a referent fits `the same NOUN`: 3 for its noun, 2 for its kind, 1 where neither is known."""
    kind = noun_kind(noun) or THING
    if one.noun and (is_same_noun(one.noun, noun) or kind != THING):
        return 3 if is_same_noun(one.noun, noun) else 2 * (one.kind == kind)
    if one.noun and noun_kind(noun) == THING:
        return 0
    return 2 if one.kind == kind else int(one.kind == UNKNOWN and kind != DATE)


def fits_person(one: Referent, pronoun: str) -> int:
    """Return how well a referent fits a personal pronoun; the last answer ranks above the last subject."""
    if one.kind == PERSON and one.pronoun in (pronoun, ""):
        return 3 if one.is_answer else 2
    return int(one.kind == UNKNOWN and not one.pronoun)


def fits_she(one: Referent) -> int:
    """Return how well `she` or `her` fits: 4 for a woman, 3 for a ship, 2 for what may be either, 1 if unknown."""
    if one.kind == PERSON:
        return {"she": 4, "": 2}.get(one.pronoun, 0)
    if re.fullmatch(SHIP_NOUNS, one.noun) or one.pronoun == "she":
        return 3
    return 2 if one.kind == THING and not one.noun else int(one.kind == UNKNOWN)


def fits_it(one: Referent, *, prefers_place: bool) -> int:
    """Return how well `it` fits: a thing, or a place, which verbs such as `founded` prefer."""
    if one.pronoun == "they" or one.kind in (PERSON, DATE):
        return 0
    order = {THING: 2, PLACE: 3} if prefers_place else {THING: 3, PLACE: 2}
    return order.get(one.kind, 1)


def fits_they(one: Referent) -> int:
    """Return how well `they` fits: several, or a group, else anyone."""
    if one.pronoun == "they" or (one.kind == THING and re.fullmatch("expedition|crew|company|band|club", one.noun)):
        return 3
    return 1 if one.kind in (PERSON, THING, UNKNOWN) else 0


def fits_owner(one: Referent, *, of_ship: bool) -> int:
    """Return how well a referent fits as what a captain, an owner or a length is of."""
    if one.kind in (PERSON, DATE) or (of_ship and one.kind == PLACE):
        return 0
    is_ship = re.fullmatch(SHIP_NOUNS, one.noun) is not None
    if of_ship and one.kind == THING and one.noun:
        return 4 if is_ship else 2  # an expedition has a captain where no ship is known
    return {THING: 3, PLACE: 2}.get(one.kind, 1)
