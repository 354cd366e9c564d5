"""Names of a question that the passages lack.

Source: own rules. Differs from the source: nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from clew.answering.languages import QuestionLanguage
from clew.answering.sentence_selection import QuestionTerms
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import Token, tokens
from clew.types import Evidence

MISSING_PREFIX = "no passage mentions"
HasWords = Callable[[Sequence[str]], Sequence[bool]]
"""Returns for folded words whether a passage that may be seen has them, or words of their stem."""
# Elsewhere a name has endings of cases, or other letters than in the passages: a form of it may well be there.
_NAMES_WITHOUT_CASES = frozenset(
    ["English", "German", "French", "Spanish", "Italian", "Portuguese", "Catalan", "Dutch", "Swedish", "Norwegian"]
) | frozenset(["Danish", "Indonesian"])


def missing_names(query: QuestionTerms, evidence: Evidence, has_words: HasWords | None = None) -> list[str]:
    """Return the runs of a name's words that no passage of the evidence has, in any form; abbreviations aside.

    With `has_words` also no other passage has them. The capital of a question's first word marks no name. In languages
    other than English a name is missing as a whole, since a part of it may be a word of the language; where nouns have
    capitals, as in German, it has two words at least; where names have endings, or no capitals, none is returned.
    """
    language = query.language
    if not query.names or language.name not in _NAMES_WITHOUT_CASES:
        return []
    present = {token.key for scored in evidence.passages for token in tokens(f"{scored.item.title} {scored.item.text}")}
    present |= COMMON_WORDS | set(map(language.stem, present))

    def lacks(word: Token) -> bool:
        if {word.key, language.stem(word.key)} & present:
            return False
        return has_words is None or not has_words([word.key])[0]

    runs = [run for name in query.names for run in _name_runs(name, query)]
    if language.is_english:
        runs = [(name, list(some)) for name, run in runs for missing, some in groupby(run, key=lacks) if missing]
    else:
        runs = [(name, run) for name, run in runs if all(map(lacks, run))]
    texts = [name[run[0].start : run[-1].end] for name, run in runs]
    return [text for text in texts if len(text) > 2 or not text.isascii()]


def missing_name_notes(names: Sequence[str]) -> list[str]:
    """Return a note for each missing name."""
    return [f"{MISSING_PREFIX} {name!r}" for name in names]


def _name_runs(name: str, query: QuestionTerms) -> Iterator[tuple[str, list[Token]]]:
    """Yield a name with its runs of words that are no function words of the question's language."""
    words, language = tokens(name), query.language
    if query.text_key.startswith(f" {' '.join(word.key for word in words)} "):
        words = words[1:] if len(words) == 1 or not language.is_english else words
    functions: frozenset[str] = frozenset() if language.is_english else language.function_words
    for is_function, run in groupby(words, key=lambda word: word.key in functions):
        some = list(run)
        if not is_function and len(some) >= _least_words(language):
            yield name, some


def _least_words(language: QuestionLanguage) -> int:
    return 1 if language.has_plain_capitals else 2
