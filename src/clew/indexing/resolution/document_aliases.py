"""Short names within one document and the full names that they stand for there.

Acronyms and names in brackets after a long form (`World Health Organization (WHO)`, `Acme Ltd (hereinafter "Acme")`),
surnames after a person's full name, and `the company` after the only company that the document names. A name that may
stand for two stays what it is, and so does that of another document: whatever decides stands in the document.

Source: Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical text" (2003),
for acronyms; the other rules are Clew's own.
Differs from the source: a short form of several words, or of one in lower case, is none, and every letter of an acronym
has to begin a word or stand inside one whose first letter was matched.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from clew.store.schema import has_aliases
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import name_key, strip_parentheses
from clew.types import Extraction, Failure, Mention, Passage

ALIASES_VERSION = "aliases-1"
REFERENCE, LONG_FORM = "reference", "long form"
"""The kinds of the mentions that are added: `the company`, and the words that an acronym stands for."""

_NAME_KINDS = ("name", "acronym")
_BRACKETED = re.compile(r"\s?\(([^()\n]{2,80})\)")
_SHORT_FORM = re.compile(r"[^\W\d_][\w.&/-]{1,9}")
_TERM = r"[“\"'‘]?(?:the\s+)?([A-Z][\w&. -]{1,40}?)[”\"'’]?"
_DEFINED = re.compile(
    rf"(?:hereinafter|hereafter|henceforth|abbreviated|short)\b[\w\s,]{{0,40}}?{_TERM}\Z"
    r"|(?:the\s+|or\s+)?[“\"](?:the\s+)?([A-Z][\w&. -]{1,40}?)[”\"]\Z"
)
_AFTER_COMMA = re.compile(rf",\s(?:hereinafter|hereafter|henceforth)[\w\s,]{{0,40}}?(?=[“\"'‘]){_TERM}(?=[.,;\s])")
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9&.-]*[A-Z0-9]\b")
_WORD = re.compile(r"\w[\w'’-]*")
_STOP = re.compile(r"[.;)]\s|\n\n")
_LONG_FORM_TEXT = re.compile(r"[\w'’\s,&-]+")
_SKIPPED_WORDS = frozenset("a an the of and for in on to at by with de la du des et der".split())  # noqa: SIM905
_MAX_LONG_FORM = 160  # characters before a bracket that are read for a long form

_PARTICLES = frozenset("de la le du des von van der den di da do dos das del della al el bin ibn ben af av zu".split())  # noqa: SIM905
_HONORIFICS = frozenset("mr mrs ms dr sir dame lord lady prof professor president king queen saint st captain".split())  # noqa: SIM905
# A name that begins with one of these is no person's, or its last word is a name of another thing.
_NOT_GIVEN = frozenset(
    "north south east west northern southern eastern western new old upper lower greater great little lake mount fort "  # noqa: SIM905
    "port san santa são radio air real royal inter team bank battle treaty university county central grand saint st "
    "hotel castle early late middle modern sister brother chez team the".split()
)
_PERSON_AFTER = re.compile(
    r"\b(?:[Hh]e|[Ss]he|[Hh]is|him|[Hh]er|hers|himself|herself)\b|[(,]\s?(?:born|née|né|b\.|c\.\s?\d|\d{1,2}\s\w+\s\d{3,4}|\d{3,4}\s?[-–])|\bborn\b"
)
# A last word that is a place's (`in London`), or one of two that is a common one: `in X`, and words in lower case.
_OTHER_USE = re.compile(r"(?<=[\s(])(?:in [^\W\d_]+|[^\W\d_]+)(?=[\s.,;:)])")
_PERSON_WINDOW = 300  # characters after a full name in which a pronoun tells that it is a person's

_COMPANY = "company"
_COMPANY_FORMS = frozenset("inc corp corporation ltd limited llc gmbh ag plc co company".split())  # noqa: SIM905
_NOUNS = frozenset(
    "company corporation firm airline university college school institute band orchestra group museum church team club "  # noqa: SIM905
    "party film movie novel book album song series city town village river lake island mountain county district "
    "province country kingdom empire ship aircraft airport railway station bridge castle hotel hospital park battle "
    "war treaty game language newspaper magazine foundation committee council agency organization organisation "
    "association society library ministry department".split()
)
_BEFORE_OF = frozenset(  # the names of which begin with them: `University of Oslo`, not `Team of the Year`
    "university college school institute museum church city county district province kingdom empire bank battle treaty "  # noqa: SIM905
    "island society association ministry department".split()
)
_COPULA = re.compile(
    r"(?:\s?\([^()\n]{0,200}\))?,?\s(?:is|was|are|were)\s(?:an?|the|one\sof\sthe)\s((?:[\w'’-]+\s?){1,9})"
)
_REFERENCE = re.compile(
    rf"\b[Tt]he ({'|'.join(sorted(_NOUNS))})(?:(?=['’]s\b)|(?=\s*[.,;:!?)])|(?=\s+(?:\w+ed|is|was|are|were|has|had|"
    r"have|will|would|can|could|may|did|does|became|began|went|left|won|lost|made|grew|came|took|gave|ran|sold|bought|built|also|and|or|in|on|at|by|to|from|with|"
    r"for|as|until|since|after|before|during|when|while|under|into)\b))"
)
_ENDS_NOUN = re.compile(
    r"(?:\w+ed|in|of|from|that|which|who|by|at|on|for|to|with|and|or|as|since|located|based|near|made|held|set)\Z"
)


class _Name(NamedTuple):
    """A name in the passages of a document."""

    text: str
    passage: int
    start: int  # -1 where its place is not known
    end: int


class _Definition(NamedTuple):
    """A short name, the full name it stands for, and where the full name stands first."""

    short: str  # key
    full: str
    passage: int
    end: int
    written: str = ""  # the short name as the passage writes it in brackets; "" where no passage says so


def extraction_fingerprint(extractor: str, settings: Mapping[str, Any]) -> str:
    """Return the fingerprint of all that extracts the documents of an index: its extractor's, and that of aliases."""
    return f"{extractor}\0{ALIASES_VERSION}" if has_aliases(settings) else extractor


