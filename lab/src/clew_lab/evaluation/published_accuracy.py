"""Accuracy of a reply as the published code computes it, which differs by data set.

    inside        an answer stands in the reply as it is written: scene graphs
    hit           the same of both in small letters, without ASCII punctuation and articles: WebQSP
    first-choice  the first choice in the reply, written small or with a capital, is an answer: ExplaGraphs

Source: the code of He et al., "G-Retriever" (2024), on whose data Engel and Park, "Training Retrieval Augmented
Generation for Text-Graph Question Answering with LLMs" (2024), measure.
Differs from the source: where a question on a scene graph has several answers, which none has there, any counts.
"""

import re
import string
from collections.abc import Sequence

from clew_lab.datasets.graph_datasets import AccuracyRule

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def published_accuracy(reply: str, answers: Sequence[str], rule: AccuracyRule, choices: Sequence[str] = ()) -> float:
    """Return 1 for a right reply and 0 for a wrong one; `choices` are those of the rule `first-choice`."""
    match rule:
        case "inside":
            return float(any(answer in reply for answer in answers))
        case "first-choice":
            return float(_first_choice(reply, choices) in answers)
        case _:
            folded = _fold(" ".join(_lines(reply)))
            return float(any(_fold(answer) in folded for answer in answers))


def published_f1(reply: str, answers: Sequence[str]) -> float:
    """Return F1 of the found answers per line of the reply, and per answer; several in one line can make it exceed 1.

    Lines end at line breaks and at `|`; an answer is found as by the rule `hit`, anywhere in the reply. F1 is 0 where
    there are no answers.
    """
    lines = _lines(reply)
    folded = _fold(" ".join(lines))
    found = sum(_fold(answer) in folded for answer in answers)
    if not found:
        return 0.0
    precision, recall = found / len(lines), found / len(answers)
    return 2 * precision * recall / (precision + recall)


def _first_choice(reply: str, choices: Sequence[str]) -> str:
    written = {spelling: choice for choice in choices for spelling in (choice, choice.capitalize())}
    first = re.search("|".join(map(re.escape, written)), reply) if written else None
    return written[first.group()] if first else ""


def _lines(reply: str) -> list[str]:
    return reply.replace("|", "\n").split("\n")


def _fold(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())
