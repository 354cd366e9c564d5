"""Normalization of answers for comparison with gold ones: case, punctuation, articles and space do not count.

Source: Rajpurkar et al., "SQuAD: 100,000+ questions for machine comprehension of text" (2016), section 6.1.
Differs from the source:
- Text is folded by Unicode NFKC and casefold, and punctuation is every Unicode punctuation mark, not only ASCII's.
- An answer of only articles or punctuation stays as written, so it does not equal an empty reply.
"""

import re
import string
import unicodedata

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_ASCII_MARKS = frozenset(string.punctuation)


def normalize_answer(text: str) -> str:
    """Fold case and Unicode forms, and drop punctuation, English articles and extra space."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(c for c in folded if c not in _ASCII_MARKS and not unicodedata.category(c).startswith("P"))
    words = _ARTICLES.sub(" ", bare)
    return " ".join((words if words.strip() else bare if bare.strip() else folded).split())
