"""Training questions with known evidence as the network sees them, in four forms.

A network trained only on questions whose names all link fails on the others. Each question therefore comes as it is, in
lower case, with some of its names unlinked, and with none linked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np

from clew.arrays import BoolArray, FloatArray, LongArray
from clew.errors import InputError
from clew.graph.snapshot.relational_edges import RelationalEdges
from clew.graph.snapshot.snapshot import Snapshot
from clew.protocols import Encoder
from clew.query.linking import LinkedQuestion, link_question
from clew.retrievers.gfm.batch import WholeGraph
from clew.retrievers.gfm.passage_graphs import QuestionGraph, QuestionGraphBuilder
from clew.retrievers.gfm.passage_ranking import Ranker
from clew.types import Question

FORMS = ("whole", "lower case", "names dropped", "no names")
DROPPED_SHARE = 0.3
"""Share of the names that are unlinked in the third form."""


@dataclass(frozen=True, slots=True, eq=False)
class GFMExample:
    """One question in all forms, or as it is alone."""

    graphs: tuple[QuestionGraph, ...]  # question graph of each form, with its question vector (d,) in `vectors`
    vectors: tuple[FloatArray, ...]
    relevant: tuple[BoolArray, ...]  # (n,) which nodes of the graph are to be found, for each form
    gold: tuple[tuple[int, ...], ...]  # for each piece of evidence, the passages that count as having found it
    gold_nodes: int = 0  # number of nodes that are to be found
    gold_nodes_outside: int = 0  # number of those that the graph of the question as it is does not hold


@dataclass(frozen=True, slots=True, eq=False)
class GFMExamples:
    """The questions of one index."""

    items: tuple[GFMExample, ...]
    passages: int  # number of passages in the index
    edges: RelationalEdges  # graph of the index
    # (R, t) text vectors of its relations, or (2 R, t) with their inverses if the model reads them
    relations: FloatArray
    ranker: Ranker  # ranks passages by the scores of nodes
    whole: WholeGraph = field(default_factory=WholeGraph)  # edges of the graph, sorted once for all questions on it


@dataclass(frozen=True, slots=True, eq=False)
class GraphView:
    """An index as one kind of network sees it."""

    snapshot: Snapshot
    graphs: QuestionGraphBuilder
    ranker: Ranker  # ranks passages by the scores of nodes
    encoder: Encoder
    relations: FloatArray  # (R, t) text vectors of the relations, or (2 R, t) with inverses
    encode_texts: Callable[[Sequence[str]], FloatArray]  # encodes other short texts alike
    targets_entities: bool  # whether the network is to find entities instead of passages
    link: Callable[[str], LinkedQuestion] | None = None  # links the names of questions; None for exact names


def make_examples(
    view: GraphView, questions: Sequence[Question], seed: int = 0, *, augment: bool = True
) -> GFMExamples:
    """Encode questions and build their graphs; `seed` decides which names are unlinked.

    Without `augment` each question comes as it is alone.

    Raises InputError if a question's gold, ids of passages or documents, is not in the index, or without questions.
    """
    if not questions:
        raise InputError("there are no questions to learn from: give a file with at least one")
    positions = _passage_positions(view.snapshot)
    random = np.random.default_rng(seed)
    items: list[GFMExample] = []
    for question in questions:
        if absent := [id_ for id_ in question.gold if id_ not in positions]:
            raise InputError(
                f"the question {question.id!r} has the gold passage {absent[0]!r}, which is not in the index: give the "
                "corpus that its questions were made for"
            )
        gold = tuple(tuple(positions[id_]) for id_ in question.gold)
        forms = _question_forms(view, question.text, random, augment=augment)
        items.append(_make_example(view, forms, gold))
    passages = len(view.snapshot.passage_ids)
    return GFMExamples(tuple(items), passages, view.graphs.edges, view.relations, view.ranker)


def _passage_positions(snapshot: Snapshot) -> dict[str, list[int]]:
    positions: dict[str, list[int]] = {}
    for position, (id_, document) in enumerate(zip(snapshot.passage_ids, snapshot.document_ids, strict=True)):
        positions.setdefault(document, []).append(position)
        if id_ != document:
            positions.setdefault(id_, []).append(position)
    return positions


def _make_example(view: GraphView, linked: Sequence[LinkedQuestion], gold: tuple[tuple[int, ...], ...]) -> GFMExample:
    allowed = np.ones(len(view.snapshot.passage_ids), dtype=bool)
    encode = lru_cache(maxsize=None)(lambda text: view.encoder.encode_queries([text])[0])
    vectors = [np.stack([encode(text) for text in view.graphs.texts(form)]) for form in linked]
    graphs = tuple(
        # Without the chains, which take more memory than the rest, and which no training reads.
        replace(view.graphs.build(form, v.__getitem__, allowed), chains=None)
        for form, v in zip(linked, vectors, strict=True)
    )
    targets = _target_nodes(view, [passage for passages in gold for passage in passages])
    relevant = tuple(np.isin(graph.nodes, targets) & graph.targets for graph in graphs)
    outside = int(len(targets) - relevant[0].sum())
    return GFMExample(graphs, tuple(rows[0] for rows in vectors), relevant, gold, len(targets), outside)


def _target_nodes(view: GraphView, passages: Sequence[int]) -> LongArray:
    """Return the nodes to find for some gold passages: the passages themselves, or the entities they mention."""
    if not view.targets_entities or not passages:
        return np.unique(np.array(passages, dtype=np.int64))
    return np.unique(np.concatenate([view.snapshot.mentions.row(passage) for passage in passages])).astype(np.int64)


def _question_forms(
    view: GraphView, text: str, random: np.random.Generator, *, augment: bool
) -> tuple[LinkedQuestion, ...]:
    link = partial(link_question, view.snapshot) if view.link is None else view.link
    whole = link(text)
    if not augment:
        return (whole,)
    lower = link(text.lower())
    unlinked = [replace(name, entities=()) for name in whole.names]
    pairs = zip(whole.names, unlinked, strict=True)
    some = tuple(other if random.random() < DROPPED_SHARE else name for name, other in pairs)
    return whole, lower, replace(whole, names=some), replace(whole, names=tuple(unlinked))
