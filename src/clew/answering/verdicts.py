"""Comparisons of two entities that sentences decide: yes or no, and which of two options comes first or last.

The entities are those that the question names by the titles of their passages. "The director of the film X" is followed
from the passage of X to that of the person, where the evidence has both.

Source: own rules; the shares are chosen on training questions of HotpotQA and 2Wiki. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from clew.answering.event_dates import (
    BIRTH,
    DEATH,
    DEATH_WORDS,
    LIFE,
    ComparedEvent,
    find_compared_event,
    find_dated,
    find_event_year,
)
from clew.answering.question_types import (
    DENIAL,
    EARLIER,
    NAME_NOUNS,
    find_content_stems,
    find_nationality,
    find_years,
    is_person_noun,
)
from clew.answering.sentence_selection import DOUBT, Sentence
from clew.text.normalization import STOP_WORDS, Token, name_key, strip_parentheses, token_keys, tokens

_COMMA = re.compile(r"\s*,\s*(?:the\s+)?", re.IGNORECASE)
_OR = re.compile(r"[\s,]*\bor\b\s*(?:\w+\s+){0,3}", re.IGNORECASE)
# What stands between "X and Y", "X and the film Y", "X and the director of the film Y".
_AND = re.compile(r"\s*,?\s*\band\s+(?:the\s+)?(?:[a-z]+\s+of\s+(?:the\s+)?)?(?:\d+\s+)?(?:[a-z]+\s+)?")
_SAME = re.compile(r"\bsame\b|\bshare\b", re.IGNORECASE)
_SAME_PLACE = re.compile(
    r"\b(?:same|share)\b[^?]*\b(?:nationality|citizenship|country|state|county|province|region|city|town|village|place|area"
    r"|continent|island)\b|\bfrom the same\b",
    re.IGNORECASE,
)
_SAME_COUNTRY = re.compile(r"\b(?:same|share)\b[^?]*\b(?:nationality|country|citizenship)\b", re.IGNORECASE)
_LATER = re.compile(r"\b(?:later|latest|younger|youngest|newer|newest|recently|last)\b", re.IGNORECASE)
_LIFESPAN = re.compile(r"\blived? (?:the )?longe(?:r|st)\b|\blonger li(?:fe|ved)\b", re.IGNORECASE)
_AT_DEATH = re.compile(r"\bwhen (?:he|she|they) died\b", re.IGNORECASE)  # an age, which no date alone says
_PREFIX = 4  # letters that a country and its adjective share: Norway, Norwegian
MIN_PREDICATE_SHARE = 0.5
"""Least share of the predicate's words that the sentences about each of "both X and Y" have, for yes."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of two options and the sentences that support it."""

    name: str
    score: float
    sentences: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class ComparedEntity:
    """An entity that a question names, as written there, and the sentences that tell what is compared."""

    name: str
    start: int  # offset in the question
    end: int
    own: Sequence[Sentence]  # of its passage
    about: Sequence[Sentence]  # of the person that the question reaches from it, else the same


def find_compared(question: str, sentences: Sequence[Sentence]) -> list[ComparedEntity]:
    """Return the entities that a question names by the titles of their passages, in its order, without overlaps."""
    words = tokens(question)
    keys = [word.key for word in words]
    titles: dict[str, list[Sentence]] = {}
    for sentence in sentences:
        if sentence.title_key:
            titles.setdefault(sentence.passage.title, []).append(sentence)
    found = []
    for title, own in titles.items():
        for key in dict.fromkeys((name_key(title), own[0].title_key)):
            parts = key.split(" ")
            at = next((i for i in range(len(keys)) if keys[i : i + len(parts)] == parts), None)
            if at is not None and not _continues_name(question, words, at):
                found.append((words[at].start, words[at + len(parts) - 1].end, own))
                break
    found.sort(key=lambda item: (item[0] - item[1], item[0]))
    distinct: list[tuple[int, int, list[Sentence]]] = []
    for start, end, own in found:
        if all(end <= other[0] or other[1] <= start for other in distinct):
            distinct.append((start, end, own))
    roles = [key[:6] for key in keys if is_person_noun(key.removesuffix("s"))]
    entities = []
    for start, end, own in sorted(distinct, key=lambda item: item[0]):
        about = _follow_role(roles, own, titles) if roles else own
        entities.append(ComparedEntity(question[start:end], start, end, own, about))
    return entities


def _continues_name(question: str, words: Sequence[Token], at: int) -> bool:
    """Return whether a name goes on at a word: at "William" of John William Henry II."""
    if at < 2:  # the first word of a question is written large anyway
        return False
    before = words[at - 1]
    is_name = question[before.start].isupper() and before.key not in STOP_WORDS
    return is_name and question[before.end : words[at].start] == " "


