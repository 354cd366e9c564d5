"""Answers that a sentence states in the words of the question: "Who led X?" of "X of 1910 was led by Y".

The question has one step (`named_subject`): all its words are an entity, a verb and the noun of the answer. A sentence
states the answer where it opens with the entity, the verb of the question is said of it, and the answer follows ("X,
launched in 1892 and designed by Y"); or where the answer stands before the verb and the entity after it ("Y designed
X"). One of several agents is no answer. Where two sentences state different answers, none is taken.

Source: own rules; what may stand between entity, verb and answer is chosen on films of HotpotQA and 2Wiki training
passages (`bench/direct_statements.py`). Differs from the source: nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clew.answering.languages import ENGLISH
from clew.answering.named_subject import LIFE_VERBS, NamedSubject, final_year, find_subject
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import extract_year, find_asked_verb
from clew.answering.sentence_selection import DOUBT, Sentence
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.types import Mention

_PAST_AND_PARTICIPLE = (
    "wrote written, drew drawn, sang sung, began begun, drove driven, flew flown, rode ridden, gave given, took taken, "
    "chose chosen, grew grown, stole stolen, broke broken, wove woven"
)
_PARTICIPLES = {
    ENGLISH.stem(past): ENGLISH.stem(participle)
    for past, participle in (pair.split() for pair in _PAST_AND_PARTICIPLE.split(", "))
}
_AUXILIARY = r"(?:is|was|are|were|(?:has|have|had)\s+been)"
_PREPOSITION = r"(?:of|in|by|for|about|at|from|with|on|to|near|under|starring|featuring)"
_BRACKET = re.compile(r"\([^()]*\)|\A\s*,[^,;()]{1,60},(?=\s+(?:is|was|are|were)\b)")
# What ties the verb to the entity that opens the sentence: "X was led", "X, led", "X was built and led", "X was a ship
# built"; not "X was a book about a ship built", nor "X was a ship, and the sails were made".
_TIED = re.compile(
    rf"\A\s*(?:{_AUXILIARY}\s+)?(?:\w+\s+)?\Z"
    rf"|(?:,|\band)\s+(?:{_AUXILIARY}\s+)?(?:(?:first|originally|later|also|then|jointly|\w+ly)\s+)?\Z"
    rf"|\A[^,;:]*?\b{_AUXILIARY}\s+(?:an?|the)(?:\s+(?!{_PREPOSITION}\b)[\w'’-]+)*\s+\Z"
)
_OTHER_CLAUSE = re.compile(
    r"[;:]|\b(?:but|while|whereas|which|who|whom|whose|that|where|when|after|before)\b", re.IGNORECASE
)
_BEFORE_NAME = re.compile(rf"(?:\b(?:{_PREPOSITION}|and|or|name|named|called)|,)\s+(?:the\s+)?(?:name\s+)?\[{{0,2}}\Z")
_MODIFIES = re.compile(r"[\s-]+(?!and\b|or\b)[a-z]")  # "American" of "is an American film"
_OTHER_VERBS = r"(?:,?(?:\s+and)?\s+(?:co-)?[a-z]+(?:ed|en|wn|ung)\b){0,3}"  # "written, produced and directed by"
_WHEN_WHERE = r"(?:\s+(?:in|on|at)\s+[^,;:()]{3,30}?)?"
_BEFORE_AGENT = re.compile(
    rf"{_OTHER_VERBS}{_WHEN_WHERE}\s+by\s+(?P<agent>(?:(?:the|an?)\s+)?(?:[a-z]+(?:-[a-z]+)*\s+){{0,4}}\[{{0,2}})"
)
_BEFORE_DATE = re.compile(r"(?:\s+[a-z]+ly)?(?:\s+(?:in|by|to)\s+[^,;()]{3,40}?)?\s+(?:on|in)\s+")
_BEFORE_PLACE = re.compile(r"\s+(?:(?:on|in)\s+[^,;()]{4,20}?\s+)?(?:in|at|near)\s+(?:the\s+)?\[{0,2}")
# "by Y at" before the place: of what is built, Y is who builds it.
_AGENT_BEFORE_PLACE = re.compile(
    rf"{_OTHER_VERBS}(?:\s+(?:in|on)\s+[^,;:()]{{3,20}}?)?\s+by\s+(?:(?:the|an?)\s+)?(?:[a-z]+(?:-[a-z]+)*\s+){{0,4}}\[{{0,2}}"
)
_PLACE_IN_NAME = re.compile(r"\s(?:at|near)\s(?=[A-Z])")  # "Y at Z" is taken for one name
_NAME_END = re.compile(r"\]{0,2}(?:\([^()\s]*\))?")  # of a link; it may be empty
_BEFORE_VERB = re.compile(r"\]{0,2}(?:\([^()]*\))?(?:\s+\([^()]*\))?,?(?:\s+(?:who|first|later|also|then|had))?\s+")
_BEFORE_OBJECT = re.compile(r"\s+(?:the|an?|his|her|its|their)?\s*(?:[a-z]+(?:-[a-z]+)*\s+){0,3}\[{0,2}")
_SEVERAL = re.compile(
    r"\]{0,2}(?:\([^()]*\))?\s*(?:,\s*\[{0,2}[A-Z]|(?:,\s*)?(?:and|or|with|&)\s+(?:(?:the|his|her|their)\b|\[{0,2}[A-Z]))"
)
# "'s singer" after a name: the band's; it tells whose or what the name is that follows.
_DESCRIPTION = re.compile(r"(?:['’]s?)?((?:\s+(?!\w+(?:ing|ed)\b)[a-z]+(?:-[a-z]+)*){1,3})\s+(?=[A-Z])")
_NEXT_WORD = re.compile(r"['’]?\s+([a-z]+(?<!ing)(?<!ed))\b")
_OF_A_COMPANY = re.compile(r"\s(?:for|at|on|upon|and|&)\s")
_LONGER_NAME = re.compile(r"[\s-]+[A-Z0-9]")
_PRONOUN = re.compile(r"(?:It|She|He|They)(?=\s)")
_OBJECT_PRONOUN = re.compile(r"\s+(?:it|her|him|them)(?=\s+(?:in|from|and|for|to|on|at|by|as)\b|[.,;])")
_NOUN = re.compile(r"The\s+(?P<noun>[a-z]+)(?=\s+(?:is|was|are|were|had|has)\b|,)")
_CLASS = re.compile(rf"\b{_AUXILIARY}\s+(?:an?|the)(?P<nouns>(?:\s+(?!{_PREPOSITION}\b)[\w'’-]+)*)")
_WORD = re.compile(r"[\w'’]*")
_KINDS = ("person", "date", "place")
_YEAR_NOUN = "year"
_MAX_NAME = 12  # words
_MAX_DISTANCE = 300  # characters between the entity and the verb


@dataclass(frozen=True, slots=True)
class DirectStatement:
    """An answer, as written, and the sentence that states it."""

    text: str
    sentence: Sentence


def find_statement(analysis: QuestionAnalysis) -> DirectStatement | None:
    """Return the answer that the sentences state in the question's words; None where none or several do."""
    question_type = analysis.query.question_type
    verb = find_asked_verb(analysis.question)
    if not verb or verb in LIFE_VERBS or question_type.kind not in _KINDS:
        return None
    if question_type.kind == "date" and question_type.noun not in ("", "date", "day", _YEAR_NOUN):
        return None
    subject = find_subject(analysis)
    if subject is None or not subject.is_exact:
        return None
    nouns, year = _class_nouns(analysis, subject), final_year(analysis.question)
    found = []
    for sentence in analysis.sentences:
        if year not in sentence.text:
            continue
        for answer in _stated_answers(sentence, subject, nouns, verb, question_type.kind):
            answer = extract_year(answer) if question_type.noun == _YEAR_NOUN else answer
            text = sentence.passage.text[answer.start : answer.end]
            if not subject.is_named(name_key(text)):
                found.append(DirectStatement(text, sentence))
    return found[0] if len({_answer_key(one.text) for one in found}) == 1 else None


