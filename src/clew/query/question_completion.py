"""Questions made of the question before: with another question word, another name, or another time."""

import re

from clew.query.referents import THING, noun_kind

_MAX_SHARED_WORDS = 4  # of a new name and the words around the old one
_QUESTION_START = re.compile(
    r"\A(?:who|whom|when|where|why|how|what|in\s+(?:which|what)\s+\w+|(?:which|what)\s+\w+)\s+"
    r"(?=(?P<aux>is|was|are|were|did|does|do|has|had|can|will)\b)",
    re.I,
)
_WHO_DID = re.compile(
    r"\A(?:who|which\s+\w+)\s+(?P<verb>\w+ed|built|led|wrote|made|found|bought|sold)\s+(?P<rest>[^?]+?)\??\Z"
)
_PARTICIPLES = {"wrote": "written"}
_PARTICIPLE = re.compile(r"\b(?:\w+ed|born|built|led|made|kept|found|bought|sold|written|held|lost|sunk)\b", re.I)
_YEAR = re.compile(r"\b(?:in|after|before|since|until)\s+\d{3,4}\b", re.I)
_PHRASE = re.compile(
    r"(?P<preposition>in|on|at|after|before|during|since|until|by|for|from|to|with)\s+(?P<object>.+)", re.I
)


def ask_otherwise(question: str, word: str) -> str:
    """Return a question with `when` or `where`: `When was Fram designed?` for `Who designed Fram?`; "" for none."""
    if did := _WHO_DID.match(question[:1].lower() + question[1:]):
        return f"{word.capitalize()} was {did['rest']} {_PARTICIPLES.get(did['verb'], did['verb'])}?"
    start = _QUESTION_START.match(question)
    if start is None or question.lower().startswith(("who", word)):
        return ""
    rest = question[start.end() :]
    is_whole = start["aux"].lower() in ("did", "does", "do") or _PARTICIPLE.search(rest)
    return f"{word.capitalize()} {rest}" if is_whole else ""


def ask_of_phrase(question: str, phrase: str) -> str:
    """Return a question about another time or place: `in 1912` for `in 1911`, or at the end; "" for none."""
    match = _PHRASE.fullmatch(phrase)
    if match is None:
        return ""
    same = re.search(rf"\b{match['preposition']}\s+(?:\d{{3,4}}|[A-Z][\w’'-]*(?:\s+[A-Z][\w’'-]*)*)", question)
    if same is not None:
        return f"{question[: same.start()]}{phrase}{question[same.end() :]}"
    if not _YEAR.fullmatch(phrase):
        return ""
    return f"{_YEAR.sub('', question).rstrip(' ?')} {phrase}?"


def replace_name(question: str, name: str, other: str) -> str:
    """Return a question with another name, without words around it that would stand twice: the article, its noun."""
    found = re.search(re.escape(name), question, re.I)
    if found is None:
        return question
    before, after = question[: found.start()], question[found.end() :]
    words = [re.escape(word) for word in other.split()]
    is_noun_shared = False
    for count in range(min(len(words) - 1, _MAX_SHARED_WORDS), 0, -1):
        opening = r"\s+".join(words[:count])
        if shared := re.search(rf"(?<!\w){opening}\s+\Z", before, re.I):
            before = before[: shared.start()]
            break
    for count in range(min(len(words) - 1, _MAX_SHARED_WORDS), 0, -1):
        ending = r"\s+".join(words[-count:])
        if shared := re.match(rf"\s+{ending}(?!\w)", after, re.I):
            after, is_noun_shared = after[shared.end() :], True
            break
    next_word = re.match(r"\s+([a-z]+)", after)
    has_noun = is_noun_shared or (next_word is not None and noun_kind(next_word[1]) == THING)
    if not (has_noun or re.match(r"(?:the|an?)\s", other, re.I)):
        before = re.sub(r"\bthe\s+\Z", "", before, flags=re.I)  # not `the Roald Amundsen` for `the Fram`
    return f"{before}{other}{after}"
