"""Entity linkers: the seam between the names of a question and the entities of an index.

`QuestionLinker` links exact names (and names that an unknown one is misspelt or short for); `NearestNameLinker` links
names to the entity whose name is nearest by the encoder, all of them or those that the other leaves, by one vector a
name or by late interaction of their tokens; the names may come from a language model.

Source: Luo et al., "GFM-RAG: Graph Foundation Model for Retrieval Augmented Generation" (2025), section 3.2.1: each
named entity of the question is linked to its nearest entity. Differs from the source: the names are found by rules
unless a language model is given; vectors of any encoder in place of those of ColBERTv2; a floor, unless it is -1; exact
names are kept where that is asked for.
"""

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, final

import numpy as np

from clew.arrays import BoolArray, FloatArray
from clew.errors import ProviderError
from clew.graph.snapshot.snapshot import Snapshot
from clew.models.llm.prompts.question_names import QuestionNames, build_prompt
from clew.models.validation import replace_surrogates
from clew.plugins.tracing import trace_calls
from clew.protocols import LanguageModel
from clew.query.linking import (
    MAX_CHARACTERS,
    LinkedName,
    LinkedQuestion,
    TopicEntities,
    describe_similar_name,
    join_names,
    name_spans,
)
from clew.query.visible_names import NameTable, VisibleNames
from clew.text.normalization import name_key
from clew.types import Failure

LinkerMethod = Literal["exact", "embedding", "exact+embedding", "maxsim", "exact+maxsim"]
NAMES_BY_RULES = "rules"
_MAX_NAMES = 64  # of a question that are compared, which bounds the time of a hostile one


class EntityLinker(Protocol):
    """Question in, its names with their entities out; the same question always gives the same names."""

    def link(self, question: str) -> LinkedQuestion:
        """Return a question with its names, in order, without overlaps; entities are positions in the snapshot."""

    def find_topics(self, question: str, names: Sequence[str] = ()) -> TopicEntities:
        """Return the entities that a question on a graph is about; given names take the place of those in it."""

    def restrict(self, table: NameTable, allowed: BoolArray) -> "EntityLinker":
        """Return a linker that knows the names of a table, and the words of allowed passages (P,), alone."""


@dataclass(frozen=True, slots=True)
class LinkerSettings:
    """Settings of finding and linking the names of questions."""

    method: LinkerMethod = "exact"
    floor: float = 0.8  # least cosine of a name and its entity, by embedding; by maxsim the mean over the name's tokens
    names: str = NAMES_BY_RULES  # "rules", or the language model that lists the names of a question
    is_chosen: bool = field(default=False, compare=False)  # whether a user set the method, be it the default

    @property
    def keeps_exact(self) -> bool:
        """Whether names that the index has are linked to them."""
        return self.method.startswith("exact")

    @property
    def late(self) -> bool:
        """Whether names are compared token by token."""
        return self.method.endswith("maxsim")


