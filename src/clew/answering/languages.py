"""Languages of questions: their question words, function words and stems, and which of them a question is in.

A language is detected from the words of the question alone. Words are stemmed by the Snowball algorithm of the language
(PyStemmer); languages that it lacks have question words and no stems.

Source: own lists of words (`question_words`). Differs from the source: nothing.
"""

import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from Stemmer import Stemmer

from clew.answering.question_words import TABLES, LanguageTable
from clew.text.casing import COMMON_WORDS
from clew.text.normalization import is_unspaced_letter, token_keys

_ENGLISH_QUESTION_WORDS = frozenset("who whom whose when where which what how why".split())  # noqa: SIM905 - a list
_ENGLISH_WORDS = COMMON_WORDS | frozenset("is are was were did does".split())  # noqa: SIM905 - a list
# English words that are function words of other languages too, beyond the common ones: they tell no language.
_SHARED_WORDS = frozenset("am care cat den die door era fur kit nor o par per plus pour pro sin son van".split())  # noqa: SIM905 - a list
# "director" and "directed" are of one verb, which the Snowball algorithm keeps apart.
_AGENT = re.compile(r"(?<=\w{4})(?:er|or)\Z")
_KANA = re.compile("[\u3040-\u30ff]")
_LETTERS = re.compile(r"[^\W\d_]")
_MIN_WORDS = 3
"""Fewer words without a known one may well be names."""
_STEMMING = threading.Lock()  # a stemmer must not be shared between threads


@dataclass(frozen=True, slots=True)
class QuestionLanguage:
    """A language that questions are understood in."""

    name: str  # in English, as notes write it
    # folded question word -> kind of answer, as in `QuestionType`; "explanation" for "why" and "how"
    kinds: Mapping[str, str] = field(default_factory=dict)
    function_words: frozenset[str] = frozenset()  # folded, the question words among them
    algorithm: str = ""  # of PyStemmer; "" without stems
    nouns: Mapping[str, str] = field(default_factory=dict)  # folded noun of "in which town" -> kind of answer

    @property
    def is_english(self) -> bool:
        """Whether it is the language of the rules and of the training questions."""
        return self.name == "English"

    @property
    def is_unspaced(self) -> bool:
        """Whether its words are written without spaces."""
        return any(is_unspaced_letter(word[0]) for word in self.kinds)

    @property
    def has_plain_capitals(self) -> bool:
        """Whether a capital inside a sentence marks a name; in German every noun has one."""
        return self.name != "German" and not self.is_unspaced

    def stem(self, word: str) -> str:
        """Return the stem of a folded word."""
        stemmed = _stem(self.algorithm, word) if self.algorithm else word
        return _AGENT.sub("", stemmed) if self.is_english else stemmed

    def find_kind(self, question: str) -> tuple[str, str]:
        """Return the kind of answer that the first question word asks for, and the noun of "which town"; "" without."""
        if self.is_unspaced:
            found = [(at, -len(word), kind) for word, kind in self.kinds.items() if (at := question.find(word)) >= 0]
            return (min(found)[2] if found else "", "")
        keys = token_keys(question)
        for place, key in enumerate(keys):
            # "wie viele", "hvor mange": the second word says more.
            if kind := self.kinds.get(next(iter(keys[place + 1 : place + 2]), ""), "") if key in self.kinds else "":
                return kind, ""
            if kind := self.kinds.get(key, ""):
                noun = next((k for k in keys[place + 1 : place + 4] if k in self.nouns), "")
                return (self.nouns[noun] if noun and kind == "name" else kind), noun
        return "", ""

    def blank_question_words(self, question: str) -> str:
        """Return a question with spaces for the question words of a language without spaces; others as they are."""
        if self.is_unspaced:
            for word in sorted(self.function_words, key=len, reverse=True):
                question = question.replace(word, " " * len(word))
        return question


ENGLISH = QuestionLanguage("English", function_words=_ENGLISH_WORDS | _ENGLISH_QUESTION_WORDS, algorithm="english")


@lru_cache(maxsize=1)
def other_languages() -> Mapping[str, QuestionLanguage]:
    """Return the languages other than English, by their English names."""
    return {name: _build_language(name, table) for name, table in TABLES.items()}


def detect_language(question: str) -> QuestionLanguage | None:
    """Return the language of a question, None for a sentence of a language that is not known.

    It is English without a known word, and where no language has more words of the question than English. A question
    word that English has too, such as the German "was", counts once.
    """
    keys = token_keys(question)
    if any(is_unspaced_letter(letter) for letter in question):
        return other_languages()["Japanese" if _KANA.search(question) else "Chinese"]
    english = ENGLISH.function_words | _SHARED_WORDS
    best, language = _count(keys, english, _ENGLISH_QUESTION_WORDS), ENGLISH
    for other in other_languages().values():
        count = _count(keys, other.function_words, other.kinds.keys() - english)  # "was" asks in German alone
        if count > best:
            best, language = count, other
    is_chance = best <= 1 and not language.is_english and len(keys) > _MIN_WORDS
    if is_chance or (not best and len(keys) >= _MIN_WORDS and not "".join(_LETTERS.findall(question)).isascii()):
        return None
    return language


def _count(keys: list[str], words: frozenset[str], question_words: Collection[str]) -> int:
    """Return how many words are of a language; a question word counts twice."""
    return sum(int(key in words) + int(key in question_words) for key in keys)


def _build_language(name: str, table: LanguageTable) -> QuestionLanguage:
    words = {
        "person": table.persons, "date": table.dates, "place": table.places, "number": table.numbers,
        "name": table.names, "explanation": table.reasons,
    }  # fmt: skip
    kinds = {word: kind for kind, some in words.items() for word in some.split()}
    nouns = {"place": table.place_nouns, "date": table.date_nouns}
    function_words = frozenset(table.functions.split()) | frozenset(kinds)
    by_noun = {word: kind for kind, some in nouns.items() for word in some.split()}
    return QuestionLanguage(name, kinds, function_words, table.algorithm, by_noun)


@lru_cache(maxsize=1 << 17)
def _stem(algorithm: str, word: str) -> str:
    with _STEMMING:
        stemmed: str = _stemmer(algorithm).stemWord(word)
    return stemmed


@lru_cache(maxsize=64)
def _stemmer(algorithm: str) -> Stemmer:
    return Stemmer(algorithm)
