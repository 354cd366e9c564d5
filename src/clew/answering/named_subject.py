"""Names of a question: the subject of one of one step with its life, links to the sentence of an answer, absent names.

"When was X born?", "Who led X?": all words of such a question are X, its verb, and the noun of its answer. What is
said of another entity does not answer it, however well the words fit. "When was the captain of X born?" is none of
these: its answer stands in the passage of another entity.

Source: own rules, none of them fitted to data. Differs from the source: nothing.

Links from the names of a question to the sentence of an answer, over at most one more passage.

A sentence is linked to a name that it has, or that its passage's title has, or where another sentence with that name,
or of a passage with it as its title, names the answer's passage: "X was directed by Y", then "Y (1900-1970) ...". So is
one that names the title of a passage which has the name. For "the director of X" the sentence that joins the two has
to speak of directing, else it may be any other person of X.

Source: own rules, chosen on training questions of 2Wiki and HotpotQA whose names were exchanged for others. Differs
from the source: nothing.

Names of a question that the passages lack.

Source: own rules. Differs from the source: nothing.

Ages at death, from the dates in the brackets after a name: "How old was X when he died?".

Source: own rules. Differs from the source: nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from clew.answering.answer_spans import SpanCandidate
from clew.answering.languages import ENGLISH, QuestionLanguage
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.question_types import extract_year, find_asked_verb, find_content_stems
from clew.answering.sentence_selection import QuestionTerms, Sentence
from clew.answering.span_features import FEATURES
from clew.answering.span_ranker import RankedSpan
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import Token, name_key, strip_parentheses, token_keys, tokens
from clew.types import Evidence, Mention

LIFE_VERBS = tuple(map(ENGLISH.stem, ("born", "die")))
_LIFE_WORDS = frozenset(map(ENGLISH.stem, ("born", "birth", "birthday", "die", "death", "date", "year", "day")))
_ASKING_WORDS = frozenset("who whom when where which what how is was are were did does do has had have".split())  # noqa: SIM905 - a list
_OPENING = re.compile(r"(?P<name>[^\W\d_][^()\[\]\n,;:]{0,80}?)\s\((?P<life>[^()\n]{4,120})\)")
_PARTICLE = re.compile("of|the|d[aeiou]|d[eo]s|dell?a?|l[ae]|[ae]l|bin|ibn|v[ao]n|de[rn]|zu|a[fv]|y|e")
_LIFE_TERMS = frozenset(["born", "died", "in", "at", "near"])
_RANGE = re.compile(r"[–—-]|\bdied\b")
_BORN, _DIED = re.compile(r"\bborn\s*\Z"), re.compile(r"(?:\bdied|\A\s*[–—-])\s*\Z")
_STILL_ALIVE = re.compile(r"\s*[–—-]\s*\Z")
_BRACKET = re.compile(r"\([^()\n]*\)")
_ASKED_YEAR = re.compile(r"\s+in\s+(?P<year>[12][0-9]{3})\s*\?*\s*\Z")
# When something is asked of, which is no part of its name.
_TIME = re.compile(rf"\b(?:today|nowadays|currently|still|now)\b|{_ASKED_YEAR.pattern}")
_EVENT_FIT, _LIFE_FIT = FEATURES.index("event fit"), FEATURES.index("life fit")


@dataclass(frozen=True, slots=True)
class NamedSubject:
    """The entity that a question of one step names, and the passages about it."""

    key: str  # of the name as the question has it
    names: frozenset[str]  # that key, and those of the titles
    passages: frozenset[str]  # identifiers
    asks_life: bool  # whether the question is for a birth or a death
    documents: frozenset[str]  # identifiers, of those passages
    is_exact: bool  # whether a passage is called what the question says, not "Roald Amundsen" for "Amundsen"

    def is_named(self, key: str) -> bool:
        """Return whether a name's key is one of the entity, or a longer or shorter form of one."""
        return any(f" {name} " in f" {key} " or f" {key} " in f" {name} " for name in self.names)


@dataclass(frozen=True, slots=True)
class LifeDate:
    """A date of birth or death, as written, and the sentence that gives it."""

    text: str
    sentence: Sentence