def add_document_aliases(
    passages: Sequence[Passage], results: Sequence[Extraction | Failure]
) -> list[Extraction | Failure]:
    """Return the results of an extractor with the aliases of each document's passages.

    The passages of a document follow one another and are all of them. What an earlier call has added is replaced.
    """
    added: list[Extraction | Failure] = []
    first = 0
    for position, passage in enumerate(passages):
        if position + 1 == len(passages) or passages[position + 1].document_id != passage.document_id:
            added += _resolve_document(passages[first : position + 1], results[first : position + 1])
            first = position + 1
    return added


def _resolve_document(
    passages: Sequence[Passage], results: Sequence[Extraction | Failure]
) -> Iterator[Extraction | Failure]:
    own = [
        tuple(m for m in result.mentions if m.kind not in (REFERENCE, LONG_FORM))
        if isinstance(result, Extraction)
        else ()
        for result in results
    ]
    names = [name for number, mentions in enumerate(own) for name in _list_names(number, mentions)]
    title = strip_parentheses(passages[0].title).strip()
    if title:
        names.insert(0, _Name(title, 0, -1, -1))
    texts = [passage.text for passage in passages]
    written = [d for number, text in enumerate(texts) for d in _find_written(text, number, own[number])]
    short_names = _keep_single([*written, *_find_surnames(texts, names)])
    things = _keep_single(_find_things(texts, names, name_key(title)))
    acronyms = {d.written: d for d in short_names.values() if d.written.isupper()}
    long_forms: dict[int, list[Mention]] = {}
    for stated in written:
        if texts[stated.passage].endswith(stated.full, 0, stated.end):
            place = Mention(stated.full, LONG_FORM, stated.end - len(stated.full), stated.end)
            long_forms.setdefault(stated.passage, []).append(place)
    for number, (result, mentions) in enumerate(zip(results, own, strict=True)):
        if isinstance(result, Failure):
            yield result
            continue
        new = [m for m in long_forms.get(number, ()) if _is_new(m, mentions)]
        references = dict(_find_references(texts[number], number, mentions, things, acronyms))
        merged = sorted([*mentions, *new, *references], key=lambda m: m.start) if new or references else mentions
        others = {m.name for m in mentions if m.kind not in _NAME_KINDS}
        names_here = [*(m.name for m in mentions), *(end for head, _, tail in result.triples for end in (head, tail))]
        aliases = {(m.name, full) for m, full in references.items()}
        for name in names_here:
            definition = None if name in others else _meaning(name, number, short_names)
            aliases |= set() if definition is None else {(name, definition.full)}
        yield replace(result, mentions=tuple(merged), aliases=tuple(sorted(aliases)))


