"""Evaluation of a subgraph selection with a reader: correct answers, gold evidence, sizes and times."""

import time
from collections.abc import Sequence

import numpy as np

from clew.arrays import DoubleArray
from clew.errors import InputError
from clew.graph.subgraphs.textual_graph import Subgraph
from clew.retrievers.subgraph.encoding import SubgraphSelector
from clew.text.answer_metrics import answer_tokens, containment, normalize_answer
from clew.text.normalization import name_key
from clew_lab.datasets.graph_datasets import AccuracyRule
from clew_lab.evaluation.kgqa_metrics import CHARACTERS_PER_TOKEN
from clew_lab.evaluation.published_accuracy import published_accuracy, published_f1
from clew_lab.graph.reader_context import GraphContext, build_context
from clew_lab.graph_readers.protocols import GraphReader, TokenCounter
from clew_lab.training.data.graph_questions import EncodedQuestion, lowest_losses

MEASURES = (
    "accuracy", "published", "F1", "containment", "gold", "loss", "nodes", "tokens", "select_ms", "read_ms"
)  # fmt: skip
"""Measures of each question: whether the reply equals an answer; accuracy as published for its data set, and F1 as
published for WebQSP, NaN for other rules; whether the reply contains an answer in whole words, or of a set with choices
whether the first choice it names is the answer; whether all nodes of a gold path are selected; the reader's loss, nodes
of the context and tokens of its text (a quarter of its characters for a reader without tokens), and milliseconds of the
selection and of the reading."""
BATCH_SIZE = 8
"""Questions that are read in one call, each with its share of the time."""


def evaluate_selector(
    selector: SubgraphSelector,
    reader: GraphReader,
    questions: Sequence[EncodedQuestion],
    budget: int,
    choices: Sequence[str] = (),
    rule: AccuracyRule = "hit",
) -> DoubleArray:
    """Return `MEASURES` (n, m) of a selector and a reader; NaN for gold without gold paths, and for warm-up times.

    `choices` are the possible answers, if all questions share a small set of them; without any, accuracy as published
    is by `rule`.

    Compilation and loading at first use are not timed: the times of the first `BATCH_SIZE` questions are NaN if there
    are more questions, else all are selected and read twice. Raises InputError if a question has no answer.
    """
    if without := [item.question.id for item in questions if not item.question.answers]:
        raise InputError(f"question {without[0]!r} has no answer to measure by: wanted at least one; leave it out")
    if 0 < len(questions) <= BATCH_SIZE:
        warm = [build_context(item.question_graph, _select_timed(selector, item, budget)[0]) for item in questions]
        reader.generate([item.question.text for item in questions], warm)
    rows = np.empty((len(questions), len(MEASURES)))
    for start in range(0, len(questions), BATCH_SIZE):
        batch = questions[start : start + BATCH_SIZE]
        timed = [_select_timed(selector, item, budget) for item in batch]
        contexts = [build_context(item.question_graph, part) for item, (part, _) in zip(batch, timed, strict=True)]
        started = time.perf_counter()
        replies = reader.generate([item.question.text for item in batch], contexts)
        read_ms = 1000 * (time.perf_counter() - started) / len(batch)
        losses, tokens = lowest_losses(reader, batch, contexts), _count_tokens(reader, batch, contexts)
        for row, item in enumerate(batch):
            correct = name_key(replies[row]) in {name_key(answer) for answer in item.question.answers}
            sizes = len(contexts[row].subgraph.nodes), tokens[row]
            times = timed[row][1], read_ms
            answered = correct, *_score_reply(replies[row], item.question.answers, choices, rule)
            rows[start + row] = (*answered, _gold_coverage(item, contexts[row]), losses[row], *sizes, *times)
    if len(questions) > BATCH_SIZE:
        rows[:BATCH_SIZE, [MEASURES.index("select_ms"), MEASURES.index("read_ms")]] = np.nan
    return rows


def _score_reply(
    reply: str, answers: Sequence[str], choices: Sequence[str], rule: AccuracyRule
) -> tuple[float, float, float]:
    """Return accuracy and F1 as published, and containment."""
    contained = containment(first_choice(reply, choices) if choices else reply, answers)
    published = published_accuracy(reply, answers, "first-choice" if choices else rule, choices)
    f1 = published_f1(reply, answers) if rule == "hit" and not choices else float("nan")
    return published, f1, contained


def count_truncated(reader: GraphReader) -> int:
    """Return the number of distinct graphs that were too long for a reader so far."""
    return reader.truncated_graphs if isinstance(reader, TokenCounter) else 0


def _select_timed(selector: SubgraphSelector, item: EncodedQuestion, budget: int) -> tuple[Subgraph, float]:
    """Return a subgraph and the milliseconds of its selection."""
    started = time.perf_counter()
    (part,) = selector.select([item.question_graph], budget)
    return part, 1000 * (time.perf_counter() - started)


def _count_tokens(
    reader: GraphReader, batch: Sequence[EncodedQuestion], contexts: Sequence[GraphContext]
) -> Sequence[float]:
    if isinstance(reader, TokenCounter):
        return reader.count_tokens([item.question.text for item in batch], contexts)
    return [len(context.text) / CHARACTERS_PER_TOKEN for context in contexts]


def _gold_coverage(item: EncodedQuestion, context: GraphContext) -> float:
    nodes, gold = set(context.subgraph.nodes.tolist()), item.question.gold
    return float(any(nodes.issuperset(path) for path in gold)) if gold else float("nan")


def first_choice(reply: str, choices: Sequence[str]) -> str:
    """Return which of some choices, of one word each, comes first in a reply; "" for none."""
    by_key = {normalize_answer(choice): choice for choice in choices}
    return next((by_key[word] for word in answer_tokens(reply) if word in by_key), "")