def find_subject(analysis: QuestionAnalysis) -> NamedSubject | None:
    """Return what an English question of one step asks about; None where its words are no name and no passage's title.

    A name that is the title of no passage, or is a part of several, is a subject without passages.
    """
    asked = _asked_text(analysis) if analysis.query.language.is_english else ""
    key = name_key(asked)
    if not key:
        return None
    forms: dict[str, set[str]] = {}
    titles: dict[str, set[str]] = {}
    for sentence in analysis.sentences:
        if sentence.title_key:
            title = name_key(sentence.passage.title)
            opening = _opening_name(sentence)
            forms.setdefault(title, set()).update({title, sentence.title_key, *([opening] if opening else [])})
            titles.setdefault(title, set()).add(sentence.passage.id)
    exact = [title for title, names in forms.items() if key in names]
    longer = [title for title, names in forms.items() if any(f" {key} " in f" {name} " for name in names)]
    about = exact or longer
    asks_life = find_asked_verb(analysis.question) in LIFE_VERBS
    if not about or (not exact and len(longer) > 1):
        if not (name := name_key(_name_in(asked))):
            return None
        return NamedSubject(key, frozenset({key, name}), frozenset(), asks_life, frozenset(), is_exact=False)
    passages = frozenset(one for title in about for one in titles[title])
    documents = frozenset(s.passage.document_id for s in analysis.sentences if s.passage.id in passages)
    names = frozenset({key, *(name for title in about for name in forms[title])})
    return NamedSubject(key, names, passages, asks_life, documents, is_exact=bool(exact))


def find_life_date(analysis: QuestionAnalysis) -> LifeDate | None:
    """Return the date in the brackets right after a name, for a question of its birth or death; None where unclear.

    "X (1883-1965)", "X (3 May 1883 - 1 June 1965)", "X (born 1950)"; not "X (c. 1883)", "X (reigned 1883-1901)".
    """
    question_type, verb = analysis.query.question_type, find_asked_verb(analysis.question)
    if question_type.kind != "date" or question_type.noun not in ("", "year", "date", "day"):
        return None
    subject = find_subject(analysis)
    if subject is None or not subject.asks_life:
        return None
    found = []
    for sentence in analysis.sentences:
        if sentence.passage.id in subject.passages:
            date = read_life(sentence, is_birth=verb == LIFE_VERBS[0])
            if date is not None:
                date = extract_year(date) if question_type.noun == "year" else date
                found.append(LifeDate(sentence.passage.text[date.start : date.end], sentence))
    return found[0] if len({name_key(one.text) for one in found}) == 1 else None


def find_openings(analysis: QuestionAnalysis) -> list[Sentence]:
    """Return the first sentence of each passage about what a question names."""
    subject = find_subject(analysis)
    first: dict[str, Sentence] = {}
    for sentence in analysis.sentences:
        if subject is not None and sentence.passage.id in subject.passages and not sentence.is_bare_title:
            first.setdefault(sentence.passage.id, sentence)
    return list(first.values())


def prefer_subject(ranked: Sequence[RankedSpan], analysis: QuestionAnalysis) -> tuple[list[RankedSpan], bool]:
    """Return spans with those about what the question names first, and whether the best one may be asserted.

    Without such an entity nothing changes. A span beside a rival entity is never asserted, nor one where two documents
    have the entity's name as their title; where there are no others, none is returned for a birth or a death of an
    entity that has a passage.
    """
    subject = find_subject(analysis)
    if subject is None:
        return list(ranked), True
    about = [_speaks_of(subject, one) for one in ranked]
    if subject.asks_life and subject.passages and not any(about):
        return [], False
    ordered = sorted(range(len(ranked)), key=lambda i: not about[i])
    return [ranked[i] for i in ordered], any(about) and len(subject.documents) <= 1


def _asked_text(analysis: QuestionAnalysis) -> str:
    """Return the text between the first and the last word that is no word of the question's form.

    A common word inside the question is one of the name where it has a capital: "Shining Through", "My Kingdom".
    """
    question = _TIME.sub(lambda match: " " * len(match.group()), analysis.question)
    content = analysis.query.language.blank_question_words(question)
    verb, noun = find_asked_verb(question), ENGLISH.stem(analysis.query.question_type.noun)
    form = {verb} | (_LIFE_WORDS if verb in LIFE_VERBS else frozenset())
    words = tokens(question)
    places = [at for word, at in find_content_stems(content) if word not in form and word != noun]
    if places:
        inner = [word for word in words[1:] if word.key not in _ASKING_WORDS and ENGLISH.stem(word.key) not in form]
        places = sorted({*places, *(word.start for word in inner if question[word.start].isupper())})
    ends = {word.start: word.end for word in words}
    return question[places[0] : ends.get(places[-1], places[-1])] if places else ""