def _follow_role(
    roles: Sequence[str], own: Sequence[Sentence], titles: dict[str, list[Sentence]]
) -> Sequence[Sentence]:
    """Return the sentences of the person in a role ("direct" of director), named after it; else those of the entity."""
    by_key = {sentences[0].title_key: sentences for sentences in titles.values()}
    for sentence in own:
        for mention in sentence.mentions:
            key = name_key(mention.name)
            before = [word for word, at in sentence.stem_positions if at < mention.start]
            if key != sentence.title_key and key in by_key and any(w.startswith(r) for w in before for r in roles):
                return by_key[key]
    return own


def decide_yes_or_no(question: str, sentences: Sequence[Sentence]) -> tuple[str, list[Sentence]] | None:
    """Return "yes" or "no" for a question that compares two entities, with the sentences that decide it; else None.

    A relation of one entity to the other, a denial, and words that no sentence has, are not decided.
    """
    entities = find_compared(question, sentences)
    if len(entities) != 2 or _find_options(question, entities) or DENIAL.search(question):
        return None
    first, second = entities
    if not _AND.fullmatch(question[first.end : second.start]) and not _SAME_COUNTRY.search(question):
        return None
    if _SAME.search(question):
        if first.about is first.own and _names_role(question):
            return None  # the persons are not in the evidence
        basis = [_opening(first.about), _opening(second.about)]
        nationalities = [find_nationality(s.text) for s in basis]
        asks_country = _SAME_COUNTRY.search(question) or not _SAME_PLACE.search(question)  # and no state or town
        if all(nationalities) and (asks_country or len(set(nationalities)) > 1):
            return "yes" if nationalities[0] == nationalities[1] else "no", basis
        adjectives = set() if asks_country else {name_key(name)[:_PREFIX] for name in nationalities}
        places = [_place_prefixes(entity) - adjectives for entity in entities]
        if not all(places) or (asks_country and any(nationalities) and not places[0] & places[1]):
            return None  # "an Irish seaman" and "of Kildare": no places that can be compared
        return "yes" if places[0] & places[1] else "no", basis
    predicate = _predicate(question, entities)
    if not predicate:
        return None
    best = [max(entity.own, key=lambda s: len(predicate & s.stem_set)) for entity in entities]
    known = [{word for s in entity.own for word in s.stem_set} for entity in entities]
    # A name of the predicate is decisive: "American film directors".
    names = {w for w, at in find_content_stems(question) if w in predicate and question[at].isupper() and at}
    if all(len(predicate & words) >= MIN_PREDICATE_SHARE * len(predicate) and names <= words for words in known):
        return "yes", best
    openings = [_opening(first.own), _opening(second.own)]
    return ("no", openings) if _differ_in_nationality(names, entities, known) else None


def decides_surely(question: str, basis: Sequence[Sentence], answer: str = "") -> bool:
    """Return whether a yes or no may be asserted: "same" asks for a place, and no sentence behind it has a doubt.

    For "yes" to "Are both X and Y ...?" one sentence of each has all words of it.
    """
    if _SAME.search(question) and not _SAME_PLACE.search(question):
        return False
    towns_differ = answer == "no" and _SAME_COUNTRY.search(question) and "located" not in question
    if towns_differ and not all(find_nationality(s.text) for s in basis):
        return False
    if answer == "yes" and not _SAME.search(question):
        titles = {word for s in basis for word, _ in find_content_stems(s.passage.title)}
        wanted = {word for word, _ in find_content_stems(question)} - titles - {"both"}
        if not all(wanted <= s.stem_set for s in basis):
            return False
    years = set(find_years(question))
    return all(years <= set(find_years(s.text)) and not DOUBT.search(s.text) for s in basis)


def dates_are_of_event(question: str, options: Sequence[Candidate]) -> bool:
    """Return whether the sentence that dates each option says of it what is compared, and the years differ.

    "Which was burned down first?" is not decided by the years in which the two were built, nor "Who was born first?"
    by that of a death.
    """
    event = find_compared_event(question)
    dated = [option.sentences[0] for option in options]
    if any(DOUBT.search(sentence.text) for sentence in dated):
        return False
    if len({option.score for option in options}) < len(options):
        return False
    return _LIFESPAN.search(question) is not None or all(find_event_year(event, s) is not None for s in dated)


def _differ_in_nationality(names: set[str], entities: Sequence[ComparedEntity], known: Sequence[set[str]]) -> bool:
    """Whether a name of the predicate is the nationality of one entity, and the other is said to be of another."""
    found = [
        {w for w, _ in find_content_stems(find_nationality(_opening(entity.own).text))} & names for entity in entities
    ]
    stated = [bool(find_nationality(_opening(entity.own).text)) for entity in entities]
    return all(stated) and any(found[i] - known[1 - i] for i in (0, 1))


def _predicate(question: str, entities: Sequence[ComparedEntity]) -> set[str]:
    """Return the stems of a question outside its entities."""
    words = find_content_stems(question)
    return {w for w, at in words if not any(e.start <= at < e.end for e in entities)} - {"both"}


