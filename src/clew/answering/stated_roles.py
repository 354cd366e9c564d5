"""Answers that a sentence states of a role: "Who was the mate of X?" of "The mate of X was Y", "Y was the mate of X".

The sentence has the role and the entity in the question's words, and says of both together who or what it is, in the
question's tense. Where two sentences state different answers, none is taken.

Source: own rules, none of them fitted to data. Differs from the source: nothing.
"""

import re

from clew.answering.direct_statements import DirectStatement, names_one
from clew.answering.question_analysis import QuestionAnalysis
from clew.answering.sentence_selection import DOUBT, Sentence
from clew.text.normalization import name_key, strip_parentheses
from clew.types import Mention

_ASKED = re.compile(
    r"\s*(?:who|what|which)\s+(?P<verb>is|was)\s+the\s+(?P<role>[a-z][a-z -]{2,40}?)\s+of\s+(?:the\s+)?"
    r"(?P<name>[^?]{2,80}?)\s*\?*\s*",
    re.IGNORECASE,
)
_LINK_END = r"\]{0,2}(?:\([^()\n]*\))?"
_CLAUSE_END = r"(?=\s*(?:[.,;]|\Z|\b(?:from|until|in|when)\b))"
_KINDS = ("person", "place", "name")


def find_stated_role(analysis: QuestionAnalysis) -> DirectStatement | None:
    """Return who or what the sentences say that the role of a question is; None where none or several do."""
    asked = _ASKED.fullmatch(analysis.question) if analysis.query.language.is_english else None
    if asked is None or asked["role"] != asked["role"].lower() or analysis.query.question_type.kind not in _KINDS:
        return None
    before, after = _patterns(asked["role"], asked["name"], asked["verb"])
    found = []
    for sentence in analysis.sentences:
        answer = None if DOUBT.search(sentence.text) else _find_holder(sentence, before, after)
        if answer is not None and names_one(sentence, answer):
            found.append(DirectStatement(sentence.passage.text[answer.start : answer.end], sentence))
    return found[0] if len({name_key(strip_parentheses(one.text)) for one in found}) == 1 else None


def _patterns(role: str, name: str, verb: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return what stands before the answer, from the sentence's begin: "The role of X was", and what after it."""
    role, name = (re.escape(words).replace(r"\ ", r"\s+") for words in (role, name))
    of_name = rf"{role}\s+of\s+(?:the\s+)?\[{{0,2}}{name}\b{_LINK_END}"
    phrase = rf"(?:the\s+)?(?:{of_name}|{name}{_LINK_END}['’]s\s+{role}\b)"
    before = re.compile(rf"\s*{phrase}\s+{verb}\s+(?:the\s+)?\[{{0,2}}", re.IGNORECASE)
    return before, re.compile(rf"{_LINK_END}\s+{verb}\s+{phrase}{_CLAUSE_END}", re.IGNORECASE)


def _find_holder(sentence: Sentence, before: re.Pattern[str], after: re.Pattern[str]) -> Mention | None:
    """Return the name after "The role of X was", or the one that opens the sentence before "was the role of X"."""
    text = sentence.passage.text
    names = [mention for mention in sentence.mentions if mention.kind == "name"]
    if (match := before.match(text, sentence.start, sentence.end)) is not None:
        return next((mention for mention in names if mention.start == match.end()), None)
    opening = next((m for m in names if m.start - sentence.start <= len("The [[")), None)
    return opening if opening is not None and after.match(text, opening.end, sentence.end) else None
