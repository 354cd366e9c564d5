"""Questions with known evidence as the network sees them, whole and with what users leave out.

A model that only ever saw questions whose names all link fails on the others. So each question comes in four forms: as
it is, in lower case, with some of its names not known, and with none known.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clew.errors import InputError
from clew.graph.snapshot.snapshot import Snapshot
from clew.protocols import Encoder
from clew.query.linking import LinkedQuestion, link_question
from clew.retrievers.gfm.passage_graphs import QuestionGraph, QuestionGraphBuilder
from clew.retrievers.gfm.passage_ranking import Ranker
from clew.types import Question

if TYPE_CHECKING:
    from clew.graph.snapshot.relational_edges import RelationalEdges
    from clew.types import BoolArray, FloatArray, LongArray

FORMS = ("whole", "lower case", "names dropped", "no names")
DROPPED_SHARE = 0.3
"""Share of the names that the third form does not know."""


@dataclass(frozen=True, slots=True, eq=False)
class GFMExample:
    """One question.

    Attributes:
        graphs: One a form.
        vectors: (d,) one a form.
        relevant: (n,) one a form: which nodes are to be found.
        gold: For each piece of evidence the passages that count as having found it.
    """

    graphs: tuple[QuestionGraph, ...]
    vectors: tuple["FloatArray", ...]
    relevant: tuple["BoolArray", ...]
    gold: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class GFMExamples:
    """The questions of one index.

    Attributes:
        items: The questions.
        passages: How many the index has.
        edges: The graph.
        relations: (R, t) text vectors of its relations, and of their inverses after them where the model reads them.
        ranker: From scores of nodes to passages.
    """

    items: tuple[GFMExample, ...]
    passages: int
    edges: "RelationalEdges"
    relations: "FloatArray"
    ranker: Ranker


@dataclass(frozen=True, slots=True, eq=False)
class GraphView:
    """What examples are made from: an index as one kind of network sees it.

    Attributes:
        snapshot: The index.
        graphs: Makes the graphs of questions.
        ranker: From scores of nodes to passages.
        encoder: Of the network.
        relations: (R, t), or (2 R, t) with inverses.
        encode_texts: Gives the rows of other short texts.
        targets_entities: Whether entities are to be found; else passages.
    """

    snapshot: Snapshot
    graphs: QuestionGraphBuilder
    ranker: Ranker
    encoder: Encoder
    relations: "FloatArray"
    encode_texts: "Callable[[Sequence[str]], FloatArray]"
    targets_entities: bool


def make_examples(view: GraphView, questions: Sequence[Question], seed: int = 0) -> GFMExamples:
    """Return questions as the network sees them.

    Args:
        view: The index.
        questions: With gold ids of passages or documents.
        seed: Chooses the names that are dropped.

    Raises:
        InputError: A question's gold is not in the index, or there is no question.
    """
    if not questions:
        raise InputError("there are no questions to learn from: give a file with at least one")
    places = _passage_positions(view.snapshot)
    random = np.random.default_rng(seed)
    whole = view.encoder.encode_queries([question.text for question in questions])
    lower = view.encoder.encode_queries([question.text.lower() for question in questions])
    items: list[GFMExample] = []
    for question, vector, lowered in zip(questions, whole, lower, strict=True):
        if absent := [id_ for id_ in question.gold if id_ not in places]:
            raise InputError(
                f"the question {question.id!r} has the gold passage {absent[0]!r}, which is not in the index: give the "
                "corpus that its questions were made for"
            )
        gold = tuple(tuple(places[id_]) for id_ in question.gold)
        text = question.text
        linked = _question_forms(link_question(view.snapshot, text), link_question(view.snapshot, text.lower()), random)
        items.append(_make_example(view, linked, (vector, lowered, vector, vector), gold))
    passages = len(view.snapshot.passage_ids)
    return GFMExamples(tuple(items), passages, view.graphs.edges, view.relations, view.ranker)


def _passage_positions(snapshot: Snapshot) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, (id_, document) in enumerate(zip(snapshot.passage_ids, snapshot.document_ids, strict=True)):
        places.setdefault(document, []).append(place)
        if id_ != document:
            places.setdefault(id_, []).append(place)
    return places


def _make_example(
    view: GraphView,
    linked: Sequence[LinkedQuestion],
    vectors: tuple["FloatArray", ...],
    gold: tuple[tuple[int, ...], ...],
) -> GFMExample:
    everything = np.ones(len(view.snapshot.passage_ids), dtype=bool)
    graphs = tuple(view.graphs.build(form, _constant(v), everything) for form, v in zip(linked, vectors, strict=True))
    wanted = _target_nodes(view, [passage for passages in gold for passage in passages])
    relevant = tuple(np.isin(graph.nodes, wanted) & graph.targets for graph in graphs)
    return GFMExample(graphs, vectors, relevant, gold)


def _constant(vector: "FloatArray") -> "Callable[[], FloatArray]":
    return lambda: vector


def _target_nodes(view: GraphView, passages: Sequence[int]) -> "LongArray":
    """Return the nodes that are to be found when these passages are."""
    if not view.targets_entities or not passages:
        return np.array(passages, dtype=np.int64)
    return np.unique(np.concatenate([view.snapshot.mentions.row(passage) for passage in passages])).astype(np.int64)


def _question_forms(
    whole: LinkedQuestion, lower: LinkedQuestion, random: np.random.Generator
) -> tuple[LinkedQuestion, LinkedQuestion, LinkedQuestion, LinkedQuestion]:
    unknown = [replace(name, entities=()) for name in whole.names]
    pairs = zip(whole.names, unknown, strict=True)
    some = tuple(other if random.random() < DROPPED_SHARE else name for name, other in pairs)
    return whole, lower, replace(whole, names=some), replace(whole, names=tuple(unknown))