def _find_options(question: str, entities: Sequence[ComparedEntity]) -> Sequence[ComparedEntity]:
    """Return the entities that an "or" joins, with those that commas join before it; () without."""
    for at, (first, second) in enumerate(pairwise(entities)):
        if _OR.fullmatch(question[first.end : second.start]):
            while at and _COMMA.fullmatch(question[entities[at - 1].end : entities[at].start]):
                at -= 1
            return entities[at : entities.index(second) + 1]
    return ()


def _names_role(question: str) -> bool:
    return any(is_person_noun(key.removesuffix("s")) for key in token_keys(question))


def _opening(sentences: Sequence[Sentence]) -> Sentence:
    """Return the first sentence of an entity that says something: no bare title."""
    return next((s for s in sentences if not s.is_bare_title), sentences[0])


def _place_prefixes(entity: ComparedEntity) -> set[str]:
    """Return the beginnings of the names in the first sentence that are not in the title, without "District" and so."""
    opening = _opening(entity.about)
    title = token_keys(strip_parentheses(entity.about[0].passage.title))
    names = [name_key(m.name).split(" ") for m in opening.mentions if m.kind in ("name", "acronym")]
    last = {words[-1] for words in names if not set(words) & set(title)}
    return {word[:_PREFIX] for word in last if word.removesuffix("s") not in NAME_NOUNS}


def decide_option(question: str, sentences: Sequence[Sentence]) -> list[Candidate]:
    """Return the options of "X, Y or Z" whose dates decide it, the right one first; [] where none do.

    The text of an option is the title of its passage, which the question names in any case; the score is the year,
    negative where the earlier one is asked for. The first sentence of an option is the one with its date.
    """
    entities = find_compared(question, sentences)
    options, later = _find_options(question, entities), _LATER.search(question) is not None
    if not options or not _compares_dates(question) or DENIAL.search(question) or _AT_DEATH.search(question):
        return []
    if _names_role(question) and all(one.about is one.own for one in options) and _is_work(options):
        return []
    dated: list[tuple[Sentence, int] | None]
    if _LIFESPAN.search(question):
        later, dated = True, [_find_lifespan(entity.about) for entity in options]
    else:
        predicate, event = _predicate(question, entities), find_compared_event(question)
        dated = [
            find_dated(event, one.about) or _find_date(one, predicate, death=event.kind == DEATH) for one in options
        ]
    candidates = []
    for entity, date in zip(options, dated, strict=True):
        if date is None:
            return []
        candidates.append(_make_candidate(entity, float(date[1] if later else -date[1]), date[0]))
    return sorted(candidates, key=lambda candidate: -candidate.score)


def _make_candidate(entity: ComparedEntity, score: float, decisive: Sentence) -> Candidate:
    """Return an option with the sentence that decides, then the one that has its name where it is another."""
    name = strip_parentheses(entity.own[0].passage.title)
    named = [sentence for sentence in (decisive, *entity.own) if name.lower() in sentence.text.lower()]
    holder = named[0] if named else entity.own[0]
    return Candidate(name, score, (decisive,) if holder is decisive else (decisive, holder))


def _compares_dates(question: str) -> bool:
    """Whether "A or B" asks which is the earlier or the later one, or which lived longer."""
    return bool(_LATER.search(question) or EARLIER.search(question) or _LIFESPAN.search(question))


def _is_work(options: Sequence[ComparedEntity]) -> bool:
    return all(any(word.startswith("direct") or word == "film" for word in e.own[0].stem_set) for e in options)


def _find_lifespan(sentences: Sequence[Sentence]) -> tuple[Sentence, int] | None:
    """Return the first sentence that dates a birth and a death, and the years between them; None where none does."""
    for sentence in sentences:
        born, died = (find_event_year(ComparedEvent(kind, frozenset()), sentence) for kind in (BIRTH, DEATH))
        if born is not None and died is not None:
            return sentence, died - born
    return None


def _find_date(entity: ComparedEntity, predicate: set[str], *, death: bool) -> tuple[Sentence, int] | None:
    """Return the first year of the sentence about an entity with most of the predicate, or the last one of its life."""
    for sentence in entity.about if death else ():
        life = [find_years(match.group()) for match in LIFE.finditer(sentence.text)]
        if lived := next((years for years in life if len(years) > 1), None):
            return sentence, lived[-1]
        if DEATH_WORDS.search(sentence.text) and (years := find_years(sentence.text)):
            return sentence, years[-1]
    dated = [(s, years[0]) for s in entity.about if not death and (years := find_years(s.text))]
    # The title's words do not tell one sentence of a passage from another.
    return max(dated, key=lambda pair: len(predicate & {w for w, _ in pair[0].stem_positions}), default=None)