def final_year(question: str) -> str:
    """Return the year that ends a question: "1901" of "Who bought X in 1901?"; "" without one."""
    match = _ASKED_YEAR.search(question)
    return match["year"] if match else ""


def _name_in(text: str) -> str:
    """Return the name that a text is, with at most one noun beside it: "ship Fram", "Fram expedition"; else ""."""
    words = text.replace('"', "").split()
    inner = words[1:] if words[0].islower() else words[:-1] if words[-1].islower() else words
    if not inner or any(word[0].islower() for word in (inner[0], inner[-1])):
        return ""  # "captain of the Fram" is no name, and "42" is a number
    is_name = all(word[0].isupper() or word[0].isdigit() or word in COMMON_WORDS for word in inner)
    return " ".join(inner) if is_name and any(word[0].isupper() for word in inner) else ""


def _opening_name(sentence: Sentence) -> str:
    """Return the key of the name before the bracket that a sentence opens with, where it is its passage's title."""
    match = _OPENING.match(sentence.passage.text, sentence.start, sentence.end)
    if match is None:
        return ""
    key, title = name_key(match["name"]), name_key(strip_parentheses(sentence.passage.title))
    is_name = all(word[:1].isupper() or _PARTICLE.fullmatch(word) for word in match["name"].split())
    return key if is_name and (f" {title} " in f" {key} " or f" {key} " in f" {title} ") else ""


def read_life(sentence: Sentence, *, is_birth: bool) -> Mention | None:
    """Return the date of birth or death in the bracket after the title that opens a sentence; None where unclear."""
    text = sentence.passage.text
    if not _opening_name(sentence):
        return None
    match = _OPENING.match(text, sentence.start, sentence.end)
    if match is None:
        return None
    start, end = match.span("life")
    dates = [m for m in sentence.mentions if m.kind == "date" and start <= m.start < m.end <= end]
    rest = " ".join(_texts_between(text, start, end, dates))
    if "?" in rest or any(word.islower() and word not in _LIFE_TERMS for word in re.findall(r"[^\W\d_]+", rest)):
        return None
    if len(dates) == 2 and _RANGE.search(text, dates[0].end, dates[1].start):
        return dates[0] if is_birth else dates[1]
    if len(dates) != 1:
        return None
    before, after = text[start : dates[0].start], text[dates[0].end : end]
    if _DIED.search(before):
        return None if is_birth else dates[0]
    is_known = _BORN.search(before) or (not before.strip() and _STILL_ALIVE.match(after))
    return dates[0] if is_birth and is_known else None


def _texts_between(text: str, start: int, end: int, dates: Sequence[Mention]) -> Iterator[str]:
    for found in dates:
        yield text[start : found.start]
        start = found.end
    yield text[start:end]


def _speaks_of(subject: NamedSubject, ranked: RankedSpan) -> bool:
    """Return whether a span stands in a passage or a sentence about an entity, and not beside a rival's name."""
    candidate = ranked.candidate
    sentence, span = candidate.sentence, candidate.span
    words = f" {' '.join(word.key for word in tokens(sentence.text))} "
    if sentence.passage.id not in subject.passages and not any(f" {name} " in words for name in subject.names):
        return False
    if not subject.asks_life:
        return True
    names = [m for m in sentence.mentions if m.kind == "name"]
    text = sentence.passage.text
    opens = next((m for m in names if not text[sentence.start : m.start].strip("[ ")), None)
    if opens is not None and len(opens.name.split()) > 1 and not subject.is_named(name_key(opens.name)):
        return False
    for bracket in _BRACKET.finditer(text, sentence.start, sentence.end):
        if bracket.start() < span.start < bracket.end():
            before = next((m for m in reversed(names) if m.end <= bracket.start()), None)
            return before is None or subject.is_named(name_key(before.name))
    return bool(ranked.features[_EVENT_FIT] > 0 or ranked.features[_LIFE_FIT] > 0)