def _answer_key(text: str) -> str:
    return name_key(strip_parentheses(text))


def _class_nouns(analysis: QuestionAnalysis, subject: NamedSubject) -> frozenset[str]:
    """Return the words of "X is an American film" that the passages about an entity open with."""
    opened: set[str] = set()
    nouns: set[str] = set()
    for sentence in analysis.sentences:
        if sentence.passage.id in subject.passages and sentence.passage.id not in opened:
            opened.add(sentence.passage.id)
            found = _CLASS.search(sentence.text)
            nouns.update(found["nouns"].split() if found else ())
    return frozenset(nouns)


def _stated_answers(
    sentence: Sentence, subject: NamedSubject, nouns: frozenset[str], verb: str, kind: str
) -> Iterator[Mention]:
    text, forms = sentence.passage.text, {verb, _PARTICIPLES.get(verb, verb)}
    if forms.isdisjoint(sentence.stem_set) or DOUBT.search(sentence.text):
        return
    for stem, start in sentence.stem_positions:
        if stem not in forms:
            continue
        if text[start - 1 : start] == "-":
            continue  # "co-written": by one of several; "re-released": not the first time
        word = _WORD.match(text, start, sentence.end)
        end = start if word is None else word.end()
        if _has_subject(sentence, subject, nouns, start):
            yield from _after_verb(sentence, end, kind)
        elif kind == "person" and (_has_object(sentence, subject, end) or _has_pronoun(sentence, subject, start, end)):
            yield from _before_verb(sentence, start)


