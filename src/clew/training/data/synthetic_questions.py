"""Questions made from an index itself: walks over facts of several passages, put into words.

A walk starts at a name and takes up to four facts, each stated by a passage of its own; the question names the start,
some words of the relations, and of what lies between no more than its kind; the walk's passages are what has to be
found. Some questions join two walks, as comparisons do. So a network can learn to follow relations across passages of
any corpus without a label.

Source: none; measured in docs/benchmarks.md. Differs from the source: nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot.relational_edges import MENTIONS_RELATION
from clew.graph.snapshot.snapshot import Snapshot
from clew.text.normalization import strip_parentheses
from clew.types import Question

if TYPE_CHECKING:
    from clew.types import BoolArray, LongArray

_MAX_FACTS = 40  # of an entity: what more facts join is too common to lead anywhere
_LENGTH_ODDS = {1: 0.1, 2: 0.6, 3: 0.2, 4: 0.1}
_JOIN_PROBABILITY = 0.3
_BACKWARD_PROBABILITY = 0.2  # share of the steps that go against the passage's own subject
_REPEATED_SHARE = (
    0.12  # share of the words near a fact that a question repeats: with more, a network learns to trust words alone
)
_CONTEXT_WORDS = 6  # on either side of a fact's far end, at most
_TRIES_PER_QUESTION = 60  # walks begun for each question wanted, before a corpus counts as used up
_KIND_PATTERN = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the) ((?:[a-z][\w'-]*[ ,]*){1,5})")


@dataclass(frozen=True, slots=True)
class _WalkStep:
    """A fact as it is walked: from one entity to another, as a passage states it."""

    start: int
    end: int
    relation: str
    forward: bool
    passage: int


class PathQuestionMaker:
    """Makes questions from an index.

    Args:
        snapshot: The index.
        seed: Of every random choice.
    """

    def __init__(self, snapshot: Snapshot, seed: int = 0) -> None:
        self._snapshot = snapshot
        self._random = np.random.default_rng(seed)

    def make(self, count: int) -> list[Question]:
        """Return at most `count` questions, each with other passages than all before it.

        Raises:
            InputError: The index holds no two facts that join two passages.
        """
        found: dict[tuple[int, ...], Question] = {}
        for _ in range(count * _TRIES_PER_QUESTION):
            if len(found) == count:
                break
            steps = self._sample_walk()
            joined = (
                self._sample_walk()
                if steps and (len(steps) == 1 or self._random.random() < _JOIN_PROBABILITY)
                else None
            )
            if not steps or (len(steps) == 1 and not joined):
                continue
            if joined and self._can_join(steps, joined):
                text = f"{self._verbalize(steps)} and {self._verbalize(joined, as_question=False)}?"
                walked = [*steps, *joined]
            elif len(steps) == 1:
                continue
            else:
                text, walked = f"{self._verbalize(steps)}?", steps
            passages = tuple(dict.fromkeys(step.passage for step in walked))
            if tuple(sorted(passages)) not in found:
                gold = tuple(self._snapshot.passage_ids[p] for p in passages)
                question = Question(f"path-{len(found)}", text, (), gold, "path", len(walked))
                found[tuple(sorted(passages))] = question
        if not found:
            raise InputError(
                "no two facts of this index join two passages, so no question can be made from it: add documents that "
                "name each other's subjects"
            )
        return list(found.values())

    @cached_property
    def _entity_facts(self) -> "tuple[LongArray, LongArray]":
        """Return the triples of each entity as rows: starts (E + 1,) and positions."""
        ends = self._snapshot.triples[:, [0, 2]].astype(np.int64)
        usable = (ends[:, 0] != ends[:, 1]) & self._usable_relations[self._snapshot.triples[:, 1]]
        triples = np.flatnonzero(usable)
        entities = np.concatenate([ends[triples, 0], ends[triples, 1]])
        order = np.argsort(entities, kind="stable")
        indptr = np.zeros(len(self._snapshot.entities) + 1, dtype=np.int64)
        np.cumsum(np.bincount(entities, minlength=len(self._snapshot.entities)), out=indptr[1:])
        return indptr, np.tile(triples, 2)[order]

    @cached_property
    def _usable_relations(self) -> "BoolArray":
        """Return which relations say something: at least two words, or one of at least four letters, but `mentions`."""
        said = [r != MENTIONS_RELATION and (" " in r.strip() or len(r) >= 4) for r in self._snapshot.relations]
        return np.array(said, dtype=bool)

    @cached_property
    def _starts(self) -> "LongArray":
        """Return the entities that a walk may begin at: people ask about what has a document of its own."""
        indptr, _ = self._entity_facts
        titled = np.unique(self._snapshot.title_entities[self._snapshot.title_entities >= 0])
        starts = titled if len(titled) else np.arange(len(indptr) - 1)
        degrees = np.diff(indptr)[starts]
        return starts[(degrees > 0) & (degrees <= _MAX_FACTS)].astype(np.int64)

    def _sample_walk(self) -> list[_WalkStep]:
        """Return the steps of a walk, or none when it came to an end too early."""
        if not len(self._starts):
            return []
        wanted = int(self._random.choice(list(_LENGTH_ODDS), p=list(_LENGTH_ODDS.values())))
        entity = int(self._random.choice(self._starts))
        steps: list[_WalkStep] = []
        for _ in range(wanted):
            options = self._next_steps(entity, steps)
            own = [step for step in options if self._snapshot.title_entities[step.passage] == entity]
            if own and self._random.random() >= _BACKWARD_PROBABILITY:
                options = own
            if not options:
                break
            steps.append(options[int(self._random.integers(len(options)))])
            entity = steps[-1].end
        return steps if len(steps) >= min(wanted, 2) else []

    def _next_steps(self, entity: int, steps: Sequence[_WalkStep]) -> list[_WalkStep]:
        """Return the facts that lead on from an entity, to a new one and in a new passage."""
        indptr, positions = self._entity_facts
        row = positions[indptr[entity] : indptr[entity + 1]]
        if len(row) > _MAX_FACTS:
            return []
        met = {entity, *(step.start for step in steps)}
        used = {step.passage for step in steps}
        found: list[_WalkStep] = []
        for triple in row.tolist():
            head, relation, tail = (int(i) for i in self._snapshot.triples[triple])
            other = tail if head == entity else head
            passages = [int(p) for p in self._snapshot.triple_passages.row(triple) if int(p) not in used]
            if other not in met and passages:
                text = self._snapshot.relations[relation]
                found.append(_WalkStep(entity, other, text, head == entity, passages[0]))
        return found

    def _can_join(self, one: Sequence[_WalkStep], other: Sequence[_WalkStep]) -> bool:
        """Return whether two walks share neither passage nor start, and together are not too long."""
        passages = {step.passage for step in one} & {step.passage for step in other}
        return not passages and one[0].start != other[0].start and len(one) + len(other) <= max(_LENGTH_ODDS)

    def _verbalize(self, steps: Sequence[_WalkStep], *, as_question: bool = True) -> str:
        """Return the words of a walk: its start by name, some words of each fact, the kind of what lies between."""
        said = strip_parentheses(self._snapshot.entities[steps[0].start])
        for step in steps[:-1]:
            words = self._sample_words(step)
            said = (
                f"the {self._describe_kind(step.end)} that {said} {words}"
                if step.forward
                else f"the {self._describe_kind(step.end)} {words} {said}"
            )
        words = self._sample_words(steps[-1])
        if not as_question:
            return f"{said} {words}"
        return f"What is it that {said} {words}" if steps[-1].forward else f"What {words} {said}"

    def _sample_words(self, step: _WalkStep) -> str:
        """Return some words of the sentence that states a fact, without the two names: people do not repeat a text."""
        words = self._nearby_words(step) or step.relation.split()[-_CONTEXT_WORDS:]
        kept = [word for word in words if self._random.random() < _REPEATED_SHARE]
        return " ".join(kept or words[-1:])

    def _nearby_words(self, step: _WalkStep) -> list[str]:
        """Return the words near a fact's far end in the passage that states it; none where its name is not found."""
        text = self._snapshot.texts[step.passage]
        far = step.end if step.forward else step.start
        name = strip_parentheses(self._snapshot.entities[far])
        place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
        if place is None:
            return []
        before = re.split(r"[.!?] ", text[: place.start()])[-1].split()
        after = re.split(r"[.!?](?: |$)", text[place.end() :])[0].split()
        own = {*strip_parentheses(self._snapshot.titles[step.passage]).casefold().split(), *name.casefold().split()}
        near = [*before[-_CONTEXT_WORDS:], *after[:_CONTEXT_WORDS]]
        return [word for word in near if word.strip(",.;()").casefold() not in own]

    def _describe_kind(self, entity: int) -> str:
        """Return what an entity's own passage says it is, in a few words; "one" where it does not say."""
        for passage in self._snapshot.mentioned_in.row(entity).tolist():
            if self._snapshot.title_entities[passage] == entity:
                found = _KIND_PATTERN.search(self._snapshot.texts[passage][:400])
                if found and self._random.random() < _REPEATED_SHARE:
                    return found.group(1).strip(" ,")
        return "one"
