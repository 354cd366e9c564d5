"""Training questions made from chains of two sentences of an index: what a chain says, without the name that joins it.

A name joins sentences of two passages. The question has three in ten of the other words of both, first those of the
second sentence, and in two cases of five the title of the first passage; it never has the name, nor the title of the
second passage. Both passages are its gold. So a network learns, without labels, how far to trust the chains of a
corpus.

Source: none; measured in docs/benchmarks.md. Differs from the source: nothing.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import final

import numpy as np

from clew.arrays import LongArray
from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.text.normalization import strip_parentheses, token_keys, tokens
from clew.types import Question

_REPEATED_SHARE = 0.3  # of a sentence's words
_TITLED_SHARE = 0.4  # of the questions name the first passage
_LEAST_WORDS = 4  # of a sentence without the names
_TRIES_PER_QUESTION = 30


@final
class ChainQuestionMaker:
    """Generates questions from an index."""

    def __init__(self, snapshot: Snapshot, seed: int = 0) -> None:
        self._snapshot = snapshot
        self._sentences = snapshot.sentences
        self._random = np.random.default_rng(seed)

    def make(self, count: int) -> list[Question]:
        """Return at most `count` questions, each of two other passages.

        Raises InputError if no name joins sentences of two passages.
        """
        questions: dict[tuple[int, int], Question] = {}
        for _ in range(count * _TRIES_PER_QUESTION if len(self._bridges) else 0):
            if len(questions) == count:
                break
            entity = int(self._random.choice(self._bridges))
            row = self._sentences.entity_sentences.row(entity)
            first, second = self._random.choice(row, 2, replace=False).tolist()
            passages = self._passage(first), self._passage(second)
            pair = min(passages), max(passages)
            if pair[0] < pair[1] and pair not in questions and (text := self._verbalize(entity, first, second)):
                gold = tuple(self._snapshot.passage_ids[passage] for passage in passages)
                questions[pair] = Question(f"chain-{len(questions)}", text, (), gold, "chain", 2)
        if not questions:
            raise InputError(
                "no name joins sentences of two passages of this index, so no question can be made from it: add "
                "documents that name the same things"
            )
        return list(questions.values())

    @cached_property
    def _bridges(self) -> LongArray:
        """The entities that several sentences name."""
        return np.flatnonzero(np.diff(self._sentences.entity_sentences.indptr) > 1)

    def _passage(self, sentence: int) -> int:
        return int(np.searchsorted(self._sentences.offsets, sentence, "right")) - 1

    def _verbalize(self, entity: int, first: int, second: int) -> str:
        """Return a question; "" where a sentence has too few words of its own."""
        name = strip_parentheses(self._snapshot.entities[entity])
        titles = [strip_parentheses(self._snapshot.titles[self._passage(sentence)]) for sentence in (first, second)]
        before = self._words(first, [name, titles[0]])
        after = self._words(second, [name, titles[1]])
        if min(len(before), len(after)) < _LEAST_WORDS:
            return ""
        has_name = len(_words_without(titles[0], [name])) < len(tokens(titles[0]))
        is_titled = not has_name and self._random.random() < _TITLED_SHARE
        start = titles[0] if is_titled else ""
        return " ".join(f"What {self._sample(after)} {self._sample(before)} {start}".split()) + "?"

    def _words(self, sentence: int, names: list[str]) -> list[str]:
        """Return the words of a sentence without some names."""
        start, end = self._sentences.spans[np.array([sentence])][0].tolist()
        text = self._snapshot.texts[self._passage(sentence)][start:end]
        return _words_without(text, names)

    def _sample(self, words: list[str]) -> str:
        chosen = [word for word in words if self._random.random() < _REPEATED_SHARE]
        return " ".join(chosen or words[:2])


def _words_without(text: str, names: Sequence[str]) -> list[str]:
    """Return the words of a text without those of some names, in any spelling that folds to the same."""
    words = tokens(text)
    for keys in (token_keys(name) for name in names):
        position = 0
        while keys and position < len(words):
            if [word.key for word in words[position : position + len(keys)]] == keys:
                del words[position : position + len(keys)]
            else:
                position += 1
    return [text[word.start : word.end] for word in words]