@final
class ModelNames:
    """Lists the names of questions by a language model; each question is asked once."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, question: str) -> tuple[str, ...]:
        """Return the names of a question as the model writes them.

        Raises ProviderError where the model gives no usable reply.
        """
        if question not in self._known:
            result = self._model.complete([build_prompt(question)])[0]
            if isinstance(result, Failure):
                raise ProviderError(
                    f"{self._model.name} listed no names of the question {question[:60]!r} ({result.reason}): try "
                    "again, or set question_names = rules"
                )
            assert isinstance(result.value, QuestionNames)
            self._known[question] = tuple(dict.fromkeys(n.strip() for n in result.value.named_entities if n.strip()))
        return self._known[question]


@final
class NearestNameLinker:
    """Links names to the entity whose name scores highest, where that is at least `floor`.

    `inner` finds the names and links exact ones; with `keep_exact` its links stand, and only the other names are
    compared. Without it, `inner` must not replace names: those that are written are compared. `score_names`
    returns the scores (E, n) of the index's entities for n names, at most 1; None for exact names alone. `measure`
    names these scores in notes. `list_names` gives the names of a question; None for those that rules find.
    """

    def __init__(
        self,
        inner: EntityLinker,
        snapshot: Snapshot,
        score_names: Callable[[Sequence[str]], FloatArray] | None,
        floor: float,
        *,
        keep_exact: bool,
        measure: str = "cosine",
        list_names: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        self._inner = inner
        self._table: NameTable = snapshot
        self._score_names = score_names
        self._measure = measure
        self._floor = floor
        self._keep_exact = keep_exact
        self._list_names = list_names

    def restrict(self, table: NameTable, allowed: BoolArray) -> "NearestNameLinker":
        """Return a copy that knows the names of a table, and the words of allowed passages (P,), alone."""
        linker = copy(self)
        linker._inner, linker._table = self._inner.restrict(table, allowed), table  # noqa: SLF001
        return linker

    @trace_calls("clew.link")
    def link(self, question: str) -> LinkedQuestion:
        """Return a question with its names; notes say which are taken for the nearest."""
        linked = self._inner.link(question) if self._list_names is None else self._link_listed(question)
        names = list(linked.names)
        others = [i for i, name in enumerate(names) if not (self._keep_exact and name.entities)][:_MAX_NAMES]
        nearest = self._find_nearest([linked.text_of(names[i]) for i in others])
        for i, found in zip(others, nearest, strict=True):
            names[i] = self._take(linked.text_of(names[i]), names[i], found)
        return replace(linked, names=tuple(names))

    @trace_calls("clew.link")
    def find_topics(self, question: str, names: Sequence[str] = ()) -> TopicEntities:
        """Return the topics of a question; given names are linked exactly where the index has them."""
        topics = self._inner.find_topics(question, names)
        if topics.unknown_names:
            found = self._find_taken(topics.unknown_names)
            unknown = tuple(name for name in topics.unknown_names if name not in {text for text, _, _ in found})
            return self._add_topics(replace(topics, unknown_names=unknown), found)
        if any(map(str.strip, names)) or topics.text != question[:MAX_CHARACTERS]:  # without its brackets
            return topics
        if self._list_names is not None:
            linked = self.link(topics.text)
            entities = dict.fromkeys(entity for name in linked.names for entity in name.entities)
            spans = tuple((name.start, name.end) for name in linked.linked_names if not name.listed)
            lost = [name.listed for name in linked.names if name.listed and not name.entities]
            notes = (f"not in the index: {', '.join(lost)}",) if lost else ()
            return TopicEntities(linked.text, tuple(entities), spans, notes=(*linked.describe_similar_names(), *notes))
        free = [(a, b) for a, b in name_spans(topics.text) if not any(a < e and s < b for s, e in topics.spans)]
        kept = topics if self._keep_exact else replace(topics, entities=(), spans=())
        compared = sorted([*(() if self._keep_exact else topics.spans), *free])[:_MAX_NAMES]
        texts = {topics.text[start:end]: None for start, end in compared}
        found = self._find_taken(list(texts))
        taken = {text for text, _, _ in found}
        spans = tuple(sorted([*kept.spans, *((a, b) for a, b in compared if topics.text[a:b] in taken)]))
        return self._add_topics(replace(kept, spans=spans), found)

    def _find_taken(self, texts: Sequence[str]) -> list[tuple[str, int, float]]:
        """Return the names that are near enough to an entity, with it and the score."""
        return [(text, *best) for text, best in zip(texts, self._find_nearest(texts), strict=True) if best is not None]

    def _add_topics(self, topics: TopicEntities, found: Sequence[tuple[str, int, float]]) -> TopicEntities:
        entities = dict.fromkeys([*topics.entities, *(entity for _, entity, _ in found)])
        notes = [
            describe_similar_name(
                text,
                self._table.entities[entity],
                f"{self._measure} {score:.2f}",
                is_known=len(self._table.entities_with_name(text)) > 0,
            )
            for text, entity, score in found
            if name_key(text) != name_key(self._table.entities[entity])
        ]
        return replace(topics, entities=tuple(entities), notes=(*topics.notes, *notes))

    def _link_listed(self, question: str) -> LinkedQuestion:
        """Link the listed names exactly, at their first free place as whole words.

        A name that has no place in the question is linked all the same, and stands at its end; one whose places are
        all within other names is left out.
        """
        assert self._list_names is not None
        text = question[:MAX_CHARACTERS]
        known: list[LinkedName] = []
        listed: dict[str, LinkedName] = {}
        for name in self._list_names(text):
            entities = tuple(int(entity) for entity in self._table.entities_with_name(name))
            places = _find_places(name, text)
            free = [(s, e) for s, e in places if not any(s < one.end and one.start < e for one in known)]
            if free:
                known.append(LinkedName(*free[0], entities))
            elif not places:
                listed.setdefault(name_key(name), LinkedName(len(text), len(text), entities, listed=name))
        return join_names(text, [*known, *listed.values()], ())

    def _take(self, text: str, name: LinkedName, found: tuple[int, float] | None) -> LinkedName:
        """Return the name, whose text is given, with the entity found for it."""
        if found is None:
            return replace(name, entities=())
        entity, score = found
        taken = self._table.entities[entity]
        if name_key(taken) == name_key(text):
            return replace(name, entities=(entity,))
        difference = f"{self._measure} {score:.2f}"
        return replace(name, entities=(entity,), nearest=taken, difference=difference, is_known=bool(name.entities))

    def _find_nearest(self, names: Sequence[str]) -> list[tuple[int, float] | None]:
        """Return for each name the entity with the nearest name and its score; None below the floor."""
        if self._score_names is None or not names or not len(self._table.entities):
            return [None] * len(names)
        scores = self._score_names([replace_surrogates(name) for name in names])
        if isinstance(self._table, VisibleNames):
            scores = np.where(self._table.visible[:, None], scores, -np.inf)
        best = np.argmax(scores, axis=0)  # the first of equal ones
        return [
            (int(entity), float(scores[entity, column])) if scores[entity, column] >= self._floor else None
            for column, entity in enumerate(best)
        ]


def _find_places(name: str, text: str) -> list[tuple[int, int]]:
    """Return starts and ends of a name in a text as whole words: as it is written, or else with any capitals."""
    folded = text.casefold()
    for wanted, searched in ((name, text), (name.casefold(), folded if len(folded) == len(text) else text)):
        found = re.finditer(rf"(?<!\w){re.escape(wanted)}(?!\w)", searched)
        if places := [match.span() for match in found]:
            return places
    return []
