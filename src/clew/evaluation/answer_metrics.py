"""Measures of an answer against the gold answers: exact match, token F1, containment; the best over the gold answers.

Source: Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension of text" (2016), section 6.1.
Differs from the source:
- Text is folded by Unicode NFKC and casefold, and punctuation is every Unicode punctuation mark, not only ASCII's.
- An answer that is nothing but articles or punctuation is kept as written, so it does not equal an empty reply.
- In scripts written without spaces (Chinese, Japanese, Thai, ...) each character is a token.
- Containment, which is not of the source: the gold answer's tokens stand in the reply, side by side.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from clew.errors import InputError
from clew.types import Question

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII_MARKS = frozenset(string.punctuation)
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def normalize_answer(text: str) -> str:
    """Return `text` folded, without punctuation, English articles and superfluous space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(c for c in folded if c not in _ASCII_MARKS and not unicodedata.category(c).startswith("P"))
    kept = _ARTICLES.sub(" ", bare)
    return " ".join((kept if kept.strip() else bare if bare.strip() else folded).split())


def answer_tokens(text: str) -> list[str]:
    """Return the words of `text` after normalisation; a character is a word in scripts written without spaces."""
    spaced = "".join(f" {c} " if _is_unspaced(c) else c for c in normalize_answer(text))
    return spaced.split()


def exact_match(reply: str, answers: Sequence[str]) -> float:
    """Return 1 when the reply equals one of the gold answers after normalisation, else 0."""
    return _best_over_answers(answers, lambda answer: float(normalize_answer(reply) == normalize_answer(answer)))


def token_f1(reply: str, answers: Sequence[str]) -> float:
    """Return the best F1, 0 to 1, of the reply's tokens against one gold answer's, repeats counted."""
    mine = answer_tokens(reply)
    return _best_over_answers(answers, lambda answer: _f1(mine, answer_tokens(answer)))


def containment(reply: str, answers: Sequence[str]) -> float:
    """Return 1 when the tokens of one gold answer stand side by side in the reply, else 0."""
    mine = answer_tokens(reply)
    return _best_over_answers(answers, lambda answer: float(_contains_sequence(answer_tokens(answer), mine)))


def score_answers(questions: Sequence[Question], answers: Sequence[str]) -> dict[str, float]:
    """Return the means of exact match, F1 and containment, 0 to 1, as "em", "f1" and "containment".

    Args:
        questions: At least one, each with gold answers.
        answers: One reply a question, in the same order; "" for none.

    Raises:
        InputError: The two differ in number, there is no question, or one has no gold answer.
    """
    if not questions or len(questions) != len(answers):
        raise InputError(f"{len(answers)} answers to {len(questions)} questions; give one a question, and at least one")
    pairs = [(reply, question.answers) for question, reply in zip(questions, answers, strict=True)]
    for question in questions:
        if not question.answers:
            raise InputError(f"question {question.id!r} has no gold answer; leave such questions out before scoring")
    named = {"em": exact_match, "f1": token_f1, "containment": containment}
    return {name: sum(measure(*pair) for pair in pairs) / len(pairs) for name, measure in named.items()}


def _best_over_answers(answers: Sequence[str], measure: Callable[[str], float]) -> float:
    if not answers:
        raise InputError("there are no gold answers; give at least one")
    return max(map(measure, answers))


def _is_unspaced(character: str) -> bool:
    return character > "\u0dff" and unicodedata.name(character, "").startswith(_UNSPACED)


def _f1(mine: list[str], theirs: list[str]) -> float:
    if not mine or not theirs:
        return float(mine == theirs)
    shared = (Counter(mine) & Counter(theirs)).total()
    return 2 * shared / (len(mine) + len(theirs))


def _contains_sequence(part: list[str], whole: list[str]) -> bool:
    if not part:
        return not whole
    return any(whole[start : start + len(part)] == part for start in range(len(whole) - len(part) + 1))
