"""Masked questions: a question without the names of its entities, and its words that may name relations.

The name of an entity says nothing on the relations that are asked for, and may hold any words, so names are removed
before a question is compared with relations or its hops are predicted.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from clew.text.normalization import token_keys

PLACEHOLDER = "it"
# Words that name no relation; matching skips them.
_FUNCTION_WORDS = (
    "what which who whom whose when where why how is are was were be been the a an of s in on for to by with that did "
    "do does has have had it and name or as at from there this these those their his her its me tell also"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_MAX_WORDS = 400  # longer texts are not one question


@dataclass(frozen=True, slots=True)
class MaskedQuestion:
    """The folded words of a question around the names of its entities."""

    before: tuple[str, ...]  # words before the first name
    after: tuple[str, ...]  # words after the first name, with `PLACEHOLDER` for each further name

    @property
    def text(self) -> str:
        """The question with a placeholder in place of each name."""
        return " ".join([*self.before, PLACEHOLDER, *self.after])

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in order."""
        return (*self.before, *self.after)


def mask_names(question: str, names: Iterable[tuple[int, int]]) -> MaskedQuestion:
    """Mask names of a question, given as start and end.

    A name that overlaps an earlier one is ignored, and of two with the same start the shorter.
    """
    pieces: list[str] = []
    end_of_last = 0
    for start, end in sorted(names, key=lambda name: (name[0], -name[1])):
        if start >= end_of_last:
            pieces.append(question[end_of_last:start])
            end_of_last = end
    pieces.append(question[end_of_last:])
    words = [token_keys(piece) for piece in pieces]
    if len(words) == 1:
        return MaskedQuestion(tuple(words[0][:_MAX_WORDS]), ())
    after = list(words[1])
    for piece in words[2:]:
        after += [PLACEHOLDER, *piece]
    return MaskedQuestion(tuple(words[0][:_MAX_WORDS]), tuple(after[:_MAX_WORDS]))


@dataclass(frozen=True, slots=True)
class RelationWords:
    """The words of a question that may name a relation, those nearest to the entity first."""

    phrases: tuple[tuple[str, ...], ...]  # for each word the phrases that contain it, the word itself first
    reverse_order: tuple[int, ...]  # positions of the words in the other order of reading


def find_relation_words(question: MaskedQuestion) -> RelationWords:
    """Return the words of a question that may name a relation, with the phrases of up to three words around each.

    English has two orders: `the birthplace of X 's father` is read from the name to the right, then from the name to
    the left; `the films that share actors with X were released when` to the left first.
    """
    before, after = _phrases_by_word(question.before), _phrases_by_word(question.after)
    phrases = after + before[::-1]
    reverse_order = [*range(len(after), len(phrases)), *range(len(after))]
    return RelationWords(tuple(phrases), tuple(reverse_order))


def _phrases_by_word(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    phrases_by_word: list[tuple[str, ...]] = []
    for position, word in enumerate(words):
        if word in FUNCTION_WORDS or word == PLACEHOLDER:
            continue
        phrases = [word]
        for start in range(max(0, position - 2), position + 1):
            phrases += [
                " ".join(words[start : start + length])
                for length in (2, 3)
                if position < start + length <= len(words) and _is_phrase(words[start : start + length])
            ]
        phrases_by_word.append(tuple(dict.fromkeys(phrases)))
    return phrases_by_word


def _is_phrase(words: tuple[str, ...]) -> bool:
    """Return whether words form a phrase: two content words, alone or joined by `of`."""
    has_content_ends = words[0] not in FUNCTION_WORDS and words[-1] not in FUNCTION_WORDS
    return has_content_ends and PLACEHOLDER not in words and (len(words) == 2 or words[1] == "of")
