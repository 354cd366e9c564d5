"""A question without the names of what it is about: the words that ask, in the order in which they are read.

Which entity a question is about says nothing on how it is asked, and its name may hold any words, so the names are
taken out before a question is compared with relations or its hops are counted.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from clew.text.normalization import token_keys

PLACEHOLDER = "it"
# Words that ask or join and name no relation; matching looks past them.
_FUNCTION_WORDS = (
    "what which who whom whose when where why how is are was were be been the a an of s in on for to by with that did "
    "do does has have had it and name or as at from there this these those their his her its me tell also"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_MAX_WORDS = 400  # words; beyond that nobody asks one question


@dataclass(frozen=True, slots=True)
class MaskedQuestion:
    """The folded words of a question around what it is about.

    Attributes:
        before: Words before the first name.
        after: Words after it, with `PLACEHOLDER` for each further name.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def text(self) -> str:
        """The question with a placeholder where the name stood."""
        return " ".join([*self.before, PLACEHOLDER, *self.after])

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return (*self.before, *self.after)


def mask_names(question: str, names: Iterable[tuple[int, int]]) -> MaskedQuestion:
    """Return a question without names.

    Args:
        question: Any string.
        names: Where each begins and ends in it; those that overlap an earlier one are left out, and of two that
            begin together the shorter.
    """
    pieces: list[str] = []
    place = 0
    for start, end in sorted(names, key=lambda name: (name[0], -name[1])):
        if start >= place:
            pieces.append(question[place:start])
            place = end
    pieces.append(question[place:])
    words = [token_keys(piece) for piece in pieces]
    if len(words) == 1:
        return MaskedQuestion(tuple(words[0][:_MAX_WORDS]), ())
    after = list(words[1])
    for piece in words[2:]:
        after += [PLACEHOLDER, *piece]
    return MaskedQuestion(tuple(words[0][:_MAX_WORDS]), tuple(after[:_MAX_WORDS]))


@dataclass(frozen=True, slots=True)
class RelationWords:
    """The words of a question that may name a relation, nearest to what it is about first.

    Attributes:
        phrases: For each word the phrases that hold it, the word itself first.
        reverse_order: The positions of the words in the other order of reading.
    """

    phrases: tuple[tuple[str, ...], ...]
    reverse_order: tuple[int, ...]


def find_relation_words(question: MaskedQuestion) -> RelationWords:
    """Return the asking words of a question, with the phrases of up to three words around each.

    English asks in two orders: `the birthplace of X 's father` goes from the name to the right, then from it to the
    left; `the films that share actors with X were released when` to the left first.
    """
    before, after = _phrases_by_word(question.before), _phrases_by_word(question.after)
    together = after + before[::-1]
    swapped = [*range(len(after), len(together)), *range(len(after))]
    return RelationWords(tuple(together), tuple(swapped))


def _phrases_by_word(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for place, word in enumerate(words):
        if word in FUNCTION_WORDS or word == PLACEHOLDER:
            continue
        around = [word]
        for start in range(max(0, place - 2), place + 1):
            around += [
                " ".join(words[start : start + length])
                for length in (2, 3)
                if place < start + length <= len(words) and _is_phrase(words[start : start + length])
            ]
        found.append(tuple(dict.fromkeys(around)))
    return found


def _is_phrase(words: tuple[str, ...]) -> bool:
    """Whether words belong together: two that ask, or two joined by `of`."""
    ends = words[0] not in FUNCTION_WORDS and words[-1] not in FUNCTION_WORDS
    return ends and PLACEHOLDER not in words and (len(words) == 2 or words[1] == "of")