_ROLE = re.compile(
    r"\b(?P<role>director|composer|performer|singer|author|writer|producer|founder|editor|creator|designer|owner|captain"
    r"|leader|publisher|architect|builder)s?\s+of\b",
    re.IGNORECASE,
)
_STEMS = {
    "director": ("direct",), "composer": ("compos", "music", "score"), "producer": ("produc",),
    "performer": ("perform", "sing", "sung", "record", "song", "singl", "album", "artist"),
    "singer": ("perform", "sing", "sung", "record", "song", "singl", "album"),
    "author": ("writ", "wrote", "author", "novel", "book", "poem", "play"),
    "writer": ("writ", "wrote", "author", "novel", "book", "screenplay"),
    "founder": ("found", "establish", "creat", "start"), "editor": ("edit",),
    "creator": ("creat", "develop", "design"), "designer": ("design",), "owner": ("own", "bought", "belong"),
    "captain": ("captain", "command", "skipper", "led"), "leader": ("lead", "led", "head"),
    "publisher": ("publish",), "architect": ("architect", "design", "built", "plan"), "builder": ("build", "built"),
}  # fmt: skip
"""Beginnings of the words that tie a role to its work."""
_MAX_GAP = 25  # characters between the role and the name: "director of the 1950 silent film X"


def find_links(
    question: str, query: QuestionTerms, answer: SpanCandidate, sentences: Sequence[Sentence]
) -> list[Sentence] | None:
    """Return the sentences that join the names of a question to the sentence of an answer; None where a name has none.

    A name that the answer's own sentence or title has needs no other sentence.
    """
    links: list[Sentence] = []
    for name in query.names:
        stems = _role_stems(question, name)
        if _has_name(answer.sentence, name) and _uses_stem(answer.sentence, stems):
            continue
        named = (one for one in sentences if _has_name(one, name) and _uses_stem(one, stems))
        link = next((one for one in named if _joins(one, answer)), None)
        if link is None:
            return None
        links += [link] if link not in links else []
    return links


def _role_stems(question: str, name: str) -> Sequence[str]:
    """Return the beginnings of the words of a role that a question asks for of a name; () without one."""
    at = question.find(name)
    roles = [role for role in _ROLE.finditer(question) if 0 <= at - role.end() <= _MAX_GAP]
    return _STEMS[roles[-1]["role"].lower()] if roles else ()


def _uses_stem(sentence: Sentence, stems: Sequence[str]) -> bool:
    return not stems or any(word.startswith(stem) for word in token_keys(sentence.text) for stem in stems)


def _has_name(sentence: Sentence, name: str) -> bool:
    return f" {name_key(name)} " in f" {' '.join(token_keys(f'{sentence.passage.title} {sentence.text}'))} "


def _joins(link: Sentence, answer: SpanCandidate) -> bool:
    """Return whether two sentences are of one passage, or one names the other's title, or the first one the answer."""
    if link.passage.id == answer.sentence.passage.id:
        return True
    words, own = (f" {' '.join(token_keys(one.text))} " for one in (link, answer.sentence))
    title, other = (name_key(strip_parentheses(s.passage.title)) for s in (answer.sentence, link))
    is_name = answer.span.kind not in ("date", "number", "year", "day", "phrase")
    named = [title, *([name_key(answer.text)] if is_name else [])]
    return any(one and f" {one} " in words for one in named) or bool(other and f" {other} " in own)


MISSING_PREFIX = "no passage mentions"
HasWords = Callable[[Sequence[str]], Sequence[bool]]
"""Returns for folded words whether a passage that may be seen has them, or words of their stem."""
# Elsewhere a name has endings of cases, or other letters than in the passages: a form of it may well be there.
_NAMES_WITHOUT_CASES = frozenset(
    ["English", "German", "French", "Spanish", "Italian", "Portuguese", "Catalan", "Dutch", "Swedish", "Norwegian"]
) | frozenset(["Danish", "Indonesian"])


