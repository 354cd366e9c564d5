"""Links from the names of a question to the sentence of an answer, over at most one more passage.

A sentence is linked to a name that it has, or that its passage's title has, or where another sentence with that name,
or of a passage with it as its title, names the answer's passage: "X was directed by Y", then "Y (1900-1970) ...". So is
one that names the title of a passage which has the name. For "the director of X" the sentence that joins the two has
to speak of directing, else it may be any other person of X.

Source: own rules, chosen on training questions of 2Wiki and HotpotQA whose names were exchanged for others. Differs
from the source: nothing.
"""

import re
from collections.abc import Sequence

from clew.answering.answer_spans import SpanCandidate
from clew.answering.sentence_selection import QuestionTerms, Sentence
from clew.text.normalization import name_key, strip_parentheses, token_keys

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
        if _has_name(answer.sentence, name) and _speaks_of(answer.sentence, stems):
            continue
        named = (one for one in sentences if _has_name(one, name) and _speaks_of(one, stems))
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


def _speaks_of(sentence: Sentence, stems: Sequence[str]) -> bool:
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
