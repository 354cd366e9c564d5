"""Training questions generated from an index: random walks over facts of several passages, put into words.

A walk starts at an entity and follows up to four facts, each stated by a different passage. The question names the
start, some words of the relations, and at most the kinds of the entities in between; the passages of the walk are its
gold. Some questions join two walks, as comparisons do. A network can thus learn to follow relations across passages of
any corpus without labels.

Source: none; measured in docs/benchmarks.md. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clew.arrays import LongArray
from clew.errors import InputError
from clew.graph.snapshot.relational_edges import MENTIONS_RELATION
from clew.graph.snapshot.snapshot import Snapshot
from clew.text.normalization import strip_parentheses
from clew.types import Question

_MAX_FACTS = 40  # per entity; entities with more facts are too common to lead anywhere
_LENGTH_ODDS = {1: 0.1, 2: 0.6, 3: 0.2, 4: 0.1}
_JOIN_PROBABILITY = 0.3
_BACKWARD_PROBABILITY = 0.2  # of a step from the object of a passage's fact to the passage's own subject
# Share of the words near a fact that a question repeats. With more, a network learns to rely on words alone.
_REPEATED_SHARE = 0.12
_CONTEXT_WORDS = 6  # on either side of a fact's far end, at most
_TRIES_PER_QUESTION = 60  # walks sampled per wanted question before the corpus counts as exhausted
_KIND_PATTERN = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the) ((?:[a-z][\w'-]*[ ,]*){1,5})")


@dataclass(frozen=True, slots=True)
class _WalkStep:
    """A fact traversed from one entity to another, as stated by a passage."""

    start: int
    end: int
    relation: str
    forward: bool
    passage: int


class PathQuestionMaker:
    """Generates questions from an index."""

    def __init__(self, snapshot: Snapshot, seed: int = 0) -> None:
        self._snapshot = snapshot
        self._random = np.random.default_rng(seed)

    def make(self, count: int) -> list[Question]:
        """Return at most `count` questions, each with a different set of passages.

        Raises InputError if the index has no two facts that connect two passages.
        """
        questions: dict[tuple[int, ...], Question] = {}
        for _ in range(count * _TRIES_PER_QUESTION):
            if len(questions) == count:
                break
            steps = self._sample_walk()
            if not steps:
                continue
            second: list[_WalkStep] = []
            if len(steps) == 1 or self._random.random() < _JOIN_PROBABILITY:
                second = self._sample_walk()
            disjoint = {step.passage for step in steps}.isdisjoint(step.passage for step in second)
            short = len(steps) + len(second) <= max(_LENGTH_ODDS)
            if second and disjoint and short and steps[0].start != second[0].start:
                text = f"{self._verbalize(steps)} and {self._verbalize(second, as_question=False)}?"
                steps = [*steps, *second]
            elif len(steps) == 1:
                continue
            else:
                text = f"{self._verbalize(steps)}?"
            passages = tuple(dict.fromkeys(step.passage for step in steps))
            if tuple(sorted(passages)) not in questions:
                gold = tuple(self._snapshot.passage_ids[p] for p in passages)
                question = Question(f"path-{len(questions)}", text, (), gold, "path", len(steps))
                questions[tuple(sorted(passages))] = question
        if not questions:
            raise InputError(
                "no two facts of this index connect two passages, so no question can be made from it: add documents "
                "that name each other's subjects"
            )
        return list(questions.values())

    @cached_property
    def _entity_facts(self) -> tuple[LongArray, LongArray]:
        """Triples of each entity as compressed rows: offsets (E + 1,) and triple positions."""
        ends = self._snapshot.triples[:, [0, 2]].astype(np.int64)
        # Informative relations have two or more words, or one of four or more letters, but are not `mentions`.
        relations = self._snapshot.relations
        informative = [r != MENTIONS_RELATION and (" " in r.strip() or len(r) >= 4) for r in relations]
        usable = (ends[:, 0] != ends[:, 1]) & np.array(informative, dtype=bool)[self._snapshot.triples[:, 1]]
        triples = np.flatnonzero(usable)
        entities = np.concatenate([ends[triples, 0], ends[triples, 1]])
        order = np.argsort(entities, kind="stable")
        indptr = np.zeros(len(self._snapshot.entities) + 1, dtype=np.int64)
        np.cumsum(np.bincount(entities, minlength=len(self._snapshot.entities)), out=indptr[1:])
        return indptr, np.tile(triples, 2)[order]

    @cached_property
    def _starts(self) -> LongArray:
        """Entities at which a walk may start: those with a document of their own, since people ask about them."""
        indptr, _ = self._entity_facts
        titled = np.unique(self._snapshot.title_entities[self._snapshot.title_entities >= 0])
        starts = titled if len(titled) else np.arange(len(indptr) - 1)
        degrees = np.diff(indptr)[starts]
        return starts[(degrees > 0) & (degrees <= _MAX_FACTS)].astype(np.int64)

    def _sample_walk(self) -> list[_WalkStep]:
        """Return the steps of a walk; none if it ended too early."""
        if not len(self._starts):
            return []
        length = int(self._random.choice(list(_LENGTH_ODDS), p=list(_LENGTH_ODDS.values())))
        entity = int(self._random.choice(self._starts))
        steps: list[_WalkStep] = []
        for _ in range(length):
            options = self._next_steps(entity, steps)
            own = [step for step in options if self._snapshot.title_entities[step.passage] == entity]
            if own and self._random.random() >= _BACKWARD_PROBABILITY:
                options = own
            if not options:
                break
            steps.append(options[int(self._random.integers(len(options)))])
            entity = steps[-1].end
        return steps if len(steps) >= min(length, 2) else []

    def _next_steps(self, entity: int, steps: Sequence[_WalkStep]) -> list[_WalkStep]:
        """Return the facts that lead from an entity to a new entity, in a new passage."""
        indptr, positions = self._entity_facts
        row = positions[indptr[entity] : indptr[entity + 1]]
        if len(row) > _MAX_FACTS:
            return []
        visited = {entity, *(step.start for step in steps)}
        used = {step.passage for step in steps}
        options: list[_WalkStep] = []
        for triple in row.tolist():
            head, relation, tail = (int(i) for i in self._snapshot.triples[triple])
            other = tail if head == entity else head
            passages = [int(p) for p in self._snapshot.triple_passages.row(triple) if int(p) not in used]
            if other not in visited and passages:
                text = self._snapshot.relations[relation]
                options.append(_WalkStep(entity, other, text, head == entity, passages[0]))
        return options

    def _verbalize(self, steps: Sequence[_WalkStep], *, as_question: bool = True) -> str:
        """Put a walk into words: the name of its start, some words of each fact, the kinds of entities in between."""
        phrase = strip_parentheses(self._snapshot.entities[steps[0].start])
        for step in steps[:-1]:
            words = self._sample_words(step)
            kind = self._describe_kind(step.end)
            phrase = f"the {kind} that {phrase} {words}" if step.forward else f"the {kind} {words} {phrase}"
        words = self._sample_words(steps[-1])
        if not as_question:
            return f"{phrase} {words}"
        return f"What is it that {phrase} {words}" if steps[-1].forward else f"What {words} {phrase}"

    def _sample_words(self, step: _WalkStep) -> str:
        """Return some words of the sentence that states a fact, without its two names: users rarely repeat a text."""
        words = self._nearby_words(step) or step.relation.split()[-_CONTEXT_WORDS:]
        sampled = [word for word in words if self._random.random() < _REPEATED_SHARE]
        return " ".join(sampled or words[-1:])

    def _nearby_words(self, step: _WalkStep) -> list[str]:
        """Return the words around a fact's far end in the passage that states it; none if its name is not there."""
        text = self._snapshot.texts[step.passage]
        far = step.end if step.forward else step.start
        name = strip_parentheses(self._snapshot.entities[far])
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
        if match is None:
            return []
        before = re.split(r"[.!?] ", text[: match.start()])[-1].split()
        after = re.split(r"[.!?](?: |$)", text[match.end() :])[0].split()
        names = {*strip_parentheses(self._snapshot.titles[step.passage]).casefold().split(), *name.casefold().split()}
        nearby = [*before[-_CONTEXT_WORDS:], *after[:_CONTEXT_WORDS]]
        return [word for word in nearby if word.strip(",.;()").casefold() not in names]

    def _describe_kind(self, entity: int) -> str:
        """Return a few words for what an entity is, from its own passage; "one" if there are none."""
        for passage in self._snapshot.mentioned_in.row(entity).tolist():
            if self._snapshot.title_entities[passage] == entity:
                match = _KIND_PATTERN.search(self._snapshot.texts[passage][:400])
                if match and self._random.random() < _REPEATED_SHARE:
                    return match.group(1).strip(" ,")
        return "one"


HELD_OUT_SHARE = 0.2


def split_holdout(questions: Sequence[Question], seed: int) -> tuple[list[Question], list[Question]]:
    """Return the questions to learn from and those held out, drawn by the seed; InputError for fewer than five."""
    if len(questions) < 5:
        raise InputError(f"questions, made or given: {len(questions)}; at least 5 are needed")
    order = np.random.default_rng(seed).permutation(len(questions)).tolist()
    cut = max(1, round(HELD_OUT_SHARE * len(questions)))
    return [questions[i] for i in order[cut:]], [questions[i] for i in order[:cut]]
