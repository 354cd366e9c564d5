"""Questions whose name is exchanged for another of the same shape, so that the old answer would be wrong.

The name is the longest title of a passage that the question has, once and with a capital. It gives way to the title of
another passage with as many words, whose opening calls it the same ("is an American film") where there is one, and
which has none of the old answers. Which one is taken follows from the question alone. Comparisons are left out, and
answers that are part of the question.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from clew.index import Index
from clew.text.answer_metrics import normalize_answer
from clew.text.normalization import name_key, strip_parentheses, tokens
from clew.types import Answer, Question

_CLASS = re.compile(
    r"\b(?:is|was|are|were)\s+(?:an?|the)\s+(?P<nouns>[^.,;()]*?)(?=\s+(?:of|in|by|for|from|at|who|that|which|on|to|with|and)\b|[.,;()])"
)
_LIFE = re.compile(r"\A[^()\n]{3,80}\((?:born\s|[^()\n]*\d{4}\s?[–—-])")
_CLOSED = {"yes", "no", "noanswer"}


@dataclass(frozen=True, slots=True)
class Entity:
    """A title, without its brackets, and the texts of its passages."""

    title: str
    texts: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, str]:
        """The number of words, and what the first passage opens with: "person", "film", "" where it does not say."""
        opening = self.texts[0].removeprefix(f"# {self.title}").strip()[:300]
        found = _CLASS.search(opening)
        nouns = found["nouns"].split() if found else []
        return len(self.title.split()), "person" if _LIFE.match(opening) else (nouns or [""])[-1].lower()

    def states(self, text: str) -> bool:
        """Return whether a passage has a text, word for word."""
        return any(_has(passage, text) for passage in self.texts)


@dataclass(frozen=True, slots=True)
class ExchangedQuestion:
    """A question with another name; the answers of its question are those of the old name."""

    question: Question
    entity: Entity

    def is_wrong(self, answer: Answer) -> bool:
        """Return whether an assertion is the old answer, or not stated by a passage of the new name."""
        return self.is_old(answer) or not self.entity.states(answer.text)

    def is_old(self, answer: Answer) -> bool:
        """Return whether an assertion is an answer of the old name."""
        return normalize_answer(answer.text) in {normalize_answer(one) for one in self.question.answers}

    def is_one_step_on(self, answer: Answer) -> bool:
        """Return whether the first quoted passage is one that the new name's passage names: it may be right there."""
        title = name_key(strip_parentheses(answer.citations[0].title))
        return not self.is_old(answer) and bool(title) and any(_has(text, title) for text in self.entity.texts)


def exchange_names(index: Index, questions: Sequence[Question]) -> Iterator[ExchangedQuestion]:
    """Yield the questions that have a name to exchange."""
    entities = list_entities(index)
    by_shape: dict[tuple[int, str], list[str]] = defaultdict(list)
    for key, entity in sorted(entities.items()):
        for shape in {entity.shape, (entity.shape[0], "")}:
            by_shape[shape].append(key)
    for question in questions:
        found = _find_name(question.text, entities)
        if found is None or any(_has(question.text, answer) for answer in question.answers):
            continue
        if _CLOSED & {normalize_answer(answer) for answer in question.answers}:
            continue
        start, end, key = found
        new = _choose(question, entities, by_shape, key)
        if new is not None:
            text = question.text[:start] + new.title + question.text[end:]
            yield ExchangedQuestion(replace(question, text=text), new)


def list_entities(index: Index) -> Mapping[str, Entity]:
    """Return the entities that are titles of passages, by key; titles that are told apart by brackets are left out."""
    texts: dict[str, list[str]] = defaultdict(list)
    titles: dict[str, set[str]] = defaultdict(set)
    for document in index.documents:
        key = name_key(strip_parentheses(document.title))
        texts[key] += [passage.text for passage in document.passages]
        titles[key].add(document.title)
    return {
        key: Entity(strip_parentheses(min(titles[key])).strip(), tuple(some))
        for key, some in texts.items()
        if key and some and len(titles[key]) == 1
    }


def _find_name(question: str, entities: Mapping[str, Entity]) -> tuple[int, int, str] | None:
    words = tokens(question)
    for length in range(min(8, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            start, end = words[first].start, words[first + length - 1].end
            key = " ".join(word.key for word in words[first : first + length])
            is_name = question[start].isupper() and (first > 0 or length > 1)
            if is_name and key in entities and f" {' '.join(w.key for w in words)} ".count(f" {key} ") == 1:
                return start, end, key
    return None


def _choose(
    question: Question,
    entities: Mapping[str, Entity],
    by_shape: Mapping[tuple[int, str], Sequence[str]],
    old: str,
) -> Entity | None:
    words, noun = entities[old].shape
    for shape in ((words, noun), (words, "")):
        some = by_shape.get(shape, ())
        at = int.from_bytes(blake2b(question.id.encode(), digest_size=4).digest()) % max(1, len(some))
        for key in (*some[at:], *some[:at]):
            entity = entities[key]
            is_new = key != old and not _has(question.text, entity.title)
            if is_new and not any(entity.states(answer) for answer in question.answers):
                return entity
    return None


def _has(text: str, part: str) -> bool:
    return f" {name_key(part)} " in f" {name_key(text)} "