def _names(sentence: Sentence) -> list[Mention]:
    return [m for m in sentence.mentions if m.kind not in ("date", "number")]


def _has_subject(sentence: Sentence, subject: NamedSubject, nouns: frozenset[str], verb: int) -> bool:
    """Return whether the entity opens the sentence, and the verb is said of it."""
    opening = _end_of_subject(sentence, subject, nouns, verb)
    if opening is None or verb - opening > _MAX_DISTANCE:
        return False
    # Brackets, and what stands between commas before "is", are left out.
    between = _BRACKET.sub(lambda match: " " * len(match.group()), sentence.passage.text[opening:verb])
    if _OTHER_CLAUSE.search(between) or not _TIED.search(between):
        return False
    names = [m for m in _names(sentence) if opening <= m.start < verb and between[m.start - opening].strip()]
    return all(
        _BEFORE_NAME.search(between, 0, m.start - opening) or _MODIFIES.match(between, m.end - opening) for m in names
    )


def _end_of_subject(sentence: Sentence, subject: NamedSubject, nouns: frozenset[str], verb: int) -> int | None:
    """Return where what opens a sentence ends: the entity's name, or in its passage a pronoun or "The film"."""
    text = sentence.passage.text
    words = list(tokens(text[sentence.start : verb]))[:_MAX_NAME]
    if words and words[0].key == "the":
        words = words[1:]
    for count in range(len(words), 0, -1):
        end = sentence.start + words[count - 1].end
        if " ".join(word.key for word in words[:count]) in subject.names:
            return None if _LONGER_NAME.match(text, end) else end
    if sentence.passage.id not in subject.passages:
        return None
    if pronoun := _PRONOUN.match(text, sentence.start, verb):
        return pronoun.end()
    noun = _NOUN.match(text, sentence.start, sentence.end)
    return noun.end() if noun and noun["noun"] in nouns else None


def _is_part(subject: NamedSubject, mention: Mention) -> bool:
    return any(f" {name_key(mention.name)} " in f" {name} " for name in subject.names)


