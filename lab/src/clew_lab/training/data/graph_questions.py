"""Questions on encoded graphs: read from data sets and indexes, split, and filtered against leakage."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from clew.arrays import FloatArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph
from clew.index import Index
from clew.protocols import Encoder
from clew.retrievers.subgraph.gcn_features import node_offsets
from clew.retrievers.subgraph.retriever import Neighbourhood, SubgraphRetriever
from clew.text.display import format_count
from clew.types import Progress
from clew_lab.datasets.graph_datasets import (
    TOPIC_SEPARATOR,
    GraphDataset,
    GraphQuestion,
    LazyGraphs,
    check_positions,
    split_dataset,
)
from clew_lab.datasets.loaders import load_questions
from clew_lab.graph.graph_encoder import GraphEncoder
from clew_lab.graph.reader_context import GraphContext
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.retrievers.selectors import WholeGraph

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedQuestion:
    """A question of a data set with the encoded graph it is on."""

    question: GraphQuestion
    question_graph: GraphQuery


def encode_questions(
    dataset: GraphDataset, encoder: Encoder, progress: Progress, note: Note | None = None
) -> list[EncodedQuestion]:
    """Encode the questions of a data set; those without answers or on a graph without nodes are skipped.

    `note` is called with the numbers of skipped questions, and the reason. Raises InputError if no question is left, or
    a question's topics or gold are not nodes of its graph.
    """
    # Questions are encoded like graph texts, since readers compare paths with the question.
    vectors = GraphEncoder(encoder.encode, encoder.encode)
    questions = [question for question in dataset.questions if any(map(str.strip, question.answers))]
    graph_numbers = {graph: number for number, graph in enumerate(sorted({q.graph for q in questions}))}
    graphs = [dataset.graphs[graph] for graph in graph_numbers]
    for question in questions:
        check_positions(question, graphs[graph_numbers[question.graph]])
    texts = [(graph_numbers[q.graph], q.text, q.topics) for q in questions]
    vectors.preload(graphs, texts, lambda done, total: progress("encoding texts", done, total))
    encoded_graphs: dict[int, EncodedGraph] = {}
    encoded: list[EncodedQuestion] = []
    for done, question in enumerate(questions, 1):
        progress("reading questions", done, len(questions))
        number = graph_numbers[question.graph]
        if number not in encoded_graphs:
            encoded_graphs[number] = vectors.encode_graph(graphs[number])
        graph = encoded_graphs[number]
        if len(graph.graph.nodes):
            encoded.append(EncodedQuestion(question, vectors.encode_query(graph, question.text, question.topics)))
    _report_skipped(len(dataset.questions), len(questions), len(encoded), "is on a graph with nodes", note)
    return encoded


def _report_skipped(count: int, answered: int, usable: int, condition: str, note: Note | None) -> None:
    if not usable:
        raise InputError(f"none of {format_count(count, 'question')} has answers and {condition}: give others")
    if note and answered < count:
        note(f"{count - answered} of {count} questions have no answer and are left out")
    if note and usable < answered:
        note(f"{answered - usable} of {count} questions are left out: none of them {condition}")


def encode_index_questions(
    index: Index, path: Path, progress: Progress, limit: int | None = None, note: Note | None = None
) -> list[EncodedQuestion]:
    """Encode the questions on an index that have answers, on the graphs that `gcn-subgraph` and `steiner` search.

    The index has a graph, imported or extracted from documents. If the questions have no `topic`, their names are
    linked. At most `limit` questions are read, evenly spaced over the file; `note` is called with the numbers of
    skipped ones, and the reason. Raises InputError if the file cannot be read, or no question with answers names an
    entity with facts.
    """
    context = index.context
    sources = context.scope, context.lexical, context.load_fact_graph, context.text_vectors
    retriever = SubgraphRetriever(*sources, WholeGraph(), "", Neighbourhood(), by_words=True)
    encoded: list[EncodedQuestion] = []
    loaded = load_questions(path)
    questions = [loaded[position] for position in evenly_spaced(len(loaded), limit)]
    for number, question in enumerate(questions):
        progress("reading questions", number, len(questions))
        query = retriever.select(question.text, question.topics).query
        graph = query.graph.graph
        if not len(graph.edges) or not question.answers:
            continue
        node_of = {name: node for node, name in enumerate(graph.nodes)}
        chains = ([node_of.get(end, -1) for h, _, t in path for end in (h, t)] for path in question.paths)
        gold = tuple(tuple(dict.fromkeys(chain)) for chain in chains if -1 not in chain)
        topics = tuple(query.topics.tolist())
        group = TOPIC_SEPARATOR.join(sorted(graph.nodes[topic] for topic in topics))
        record = GraphQuestion(question.id, number, question.text, question.answers, topics, gold, group)
        encoded.append(EncodedQuestion(record, query))
    answered = sum(bool(question.answers) for question in questions)
    _report_skipped(len(questions), answered, len(encoded), "names an entity with facts", note)
    return encoded


def drop_leaked_questions(
    training: Sequence[EncodedQuestion], test: Sequence[EncodedQuestion], *, same_file: bool, own_graphs: bool
) -> list[EncodedQuestion]:
    """Drop training questions that leak test questions: the same normalised text, id or group.

    With `same_file`, both come from splits of one file: equal ids mean the same question, and groups are not compared,
    because the file's splits may divide them. With `own_graphs`, each question has a graph of its own, and equal texts
    on other graphs are not the same.
    """
    taken = {mark for one in test for mark in _leak_keys(one, same_file, own_graphs)}
    return [one for one in training if taken.isdisjoint(_leak_keys(one, same_file, own_graphs))]


def _leak_keys(one: EncodedQuestion, same_file: bool, own_graphs: bool) -> Iterator[tuple[str, ...]]:
    """Yield the keys that a training question must not share with a test question."""
    question = one.question
    graph = _digest_graph(one.question_graph.graph.graph) if own_graphs else ""
    yield "text", " ".join(question.text.casefold().split()), graph
    if same_file:
        yield "id", question.id
    else:
        yield from (("group", name) for name in question.group.split(TOPIC_SEPARATOR) if name)


def digest_questions(questions: Sequence[EncodedQuestion]) -> str:
    """Return a digest of questions, their order and their graphs."""
    digest = blake2b(digest_size=12)
    graphs: dict[int, str] = {}
    for one in questions:
        question, graph = one.question, one.question_graph.graph.graph
        if id(graph) not in graphs:
            graphs[id(graph)] = _digest_graph(graph)
        fields = [question.id, question.text, question.answers, one.question_graph.topics.tolist(), graphs[id(graph)]]
        digest.update(json.dumps(fields).encode() + b"\n")
    return f"{len(questions)}-{digest.hexdigest()}"


def _digest_graph(graph: TextualGraph) -> str:
    texts = json.dumps([list(graph.nodes), list(graph.relations)]).encode()
    return blake2b(texts + graph.edges.astype(np.int64).tobytes(), digest_size=12).hexdigest()


def evenly_spaced(count: int, limit: int | None) -> list[int]:
    """Return at most `limit` evenly spaced positions of `count` items; all for None."""
    return list(range(count)) if limit is None or limit >= count else [i * count // limit for i in range(limit)]


def train_test_split(
    questions: Sequence[EncodedQuestion], share: float, seed: int
) -> tuple[list[EncodedQuestion], list[EncodedQuestion]]:
    """Split questions in two at random, keeping groups together (see `graph_datasets.split_dataset`)."""
    numbered = tuple(replace(one.question, graph=number) for number, one in enumerate(questions))
    graphs = LazyGraphs(len(questions), lambda number: questions[number].question_graph.graph.graph)
    first, second = split_dataset(GraphDataset(graphs, numbered), share, seed)
    return [questions[q.graph] for q in first.questions], [questions[q.graph] for q in second.questions]


def reader_inputs(
    examples: Sequence[EncodedQuestion], contexts: Sequence[GraphContext]
) -> tuple[list[str], list[GraphContext], list[str]]:
    """Return the question, context and answer of every answer of every example."""
    return (
        [one.question.text for one in examples for _ in one.question.answers],
        [context for one, context in zip(examples, contexts, strict=True) for _ in one.question.answers],
        [answer for one in examples for answer in one.question.answers],
    )


def lowest_losses(
    reader: GraphReader, examples: Sequence[EncodedQuestion], contexts: Sequence[GraphContext]
) -> FloatArray:
    """Return a reader's lowest loss (n,) among the answers of each question, given its context."""
    losses = reader.loss(*reader_inputs(examples, contexts))
    return np.minimum.reduceat(losses, node_offsets([len(one.question.answers) for one in examples])[:-1])
