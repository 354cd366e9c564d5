"""What a way of selecting subgraphs comes to with a reader: right answers, gold evidence, sizes and times."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clew.answering.graph_readers.protocols import GraphReader, TokenCounter
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import GraphContext, Subgraph, build_context
from clew.retrievers.subgraph.selectors import SubgraphSelector
from clew.text.normalization import name_key
from clew.training.data.graph_questions import EncodedQuestion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    DoubleArray = NDArray[np.float64]

MEASURES = ("accuracy", "gold", "loss", "nodes", "tokens", "select_ms", "read_ms")
"""What is measured of each question: the answer is right; all nodes of some gold chain are there; the reader's loss;
nodes of the context, and tokens that the reader reads of it (a quarter of its characters where the reader has no
tokens); milliseconds of the selection and of the reading."""
BATCH_SIZE = 8
"""Questions that are read at once, each of which took its share of the time."""
_CHARACTERS_PER_TOKEN = 4


def evaluate_selector(
    selector: SubgraphSelector, reader: GraphReader, questions: Sequence[EncodedQuestion], budget: int
) -> "DoubleArray":
    """Return `MEASURES` (n, m) of a way of selecting; no gold is NaN, and so are times of first use.

    What is compiled or loaded at first use is no part of anybody's time: those of the first `TOGETHER` questions are
    not told where there are more, and taken at a second reading where there are not.

    Args:
        selector: Any.
        reader: Of what it selects.
        questions: n, each with an answer.
        budget: Nodes at most.

    Raises:
        InputError: A question has no answer.
    """
    if without := [one.question.id for one in questions if not one.question.answers]:
        raise InputError(f"question {without[0]!r} has no answer to measure by: wanted at least one; leave it out")
    if len(questions) <= BATCH_SIZE:
        _warm_up(selector, reader, questions, budget)
    rows = np.empty((len(questions), len(MEASURES)))
    for start in range(0, len(questions), BATCH_SIZE):
        some = questions[start : start + BATCH_SIZE]
        timed = [_select_timed(selector, one, budget) for one in some]
        contexts = [build_context(one.question_graph, part) for one, (part, _) in zip(some, timed, strict=True)]
        began = time.perf_counter()
        replies = reader.generate([one.question.text for one in some], contexts)
        read = 1000 * (time.perf_counter() - began) / len(some)
        losses, tokens = _lowest_losses(reader, some, contexts), _count_tokens(reader, some, contexts)
        for row, one in enumerate(some):
            right = name_key(replies[row]) in {name_key(answer) for answer in one.question.answers}
            sizes = len(contexts[row].subgraph.nodes), tokens[row]
            rows[start + row] = (right, _gold_coverage(one, contexts[row]), losses[row], *sizes, timed[row][1], read)
    if len(questions) > BATCH_SIZE:
        rows[:BATCH_SIZE, [MEASURES.index("select_ms"), MEASURES.index("read_ms")]] = np.nan
    return rows


def count_truncated(reader: GraphReader) -> int:
    """Return how many different parts of graphs were too long for a reader so far."""
    return reader.truncated_graphs if isinstance(reader, TokenCounter) else 0


def _warm_up(selector: SubgraphSelector, reader: GraphReader, some: Sequence[EncodedQuestion], budget: int) -> None:
    """Select and read once untimed."""
    contexts = [build_context(one.question_graph, _select_timed(selector, one, budget)[0]) for one in some]
    if some:
        reader.generate([one.question.text for one in some], contexts)


def _select_timed(selector: SubgraphSelector, one: EncodedQuestion, budget: int) -> tuple[Subgraph, float]:
    """Return a selection and its milliseconds."""
    began = time.perf_counter()
    (part,) = selector.select([one.question_graph], budget)
    return part, 1000 * (time.perf_counter() - began)


def _lowest_losses(
    reader: GraphReader, some: Sequence[EncodedQuestion], contexts: Sequence[GraphContext]
) -> list[float]:
    """Return the loss of the easiest answer of each question."""
    counts = [len(one.question.answers) for one in some]
    texts = [one.question.text for one in some for _ in one.question.answers]
    repeated = [context for context, count in zip(contexts, counts, strict=True) for _ in range(count)]
    found = reader.loss(texts, repeated, [answer for one in some for answer in one.question.answers])
    lows: list[float] = np.minimum.reduceat(found, np.cumsum([0, *counts])[:-1]).tolist()
    return lows


def _count_tokens(
    reader: GraphReader, some: Sequence[EncodedQuestion], contexts: Sequence[GraphContext]
) -> Sequence[float]:
    if isinstance(reader, TokenCounter):
        return reader.count_tokens([one.question.text for one in some], contexts)
    return [len(context.text) / _CHARACTERS_PER_TOKEN for context in contexts]


def _gold_coverage(one: EncodedQuestion, context: GraphContext) -> float:
    inside = set(context.subgraph.nodes.tolist())
    chains = one.question.gold
    return float(any(inside.issuperset(chain) for chain in chains)) if chains else float("nan")
