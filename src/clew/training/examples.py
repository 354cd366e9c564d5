"""Questions with known evidence as the network sees them, whole and with what users leave out.

A model that only ever saw questions whose names all link fails on the others. So each question comes in four forms: as
it is, in lower case, with some of its names not known, and with none known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.linking import LinkedQuestion, link
from clew.protocols import Encoder
from clew.retrievers.question_graph import QuestionGraph, QuestionGraphs
from clew.retrievers.question_walk import Walker
from clew.types import Question

if TYPE_CHECKING:
    from clew.graph.relations import RelationalEdges
    from clew.types import BoolArray, FloatArray

FORMS = ("whole", "lower case", "names dropped", "no names")
DROPPED = 0.3
"""Share of the names that the third form does not know."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One question.

    Attributes:
        graphs: One a form.
        vectors: (d,) one a form.
        gold: For each piece of evidence the passages (nodes) that count as having found it.
    """

    graphs: tuple[QuestionGraph, ...]
    vectors: tuple["FloatArray", ...]
    gold: tuple[tuple[int, ...], ...]

    def relevant(self, form: int) -> "BoolArray":
        """Return which nodes (n,) of a form's graph are gold."""
        wanted = [node for nodes in self.gold for node in nodes]
        found: BoolArray = np.isin(self.graphs[form].nodes, wanted)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """The questions of one index.

    Attributes:
        items: The questions.
        edges: The graph of passages.
        relations: (R, t) text vectors of its relations.
    """

    items: tuple[Example, ...]
    edges: "RelationalEdges"
    relations: "FloatArray"


def examples(
    walker: Walker,
    graphs: QuestionGraphs,
    encoder: Encoder,
    relations: "FloatArray",
    questions: Sequence[Question],
    seed: int = 0,
) -> Examples:
    """Return questions as the network sees them.

    Args:
        walker: Over the index.
        graphs: Of the same.
        encoder: The index's.
        relations: (R, t).
        questions: With gold ids of passages or documents.
        seed: Chooses the names that are dropped.

    Raises:
        InputError: A question's gold is not in the index, or there is no question.
    """
    if not questions:
        raise InputError("there are no questions to learn from: give a file with at least one")
    snapshot = walker.scope.snapshot
    places: dict[str, list[int]] = {}
    for place, (id_, document) in enumerate(zip(snapshot.passage_ids, snapshot.document_ids, strict=True)):
        places.setdefault(document, []).append(place)
        if id_ != document:
            places.setdefault(id_, []).append(place)
    random = np.random.default_rng(seed)
    everything = walker.scope.mask(None)
    whole = encoder.encode_queries([question.text for question in questions])
    lower = encoder.encode_queries([question.text.lower() for question in questions])
    items: list[Example] = []
    for question, vector, lowered in zip(questions, whole, lower, strict=True):
        if absent := [id_ for id_ in question.gold if id_ not in places]:
            raise InputError(
                f"the question {question.id!r} has the gold passage {absent[0]!r}, which is not in the index: give the "
                "corpus that its questions were made for"
            )
        linked = _forms(link(snapshot, question.text), link(snapshot, question.text.lower()), random)
        vectors = (vector, lowered, vector, vector)
        made = tuple(
            graphs.of(walker.walk_from(form, everything), v, everything)
            for form, v in zip(linked, vectors, strict=True)
        )
        items.append(Example(made, vectors, tuple(tuple(places[id_]) for id_ in question.gold)))
    return Examples(tuple(items), graphs.edges, relations)


def _forms(
    whole: LinkedQuestion, lower: LinkedQuestion, random: np.random.Generator
) -> tuple[LinkedQuestion, LinkedQuestion, LinkedQuestion, LinkedQuestion]:
    unknown = [replace(name, entities=()) for name in whole.names]
    pairs = zip(whole.names, unknown, strict=True)
    some = tuple(other if random.random() < DROPPED else name for name, other in pairs)
    return whole, lower, replace(whole, names=some), replace(whole, names=tuple(unknown))