def missing_names(query: QuestionTerms, evidence: Evidence, has_words: HasWords | None = None) -> list[str]:
    """Return the runs of a name's words that no passage of the evidence has, in any form; abbreviations aside.

    With `has_words` also no other passage has them. The capital of a question's first word marks no name. In languages
    other than English a name is missing as a whole, since a part of it may be a word of the language; where nouns have
    capitals, as in German, it has two words at least; where names have endings, or no capitals, none is returned.
    """
    language = query.language
    if not query.names or language.name not in _NAMES_WITHOUT_CASES:
        return []
    present = {token.key for scored in evidence.passages for token in tokens(f"{scored.item.title} {scored.item.text}")}
    present |= COMMON_WORDS | set(map(language.stem, present))

    def lacks(word: Token) -> bool:
        if {word.key, language.stem(word.key)} & present:
            return False
        return has_words is None or not has_words([word.key])[0]

    runs = [run for name in query.names for run in _name_runs(name, query)]
    if language.is_english:
        runs = [(name, list(some)) for name, run in runs for missing, some in groupby(run, key=lacks) if missing]
    else:
        runs = [(name, run) for name, run in runs if all(map(lacks, run))]
    texts = [name[run[0].start : run[-1].end] for name, run in runs]
    return [text for text in texts if len(text) > 2 or not text.isascii()]


def missing_name_notes(names: Sequence[str]) -> list[str]:
    """Return a note for each missing name."""
    return [f"{MISSING_PREFIX} {name!r}" for name in names]


def _name_runs(name: str, query: QuestionTerms) -> Iterator[tuple[str, list[Token]]]:
    """Yield a name with its runs of words that are no function words of the question's language."""
    words, language = tokens(name), query.language
    if query.text_key.startswith(f" {' '.join(word.key for word in words)} "):
        words = words[1:] if len(words) == 1 or not language.is_english else words
    functions: frozenset[str] = frozenset() if language.is_english else language.function_words
    for is_function, run in groupby(words, key=lambda word: word.key in functions):
        some = list(run)
        if not is_function and len(some) >= _least_words(language):
            yield name, some


def _least_words(language: QuestionLanguage) -> int:
    return 1 if language.has_plain_capitals else 2


COMPUTED_AGE_NOTE = "the answer is computed from the dates in the brackets after the name, in the first quoted sentence"
_ASKS_AGE = re.compile(
    r"\bhow old (?:was|were)\b.*\bwhen (?:he|she|they) died\W*\Z|\bat (?:what|which) age did\b.*\bdie\W*\Z",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = re.compile(r"[^\W\d_]+")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")  # any, since it is known to be of a date
_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")


def find_age(analysis: QuestionAnalysis) -> LifeDate | None:
    """Return the age at death that a question asks for, and the sentence with both dates; None where it is unclear.

    It is one number where both dates have a day, else the two that the years leave open: "47 or 48".
    """
    if not _ASKS_AGE.search(analysis.question) or (subject := find_subject(analysis)) is None:
        return None
    found: dict[str, LifeDate] = {}
    for sentence in analysis.sentences:
        if sentence.passage.id in subject.passages:
            birth, death = (read_life(sentence, is_birth=is_birth) for is_birth in (True, False))
            text = describe_age(birth, death) if birth and death else ""
            if text:
                found.setdefault(text, LifeDate(text, sentence))
    return next(iter(found.values())) if len(found) == 1 else None


def describe_age(birth: Mention, death: Mention) -> str:
    """Return the age, in whole years, between two dates as they are written; "" where the second is the earlier one."""
    years = [_YEAR.search(mention.name) for mention in (birth, death)]
    if years[0] is None or years[1] is None:
        return ""
    born, died = int(years[0].group()), int(years[1].group())
    days = [_read_day(mention.name, year) for mention, year in zip((birth, death), (born, died), strict=True)]
    if days[0] is not None and days[1] is not None:
        age = died - born - ((days[1].month, days[1].day) < (days[0].month, days[0].day))
        return str(age) if age >= 0 else ""
    return f"{died - born - 1} or {died - born}" if died > born else ""


def _read_day(text: str, year: int) -> date | None:
    month = next((_MONTHS.index(m.group()[:3].lower()) + 1 for m in _MONTH.finditer(text) if _is_month(m)), 0)
    day = _DAY.search(text)
    if not month or day is None:
        return None
    try:
        return date(year, month, int(day.group()))
    except ValueError:  # the 31st of June
        return None


def _is_month(match: "re.Match[str]") -> bool:
    return match.group()[:3].lower() in _MONTHS