def _list_names(passage: int, mentions: Iterable[Mention]) -> Iterator[_Name]:
    return (_Name(m.name, passage, m.start, m.end) for m in mentions if m.kind == "name")


def _keep_single(definitions: Iterable[_Definition]) -> dict[str, _Definition]:
    """Return the first definition of each short name that all its definitions in the document agree on."""
    first: dict[str, _Definition] = {}
    keys: dict[str, set[str]] = {}
    for definition in definitions:
        first.setdefault(definition.short, definition)
        keys.setdefault(definition.short, set()).add(name_key(definition.full))
    return {short: d for short, d in first.items() if len(keys[short]) == 1 and keys[short] != {short}}


def _meaning(name: str, passage: int, short_names: dict[str, _Definition]) -> _Definition | None:
    """Return what a name of a passage stands for; where a passage defines a name, it stands for itself, too."""
    definition = short_names.get(name_key(name))
    if definition is None or passage < definition.passage or (definition.written and passage == definition.passage):
        return None
    return definition


def _find_written(text: str, passage: int, mentions: Sequence[Mention]) -> Iterator[_Definition]:
    """Yield the short names that stand in brackets after their long form, or after `hereinafter`."""
    if "(" not in text and "here" not in text:
        return
    ends = {m.end: m for m in mentions if m.kind in _NAME_KINDS and m.start >= 0}
    for match in _BRACKETED.finditer(text):
        inner, end = match[1].strip(), match.start()
        if (defined := _DEFINED.match(inner)) is not None and end in ends:
            short = defined[1] or defined[2]
            yield _Definition(name_key(short), ends[end].name, passage, end, short)
            continue
        short = re.split(r"[;,]\s", inner)[0].strip("“”\"'‘’ ")
        if _is_short_form(short) and (start := _long_form_start(text, end, short)) is not None:
            yield _Definition(name_key(short), " ".join(text[start:end].split()), passage, end, short)
    for match in _AFTER_COMMA.finditer(text):
        if match.start() in ends:
            yield _Definition(name_key(match[1]), ends[match.start()].name, passage, match.start(), match[1])


def _is_short_form(text: str) -> bool:
    return _SHORT_FORM.fullmatch(text) is not None and sum(letter.isupper() for letter in text) >= 2


def _long_form_start(text: str, end: int, short: str) -> int | None:
    """Return where the long form begins that ends at `end` and has the letters of a short form in order, else None."""
    letters = [letter for letter in short.lower() if letter.isalnum()]
    begin = max(0, end - _MAX_LONG_FORM)
    begin = max([begin, *(stop.end() for stop in _STOP.finditer(text, begin, end))])
    words = list(_WORD.finditer(text, begin, end))[-min(len(letters) + 5, 2 * len(letters)) :]
    if not words or words[-1].end() != end:
        return None
    positions = {len(letters) - 1}  # where the letters may end that the words still to be read have
    for word in reversed(words):
        lower = word.group().lower()
        matched = {place for last in positions for place in _match_word(lower, letters, last)}
        if -1 in matched:
            is_name = word.start() < words[-1].start() and _LONG_FORM_TEXT.fullmatch(text, word.start(), end)
            return word.start() if is_name else None
        positions = matched | positions if lower in _SKIPPED_WORDS else matched
    return None


def _match_word(word: str, letters: Sequence[str], last: int) -> Iterator[int]:
    """Yield the positions before the letters up to `last` that a word has in order, its own first letter first."""
    for first in range(last, -1, -1):
        if letters[first] == word[0] and _has_in_order(word, letters[first : last + 1]):
            yield first - 1


def _has_in_order(word: str, letters: Sequence[str]) -> bool:
    place = -1
    for letter in letters:
        place = word.find(letter, place + 1)
        if place < 0:
            return False
    return True


def _is_new(mention: Mention, others: Iterable[Mention]) -> bool:
    """Return whether no other mention covers a mention, or overlaps it without lying inside it."""
    near = [other for other in others if other.start < mention.end and mention.start < other.end]
    return all(
        mention.start <= other.start and other.end <= mention.end and other.end - other.start < len(mention.name)
        for other in near
    )


