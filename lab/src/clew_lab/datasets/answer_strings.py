"""Whether a text holds an answer string, as open-domain question answering counts positive passages.

Text and answers are split into words (letters, digits and combining marks) and single other characters, in lower case
and in canonical decomposition; an answer is held where its tokens stand next to each other in the text.

Source: Karpukhin et al., "Dense Passage Retrieval for Open-Domain Question Answering" (2020), section 4, for passages
that hold an answer string as positives; the rule of tokens is that of the evaluation of DrQA (Chen et al., 2017).
Differs from the source: nothing.
"""

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache


def tokenize(text: str) -> list[str]:
    """Return the tokens of a text, without white space and control characters."""
    tokens: list[str] = _pattern().findall(unicodedata.normalize("NFD", text).lower())
    return tokens


def holds_answer(text: str, answers: Iterable[str]) -> bool:
    """Return whether the tokens of any answer stand in a text; an answer without tokens is in none."""
    tokens = tokenize(text)
    return any(_is_inside(tokenize(answer), tokens) for answer in answers)


def _is_inside(part: Sequence[str], whole: Sequence[str]) -> bool:
    size = len(part)
    if not size:
        return False
    return any(whole[at] == part[0] and whole[at : at + size] == part for at in range(len(whole) - size + 1))


@cache
def _pattern() -> re.Pattern[str]:
    """Return the pattern of a token; the package `re` knows no classes of characters but those of words."""
    marks, skipped = [], []
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))[0]
        if category == "M":
            marks.append(code)
        elif category in "ZC":
            skipped.append(code)
    return re.compile(rf"(?:[^\W_]|[{_ranges(marks)}])+|[^{_ranges(skipped)}]")


def _ranges(codes: Sequence[int]) -> str:
    """Return ascending codes as the inside of a class of characters."""
    parts: list[str] = []
    start = 0
    for place in range(1, len(codes) + 1):
        if place == len(codes) or codes[place] != codes[place - 1] + 1:
            parts.append(f"\\U{codes[start]:08x}-\\U{codes[place - 1]:08x}")
            start = place
    return "".join(parts)
