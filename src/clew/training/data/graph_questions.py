"""Questions with the vectors of their graphs: read from sets and indexes, parted, and told apart from one another."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.datasets.graph_datasets import (
    TOPIC_SEPARATOR,
    GraphDataset,
    GraphQuestion,
    LazyGraphs,
    check_positions,
    split_dataset,
)
from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.index import Index
from clew.protocols import Encoder
from clew.retrievers.subgraph.encoding import GraphEncoder
from clew.retrievers.subgraph.retriever import SubgraphRetriever, SubgraphSettings
from clew.retrievers.subgraph.selectors import WholeGraph

if TYPE_CHECKING:
    from clew.graph.subgraphs.textual_graph import EncodedGraph, GraphQuery, TextualGraph

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedQuestion:
    """A question of a set with the vectors of its graph."""

    question: GraphQuestion
    question_graph: "GraphQuery"


def encode_questions(
    graph_set: GraphDataset, encoder: Encoder, progress: Progress, note: Note | None = None
) -> list[EncodedQuestion]:
    """Return the questions of a set on encoded graphs, without those that have no answer or a graph without nodes.

    Args:
        graph_set: Any; graphs that no question is on are not looked at.
        encoder: Of all texts.
        progress: Told the questions that were read.
        note: Told how many were left out, and why.

    Raises:
        InputError: No question is left, or one's topics or gold are no nodes of its graph.
    """
    # A reader compares paths with the question, and both are encoded alike for that.
    vectors = GraphEncoder(encoder.encode, encoder.encode)
    questions = [question for question in graph_set.questions if any(map(str.strip, question.answers))]
    count = len(questions)
    place_of = {graph: place for place, graph in enumerate(sorted({q.graph for q in questions}))}
    graphs = [graph_set.graphs[graph] for graph in place_of]
    for question in questions:
        check_positions(question, graphs[place_of[question.graph]])
    texts = [(place_of[q.graph], q.text, q.topics) for q in questions]
    vectors.preload(graphs, texts, lambda done, total: progress("encoding texts", done, total))
    encoded: dict[int, EncodedGraph] = {}
    found: list[EncodedQuestion] = []
    for number, question in enumerate(questions, 1):
        progress("reading questions", number, count)
        place = place_of[question.graph]
        if place not in encoded:
            encoded[place] = vectors.encode_graph(graphs[place])
        graph = encoded[place]
        if len(graph.graph.nodes):
            found.append(EncodedQuestion(question, vectors.encode_query(graph, question.text, question.topics)))
    _report_skipped(len(graph_set.questions), len(questions), len(found), "is on a graph with nodes", note)
    return found


def _report_skipped(count: int, answered: int, found: int, wanted: str, note: Note | None) -> None:
    """Say how many questions were left out, by reason."""
    if not found:
        raise InputError(f"none of {count} questions has answers and {wanted}: give others")
    if note and answered < count:
        note(f"{count - answered} of {count} questions have no answer and are left out")
    if note and found < answered:
        note(f"{answered - found} of {count} questions are left out: none of them {wanted}")


def encode_index_questions(
    index: Index, path: Path, progress: Progress, limit: int | None = None, note: Note | None = None
) -> list[EncodedQuestion]:
    """Return questions on an index that have answers, each on what `gcn-subgraph` and `steiner` look at for it.

    Args:
        index: With a graph, imported or made of documents.
        path: Questions in Clew's form; without `topic` the names in a question are linked.
        progress: Told the questions that were read.
        limit: Questions at most, spread evenly over the file.
        note: Told how many were left out, and why.

    Raises:
        InputError: The questions cannot be read, or none that has answers names an entity with facts.
    """
    parts = index.context
    of = parts.graph_search_context()
    near = SubgraphRetriever(
        of.scope,
        of.lexical,
        of.load_fact_graph,
        parts.text_vectors,
        WholeGraph(),
        "",
        SubgraphSettings(),
        by_words=True,
    )
    found: list[EncodedQuestion] = []
    read = load_questions(path)
    asked = [read[place] for place in evenly_spaced(len(read), limit)]
    for number, question in enumerate(asked):
        progress("reading questions", number, len(asked))
        selected = near.select(question.text, question.topics)
        graph = selected.query.graph.graph
        if not len(graph.edges) or not question.answers:
            continue
        place_of = {name: place for place, name in enumerate(graph.nodes)}
        chains = ([place_of.get(end, -1) for h, _, t in path for end in (h, t)] for path in question.paths)
        gold = tuple(tuple(dict.fromkeys(chain)) for chain in chains if -1 not in chain)
        topics = tuple(selected.query.topics.tolist())
        group = TOPIC_SEPARATOR.join(sorted(graph.nodes[topic] for topic in topics))
        told = GraphQuestion(question.id, number, question.text, question.answers, topics, gold, group)
        found.append(EncodedQuestion(told, selected.query))
    _report_skipped(
        len(asked), sum(bool(question.answers) for question in asked), len(found), "names an entity with facts", note
    )
    return found


def drop_leaked_questions(
    training: Sequence[EncodedQuestion], test: Sequence[EncodedQuestion], *, same_file: bool, own_graphs: bool
) -> list[EncodedQuestion]:
    """Return the questions to learn from that tell nothing of those that are measured: of other groups and texts.

    Args:
        training: Of which some are left out.
        test: That are measured.
        same_file: Whether both are parts of one file, whose parting is not ours: there equal ids are the same question,
            and groups may be torn apart.
        own_graphs: Whether questions have graphs of their own; then equal texts on other graphs are other questions.
    """
    taken = {mark for one in test for mark in _leak_keys(one, same_file, own_graphs)}
    return [one for one in training if taken.isdisjoint(_leak_keys(one, same_file, own_graphs))]


def _leak_keys(one: EncodedQuestion, same_file: bool, own_graphs: bool) -> Iterator[tuple[str, ...]]:
    """Yield what two questions must not share."""
    question = one.question
    on = _digest_graph(one.question_graph.graph.graph) if own_graphs else ""
    yield "text", " ".join(question.text.casefold().split()), on
    if same_file:
        yield "id", question.id
    else:
        yield from (("group", name) for name in question.group.split(TOPIC_SEPARATOR) if name)


def digest_questions(questions: Sequence[EncodedQuestion]) -> str:
    """Return what tells questions, their order and their graphs from others."""
    digest = blake2b(digest_size=12)
    graphs: dict[int, str] = {}
    for one in questions:
        question, graph = one.question, one.question_graph.graph.graph
        if id(graph) not in graphs:
            graphs[id(graph)] = _digest_graph(graph)
        told = [question.id, question.text, question.answers, one.question_graph.topics.tolist(), graphs[id(graph)]]
        digest.update(json.dumps(told).encode() + b"\n")
    return f"{len(questions)}-{digest.hexdigest()}"


def _digest_graph(graph: "TextualGraph") -> str:
    told = json.dumps([list(graph.nodes), list(graph.relations)]).encode()
    return blake2b(told + graph.edges.astype(np.int64).tobytes(), digest_size=12).hexdigest()


def evenly_spaced(count: int, limit: int | None) -> list[int]:
    """Return positions of at most so many of `count` things, evenly over them; all for None."""
    return list(range(count)) if limit is None or limit >= count else [place * count // limit for place in range(limit)]


def train_test_split(
    questions: Sequence[EncodedQuestion], share: float, seed: int
) -> tuple[list[EncodedQuestion], list[EncodedQuestion]]:
    """Part questions in two, by chance; those of one group stay together (see `graph_sets.split`)."""
    numbered = tuple(replace(one.question, graph=place) for place, one in enumerate(questions))
    graphs = LazyGraphs(len(questions), lambda place: questions[place].question_graph.graph.graph)
    first, second = split_dataset(GraphDataset(graphs, numbered), share, seed)
    return [questions[q.graph] for q in first.questions], [questions[q.graph] for q in second.questions]