def _after_verb(sentence: Sentence, verb_end: int, kind: str) -> Iterator[Mention]:
    text = sentence.passage.text
    if kind == "place" and (agent := _agent_before_place(sentence, verb_end)) is not None:
        if joint := _PLACE_IN_NAME.search(text, agent.start, agent.end):
            place = Mention(text[joint.end() : agent.end], "name", joint.end(), agent.end)
            yield from _of_one(sentence, place, kind)
            return
        verb_end = next(_NAME_END.finditer(text, agent.end)).end()
    if kind == "date":
        before = _BEFORE_DATE.match(text, verb_end, sentence.end)
        wanted = [m for m in sentence.mentions if m.kind == "date" and m.start >= verb_end]
    else:
        pattern = _BEFORE_AGENT if kind == "person" else _BEFORE_PLACE
        before = pattern.match(text, verb_end, sentence.end)
        # "Italy" of "designed in Italy by Y" designed nothing.
        start = before.start("agent") if before and kind == "person" else verb_end
        wanted = [m for m in _names(sentence) if m.start >= start]
    if before is None or not wanted or wanted[0].start > before.end():
        return
    answer = wanted[0] if kind != "person" else _described_person(text, wanted)
    yield from _of_one(sentence, answer, kind)


def _agent_before_place(sentence: Sentence, verb_end: int) -> Mention | None:
    """Return "Y" of "by Y" right after a verb."""
    before = _AGENT_BEFORE_PLACE.match(sentence.passage.text, verb_end, sentence.end)
    return None if before is None else next((m for m in _names(sentence) if m.start == before.end()), None)


def _described_person(text: str, names: list[Mention]) -> Mention:
    """Return the name that others before it describe: "Y" of "the French singer Y", "the band's singer Y"."""
    person = names[0]
    for name in names[1:]:
        between = _DESCRIPTION.match(text, person.end)
        if between is None or between.end() != name.start or not COMMON_WORDS.isdisjoint(between[1].split()):
            break
        person = name
    return person


def _has_object(sentence: Sentence, subject: NamedSubject, verb_end: int) -> bool:
    before = _BEFORE_OBJECT.match(sentence.passage.text, verb_end, sentence.end)
    after = next((m for m in _names(sentence) if m.start >= verb_end), None)
    return before is not None and after is not None and after.start <= before.end() and _is_part(subject, after)


def _has_pronoun(sentence: Sentence, subject: NamedSubject, verb: int, verb_end: int) -> bool:
    """Return whether "her" or "it" after a verb is what the passage is about: one name alone stands before the verb."""
    if sentence.passage.id not in subject.passages or not _OBJECT_PRONOUN.match(sentence.passage.text, verb_end):
        return False
    return sum(mention.end <= verb for mention in _names(sentence)) == 1


def _before_verb(sentence: Sentence, verb: int) -> Iterator[Mention]:
    before = [m for m in _names(sentence) if m.end <= verb]
    if before and _BEFORE_VERB.fullmatch(sentence.passage.text, before[-1].end, verb):
        answer = before[-1]
        if names_one(sentence, answer) and not _OF_A_COMPANY.search(answer.name):
            yield answer


def names_one(sentence: Sentence, answer: Mention) -> bool:
    """Return whether an answer is a name or a date, and no first one of several: "by A and B", "by A, B and C"."""
    return answer.kind in ("name", "date") and not _SEVERAL.match(sentence.passage.text, answer.end, sentence.end)


def _of_one(sentence: Sentence, answer: Mention, kind: str) -> Iterator[Mention]:
    text = sentence.passage.text
    if not names_one(sentence, answer):
        return
    if kind == "person":
        after = _NEXT_WORD.match(text, answer.end, sentence.end)
        if (after and after[1] not in COMMON_WORDS) or _OF_A_COMPANY.search(answer.name):
            return  # "the Berg brothers"; "A for B Productions" is taken for one name
    yield answer