def _find_surnames(texts: Sequence[str], names: Sequence[_Name]) -> Iterator[_Definition]:
    """Yield the last word of each full name that a pronoun or a birth shows to be a person's."""
    singles = {key for name in names if " " not in (key := name_key(name.text))}
    found: dict[str, list[_Definition]] = {}  # by full name
    words: dict[str, Sequence[str]] = {}
    people: set[str] = set()
    for name in names:
        parts = _without_honorific(name.text.split())
        if len(parts) < 2 or (surname := name_key(parts[-1])) not in singles or not _may_be_person(parts):
            continue
        key = name_key(name.text)
        words[key] = parts
        found.setdefault(key, []).append(_Definition(surname, name.text, name.passage, name.end))
        start = max(name.end, 0)
        if _PERSON_AFTER.search(texts[name.passage], start, start + _PERSON_WINDOW):
            people.add(key)
    other_uses = {use for text in texts for use in _OTHER_USE.findall(text)} if people else set()
    for key in found:
        first, last = words[key][0], words[key][-1]
        if key in people and other_uses.isdisjoint({first.lower(), last.lower(), f"in {last}"}):
            yield from found[key]


def _without_honorific(words: Sequence[str]) -> Sequence[str]:
    return words[1:] if words and words[0].rstrip(".").lower() in _HONORIFICS else words


def _may_be_person(words: Sequence[str]) -> bool:
    first, last = words[0], words[-1]
    return (
        len(words) <= 5
        and first[0].isupper()
        and first.lower() not in _NOT_GIVEN | COMMON_WORDS
        and len(last) > 2
        and last[0].isupper()
        and last.replace("-", "").replace("'", "").isalpha()
        and name_key(last) not in _NOUNS | _COMPANY_FORMS
        and all(word in _PARTICLES or word[0].isupper() for word in words[1:-1])
        and not any(word.isupper() and len(word) > 2 for word in words)
    )


def _find_things(texts: Sequence[str], names: Sequence[_Name], title: str) -> Iterator[_Definition]:
    """Yield a noun for each name that has it as a word, or of which the text says that it is one.

    A document that has its title as a name speaks of that: the words of another name alone say nothing there.
    """
    is_subject = any(name.start >= 0 and name_key(name.text) == title for name in names)
    for name in names:
        noun = None if is_subject and name_key(name.text) != title else _noun_in_name(name_key(name.text).split())
        if noun is None and name.start >= 0 and (clause := _COPULA.match(texts[name.passage], name.end)) is not None:
            noun = _head_noun(clause[1])
        if noun is not None:
            yield _Definition(noun, name.text, name.passage, name.end)


def _noun_in_name(words: Sequence[str]) -> str | None:
    """Return the noun in a name that says what it names: `university` of `University of Oslo`."""
    if len(words) < 2:
        return None
    if "of" in words[1:]:
        before = words[words.index("of", 1) - 1]
        return before if before in _BEFORE_OF else None
    if words[-1] in _COMPANY_FORMS:
        return _COMPANY
    return words[-1] if words[-1] in _NOUNS else None


def _head_noun(clause: str) -> str | None:
    """Return the noun that the words after `is a` come to: `company` of `Norwegian shipping company based in`."""
    words = clause.lower().split()
    for position, word in enumerate(words):
        if word in _NOUNS and (position + 1 == len(words) or _ENDS_NOUN.match(words[position + 1])):
            return word
        if word in ("of", "in", "that", "which", "who", "by"):
            return None
    return None


def _find_references(
    text: str,
    passage: int,
    mentions: Sequence[Mention],
    things: Mapping[str, _Definition],
    acronyms: Mapping[str, _Definition],
) -> Iterator[tuple[Mention, str]]:
    """Yield mentions with their full names: nouns, and acronyms that the extractor took for common words (`WHO`)."""
    found = [(match, things.get(match[1])) for match in _REFERENCE.finditer(text)] if things else []
    known = [match for match in _CAPITALS.finditer(text) if match.group() in acronyms] if acronyms else []
    found += [(match, acronyms[match.group()]) for match in known]
    for match, definition in found:
        if definition is None or (definition.passage, definition.end) >= (passage, match.start()):
            continue
        if definition.written and definition.passage == passage:
            continue
        mention = Mention(match.group(), REFERENCE, match.start(), match.end())
        if not any(m.start < mention.end and mention.start < m.end for m in mentions):
            yield mention, definition.full
