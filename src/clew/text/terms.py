"""Terms of texts: folded words without English function words, ASCII ones by their English Snowball stem."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from Stemmer import Stemmer

from clew.text.normalization import is_plain, token_keys, tokens

# Function words, question words, and the letters left over after an apostrophe.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "  # noqa: SIM905
    "to was will with s t what which who whom whose when where why how did does do".split()
)


def terms_of_words(keys: Iterable[str]) -> list[str]:
    """Return the term of each folded word (see `clew.text.normalization.token_keys`), "" for a word that is none."""
    stem = Analyzer().stem
    return ["" if key in STOP_WORDS else stem(key) for key in keys]


class Analyzer:
    """Splits text into terms; each query gets its own, since a stemmer must not be shared between threads."""

    def __init__(self) -> None:
        stem_word = Stemmer("english").stemWord
        # A corpus has few distinct words; each is stemmed once.
        self.stem = lru_cache(maxsize=None)(lambda key: stem_word(key) if key.isascii() else key)

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text, in scripts without spaces those of each letter and of each two neighbours."""
        terms: list[str] = [self.stem(key) for key in token_keys(text) if key not in STOP_WORDS]
        if not is_plain(text):
            # Adjacent tokens without a gap occur only where one is a letter of a script without spaces.
            terms += [left.key + right.key for left, right in pairwise(tokens(text)) if left.end == right.start]
        return terms
