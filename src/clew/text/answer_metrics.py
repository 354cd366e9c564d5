"""Answer measures: exact match, token F1 and containment, each the maximum over the gold answers.

Source: Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension of text" (2016), section 6.1.
Differs from the source:
- Text is folded by Unicode NFKC and casefold, and punctuation is every Unicode punctuation mark, not only ASCII's.
- An answer of only articles or punctuation stays as written, so it does not equal an empty reply.
- In scripts written without spaces (Chinese, Japanese, Thai, ...) each character is a token.
- Containment, not in the source: the gold answer's tokens occur in the reply as a contiguous sequence. Hits@1 of FRAG
  and RoG is this of letters instead of whole words; letters are in `clew_lab.evaluation.published_accuracy`.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clew.errors import InputError
from clew.types import Question

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII_MARKS = frozenset(string.punctuation)
_UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def normalize_answer(text: str) -> str:
    """Fold case and Unicode forms, and drop punctuation, English articles and extra space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(c for c in folded if c not in _ASCII_MARKS and not unicodedata.category(c).startswith("P"))
    words = _ARTICLES.sub(" ", bare)
    return " ".join((words if words.strip() else bare if bare.strip() else folded).split())


def answer_tokens(text: str) -> list[str]:
    """Split a normalized text into words, and into characters in scripts written without spaces."""
    spaced = "".join(f" {c} " if _is_unspaced(c) else c for c in normalize_answer(text))
    return spaced.split()


def exact_match(reply: str, answers: Sequence[str]) -> float:
    """Return 1 if the normalized reply equals a gold answer, else 0."""
    return _best_over_answers(answers, lambda answer: float(normalize_answer(reply) == normalize_answer(answer)))


def token_f1(reply: str, answers: Sequence[str]) -> float:
    """Return the best F1, 0 to 1, of the multisets of tokens of the reply and a gold answer."""
    words = answer_tokens(reply)
    return _best_over_answers(answers, lambda answer: _f1(words, answer_tokens(answer)))


def containment(reply: str, answers: Sequence[str]) -> float:
    """Return 1 if the tokens of a gold answer are a contiguous sequence of the reply, else 0."""
    words = answer_tokens(reply)
    return _best_over_answers(answers, lambda answer: float(_contains_sequence(answer_tokens(answer), words)))


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Means of exact match, token F1 and containment over questions, 0 to 1."""

    em: float
    f1: float
    containment: float


def score_answers(questions: Sequence[Question], answers: Sequence[str]) -> AnswerScores:
    """Score replies, one per question ("" for none), against gold answers, which no question may lack."""
    if not questions or len(questions) != len(answers):
        raise InputError(
            f"{len(answers)} answers to {len(questions)} questions; give one per question, and at least one"
        )
    if without := [question.id for question in questions if not question.answers]:
        raise InputError(f"question {without[0]!r} has no gold answer; leave such questions out before scoring")
    pairs = [(reply, question.answers) for question, reply in zip(questions, answers, strict=True)]
    measures = (exact_match, token_f1, containment)
    return AnswerScores(*(sum(measure(*pair) for pair in pairs) / len(pairs) for measure in measures))


def _best_over_answers(answers: Sequence[str], measure: Callable[[str], float]) -> float:
    if not answers:
        raise InputError("there are no gold answers; give at least one")
    return max(map(measure, answers))


def _is_unspaced(character: str) -> bool:
    return character > "\u0dff" and unicodedata.name(character, "").startswith(_UNSPACED)


def _f1(reply: list[str], gold: list[str]) -> float:
    if not reply or not gold:
        return float(reply == gold)
    shared = (Counter(reply) & Counter(gold)).total()
    return 2 * shared / (len(reply) + len(gold))


def _contains_sequence(part: list[str], whole: list[str]) -> bool:
    if not part:
        return not whole
    return any(whole[start : start + len(part)] == part for start in range(len(whole) - len(part) + 1))
