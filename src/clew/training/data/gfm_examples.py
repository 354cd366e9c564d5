"""Training questions with known evidence as the network sees them, in four forms.

A network trained only on questions whose names all link fails on the others. Each question therefore comes as it is, in
lower case, with some of its names unlinked, and with none linked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import final, overload

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

    items: Sequence[GFMExample]
    passages: int  # number of passages in the index
    edges: RelationalEdges  # graph of the index
    # (R, t) text vectors of its relations, or (2 R, t) with their inverses if the model reads them
    relations: FloatArray
    ranker: Ranker  # ranks passages by the scores of nodes
    whole: WholeGraph = field(default_factory=WholeGraph)  # edges of the graph, sorted once for all questions on it
    of_entities: bool = False  # whether the nodes to find are entities
    node_texts: FloatArray | None = None  # (N, t) text vectors of all nodes, where the network reads them


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
    node_texts: FloatArray | None = None  # (N, t) text vectors of all nodes, where the network reads them


@final
class LazyExamples(Sequence[GFMExample]):
    """Questions whose graphs are built each time that they are asked for, so that memory holds those of one batch.

    The names that are unlinked depend on `seed` and a question's number alone. `gold_counts` has the gold nodes of the
    questions asked for so far, by number: all of them, and those outside the graph.
    """

    def __init__(self, view: GraphView, questions: Sequence[Question], seed: int, *, augment: bool) -> None:
        self._view = view
        self._gold = _gold_passages(view.snapshot, questions)
        self._texts = [question.text for question in questions]
        self._seed = seed
        self._augment = augment
        self.gold_counts: dict[int, tuple[int, int]] = {}

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, number: int) -> GFMExample: ...

    @overload
    def __getitem__(self, number: slice) -> list[GFMExample]: ...

    def __getitem__(self, number: int | slice) -> GFMExample | list[GFMExample]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        random = np.random.default_rng([self._seed, range(len(self))[number]])
        forms = _question_forms(self._view, self._texts[number], random, augment=self._augment)
        example = _make_example(self._view, forms, self._gold[number])
        self.gold_counts[range(len(self))[number]] = example.gold_nodes, example.gold_nodes_outside
        return example


def count_gold_nodes(items: Sequence[GFMExample]) -> tuple[int, int]:
    """Return the nodes to find over all questions, and those outside the graphs; of lazy ones those built so far."""
    counts = (
        list(items.gold_counts.values())
        if isinstance(items, LazyExamples)
        else [(item.gold_nodes, item.gold_nodes_outside) for item in items]
    )
    return sum(count for count, _ in counts), sum(outside for _, outside in counts)


def make_examples(
    view: GraphView, questions: Sequence[Question], seed: int = 0, *, augment: bool = True, lazy: bool = False
) -> GFMExamples:
    """Encode questions and build their graphs; `seed` decides which names are unlinked.

    Without `augment` each question comes as it is alone; `lazy` ones are built when they are asked for.

    Raises InputError if a question's gold, ids of passages or documents, is not in the index, or without questions.
    """
    if not questions:
        raise InputError("there are no questions to learn from: give a file with at least one")
    items: Sequence[GFMExample]
    if lazy:
        items = LazyExamples(view, questions, seed, augment=augment)
    else:
        random = np.random.default_rng(seed)
        pairs = zip(questions, _gold_passages(view.snapshot, questions), strict=True)
        items = tuple(
            _make_example(view, _question_forms(view, question.text, random, augment=augment), gold)
            for question, gold in pairs
        )
    passages = len(view.snapshot.passage_ids)
    edges, relations = view.graphs.edges, view.relations
    return GFMExamples(
        items,
        passages,
        edges,
        relations,
        view.ranker,
        of_entities=view.targets_entities,
        node_texts=view.node_texts,
    )


def _gold_passages(snapshot: Snapshot, questions: Sequence[Question]) -> list[tuple[tuple[int, ...], ...]]:
    """Return for each piece of evidence of each question the passages that count as having found it."""
    positions = _passage_positions(snapshot)
    for question in questions:
        if absent := [id_ for id_ in question.gold if id_ not in positions]:
            raise InputError(
                f"the question {question.id!r} has the gold passage {absent[0]!r}, which is not in the index: give the "
                "corpus that its questions were made for"
            )
    return [tuple(tuple(positions[id_]) for id_ in question.gold) for question in questions]


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
