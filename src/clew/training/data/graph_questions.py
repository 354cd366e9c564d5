"""Questions with the vectors of their graphs: read from sets and indexes, parted, and told apart from one another."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.datasets.graph_datasets import BETWEEN, GraphQuestion, GraphSet, MadeGraphs, check_places, split
from clew.datasets.loaders import load_questions
from clew.errors import InputError
from clew.index import Index
from clew.protocols import Encoder
from clew.retrievers.subgraph.encoding import GraphEncoder
from clew.retrievers.subgraph.retriever import SubgraphRetriever, SubgraphSettings
from clew.retrievers.subgraph.selectors import WholeGraph

if TYPE_CHECKING:
    from clew.graph.subgraphs.textual_graph import AskedGraph, EncodedGraph, TextualGraph

Progress = Callable[[str, int, int], None]
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class AskedQuestion:
    """A question of a set with the vectors of its graph."""

    question: GraphQuestion
    asked: "AskedGraph"


def asked_questions(
    graph_set: GraphSet, encoder: Encoder, progress: Progress, note: Note | None = None
) -> list[AskedQuestion]:
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
        check_places(question, graphs[place_of[question.graph]])
    texts = [(place_of[q.graph], q.text, q.topics) for q in questions]
    vectors.remember(graphs, texts, lambda done, total: progress("encoding texts", done, total))
    encoded: dict[int, EncodedGraph] = {}
    found: list[AskedQuestion] = []
    for number, question in enumerate(questions, 1):
        progress("reading questions", number, count)
        place = place_of[question.graph]
        if place not in encoded:
            encoded[place] = vectors.encoded(graphs[place])
        graph = encoded[place]
        if len(graph.graph.nodes):
            found.append(AskedQuestion(question, vectors.asked(graph, question.text, question.topics)))
    _tell(len(graph_set.questions), len(questions), len(found), "is on a graph with nodes", note)
    return found


def _tell(count: int, answered: int, found: int, wanted: str, note: Note | None) -> None:
    """Say how many questions were left out, by reason."""
    if not found:
        raise InputError(f"none of {count} questions has answers and {wanted}: give others")
    if note and answered < count:
        note(f"{count - answered} of {count} questions have no answer and are left out")
    if note and found < answered:
        note(f"{answered - found} of {count} questions are left out: none of them {wanted}")


def index_questions(
    index: Index, path: Path, progress: Progress, most: int | None = None, note: Note | None = None
) -> list[AskedQuestion]:
    """Return questions on an index that have answers, each on what `gcn-subgraph` and `steiner` look at for it.

    Args:
        index: With a graph, imported or made of documents.
        path: Questions in Clew's form; without `topic` the names in a question are linked.
        progress: Told the questions that were read.
        most: Questions at most, spread evenly over the file.
        note: Told how many were left out, and why.

    Raises:
        InputError: The questions cannot be read, or none that has answers names an entity with facts.
    """
    parts = index.parts
    of = parts.graph_parts()
    near = SubgraphRetriever(
        of.scope, of.lexical, of.graph, parts.text_vectors, WholeGraph(), "", SubgraphSettings(), by_words=True
    )
    found: list[AskedQuestion] = []
    read = load_questions(path)
    asked = [read[place] for place in spread(len(read), most)]
    for number, question in enumerate(asked):
        progress("reading questions", number, len(asked))
        selected = near.select(question.text, question.topics)
        graph = selected.asked.graph.graph
        if not len(graph.edges) or not question.answers:
            continue
        place_of = {name: place for place, name in enumerate(graph.nodes)}
        chains = ([place_of.get(end, -1) for h, _, t in path for end in (h, t)] for path in question.paths)
        gold = tuple(tuple(dict.fromkeys(chain)) for chain in chains if -1 not in chain)
        topics = tuple(selected.asked.topics.tolist())
        group = BETWEEN.join(sorted(graph.nodes[topic] for topic in topics))
        told = GraphQuestion(question.id, number, question.text, question.answers, topics, gold, group)
        found.append(AskedQuestion(told, selected.asked))
    _tell(len(asked), sum(bool(question.answers) for question in asked), len(found), "names an entity with facts", note)
    return found


def apart(
    learned: Sequence[AskedQuestion], tested: Sequence[AskedQuestion], *, one_file: bool, graphs: bool
) -> list[AskedQuestion]:
    """Return the questions to learn from that tell nothing of those that are measured: of other groups and texts.

    Args:
        learned: Of which some are left out.
        tested: That are measured.
        one_file: Whether both are parts of one file, whose parting is not ours: there equal ids are the same question,
            and groups may be torn apart.
        graphs: Whether questions have graphs of their own; then equal texts on other graphs are other questions.
    """
    taken = {mark for one in tested for mark in _marks(one, one_file, graphs)}
    return [one for one in learned if taken.isdisjoint(_marks(one, one_file, graphs))]


def _marks(one: AskedQuestion, one_file: bool, graphs: bool) -> Iterator[tuple[str, ...]]:
    """Yield what two questions must not share."""
    question = one.question
    on = _graph_digest(one.asked.graph.graph) if graphs else ""
    yield "text", " ".join(question.text.casefold().split()), on
    if one_file:
        yield "id", question.id
    else:
        yield from (("group", name) for name in question.group.split(BETWEEN) if name)


def questions_digest(asked: Sequence[AskedQuestion]) -> str:
    """Return what tells questions, their order and their graphs from others."""
    digest = blake2b(digest_size=12)
    graphs: dict[int, str] = {}
    for one in asked:
        question, graph = one.question, one.asked.graph.graph
        if id(graph) not in graphs:
            graphs[id(graph)] = _graph_digest(graph)
        told = [question.id, question.text, question.answers, one.asked.topics.tolist(), graphs[id(graph)]]
        digest.update(json.dumps(told).encode() + b"\n")
    return f"{len(asked)}-{digest.hexdigest()}"


def _graph_digest(graph: "TextualGraph") -> str:
    told = json.dumps([list(graph.nodes), list(graph.relations)]).encode()
    return blake2b(told + graph.edges.astype(np.int64).tobytes(), digest_size=12).hexdigest()


def spread(count: int, most: int | None) -> list[int]:
    """Return positions of at most so many of `count` things, evenly over them; all for None."""
    return list(range(count)) if most is None or most >= count else [place * count // most for place in range(most)]


def parted(asked: Sequence[AskedQuestion], share: float, seed: int) -> tuple[list[AskedQuestion], list[AskedQuestion]]:
    """Part questions in two, by chance; those of one group stay together (see `graph_sets.split`)."""
    numbered = tuple(replace(one.question, graph=place) for place, one in enumerate(asked))
    graphs = MadeGraphs(len(asked), lambda place: asked[place].asked.graph.graph)
    first, second = split(GraphSet(graphs, numbered), share, seed)
    return [asked[q.graph] for q in first.questions], [asked[q.graph] for q in second.questions]
