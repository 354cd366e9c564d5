"""Adaptation of hop predictors to the first quarter of the evaluated questions; the rest of them is measured.

Source: Gao et al., "FRAG" (2025), section 4.2 and A.4.1 (FRAG-F: FastAdaptation with 3 epochs, batches of 16, rate
1e-4 and weight decay 0 on the first 25 % of the questions).
Differs from the source: without a language model the labels are the lengths of the shortest paths to the gold answers;
the adapting questions are not measured, in neither arm; questions without a label are skipped, not replaced.
"""

from collections.abc import Sequence
from dataclasses import replace

from clew.answering.kg_paths import named_path
from clew.errors import InputError
from clew.index import Index
from clew.retrievers.frag.retriever import FragRetriever
from clew.text.display import format_count
from clew.training.fitting.hop_predictor import HopExample
from clew.training.recipes.router import feedback_example
from clew.types import Answer, Progress, Question
from clew_lab.training.recipes.frag import adapt_hop_predictor, hop_examples

FEEDBACK_SHARE = 0.25
"""Share of the questions that adapt the hop predictor."""
FROM_ANSWERS, FROM_MODEL = "answers", "model"
SOURCES = (FROM_ANSWERS, FROM_MODEL)
"""Where the numbers of hops come from: shortest paths to the gold answers, or the paths that a language model names."""


def split_for_adaptation(questions: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Return the first quarter of the questions and the rest; raises InputError for fewer than four."""
    count = int(len(questions) * FEEDBACK_SHARE)
    if not count:
        raise InputError(
            f"--adapt learns from the first quarter of {format_count(len(questions), 'question')}: give at least 4"
        )
    return list(questions[:count]), list(questions[count:])


def can_adapt(retriever: object) -> bool:
    """Return whether a retriever has a hop predictor, so that its searches depend on what is learned."""
    return isinstance(retriever, FragRetriever) and retriever.hop_predictor is not None


def hops_to_gold(index: Index, questions: Sequence[Question], progress: Progress) -> list[HopExample]:
    """Return the questions with the lengths of the shortest paths to their answers, whatever the data set says."""
    return hop_examples(index, [replace(question, hops=0) for question in questions], progress)[0]


def hops_of_named_paths(questions: Sequence[Question], answers: Sequence[Answer]) -> list[HopExample]:
    """Return the questions whose answer names its path, with the number of hops of that path."""
    paths = [(question, named_path(answer)) for question, answer in zip(questions, answers, strict=True)]
    return [feedback_example(question.text, question.topics, len(path)) for question, path in paths if path]


def adapt(name: str, retriever: FragRetriever, examples: Sequence[HopExample]) -> FragRetriever:
    """Return a retriever with an adapted hop predictor; raises InputError where it has none, or nothing was learned."""
    if retriever.hop_predictor is None:
        raise InputError(f"{name} asks no hop predictor, so there is nothing to adapt: choose frag")
    if not examples:
        raise InputError(
            f"--adapt found no number of hops for {name}: no question has a path to its answers in the graph, or the "
            "language model named none"
        )
    return replace(retriever, hop_predictor=adapt_hop_predictor(retriever.hop_predictor, examples))
