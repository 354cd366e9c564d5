"""Answers of `clew ask` without a language model, rules beside the trained ranker: `python bench/answers.py [SET ...]`.

Both read the same evidence of `gfm`. Questions whose gold passages are taken out of the evidence stand for those that
the documents do not answer. Times are processor time of an answer without the retrieval, question after question;
compare them within a table alone.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np

from clew import index as indexes
from clew.answering.extractive import ExtractiveAnswerer
from clew.answering.selection import open_extractive_answerer
from clew.arrays import FloatArray
from clew.evaluation.answer_metrics import containment, exact_match, token_f1
from clew.evaluation.significance import compare_means
from clew.protocols import Encoder
from clew.retrievers.registry import parse_retriever
from clew.types import Answer, Evidence, Question
from clew_lab.datasets.loaders import load_questions
from clew_lab.training.recipes.answers import FURTHER_PASSAGES, PASSAGES, remove_gold
from workbench import BENCHMARKS, DATA, WORK, describe_machine, print_table

MEASURES = {"EM": exact_match, "F1": token_f1, "containment": containment}
NAMES = ("ranker", "rules")
TIMED = 40


def main() -> None:
    """Print a table for each set, and the paired comparison of exact match."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["hotpotqa", "musique-dev"])
    parser.add_argument("--retriever", default="gfm")
    parser.add_argument("--every", type=int, default=4, help="every so many questions are asked without gold too")
    arguments = parser.parse_args()
    print(describe_machine())
    for name in arguments.sets:
        index = indexes.open(next(WORK.glob(f"{name}-all-MiniLM-L6-v2-int8")))
        encoder = index.context.encoder
        answerers = dict(zip(NAMES, (open_extractive_answerer(encoder), ExtractiveAnswerer(encoder)), strict=True))
        retriever = index.retriever(parse_retriever(arguments.retriever), 1)
        questions = [q for q in load_questions(DATA / BENCHMARKS[name].questions) if q.answers]
        evidence = [retriever.retrieve([q.text], PASSAGES)[0] for q in questions]
        without = [
            (q, remove_gold(retriever.retrieve([q.text], FURTHER_PASSAGES)[0], q, PASSAGES))
            for q in questions[:: arguments.every]
        ]
        print(f"\n{name}: {len(questions)} questions, {len(without)} also without their gold passages; in %")
        milliseconds = time_answers(answerers, questions, evidence)
        cached = RememberedQueries(encoder)
        answerers = dict(zip(NAMES, (open_extractive_answerer(cached), ExtractiveAnswerer(cached)), strict=True))
        report(answerers, questions, evidence, without, milliseconds)


class RememberedQueries:
    """An encoder whose vectors of texts are computed once for all answerers, after the times were taken."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.dimension, self.fingerprint = encoder.name, encoder.dimension, encoder.fingerprint
        self._encoder = encoder
        self._rows: dict[tuple[str, ...], FloatArray] = {}

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """Return unit vectors (n, d) of passages."""
        return self._encoder.encode(texts)

    def encode_queries(self, texts: Sequence[str]) -> FloatArray:
        """Return unit vectors (n, d) of texts."""
        key = tuple(texts)
        if key not in self._rows:
            self._rows[key] = self._encoder.encode_queries(texts)
        return self._rows[key]


def report(
    answerers: dict[str, ExtractiveAnswerer],
    questions: Sequence[Question],
    evidence: Sequence[Evidence],
    without: Sequence[tuple[Question, Evidence]],
    milliseconds: dict[str, float],
) -> None:
    """Print measures, refusals and times of each answerer, and their difference in exact match."""
    rows, exact = [], {}
    for name, answerer in answerers.items():
        answers = [answerer.answer_one(q.text, found) for q, found in zip(questions, evidence, strict=True)]
        values = {measure: score(function, answers, questions) for measure, function in MEASURES.items()}
        exact[name] = values["EM"]
        refused = np.mean([not answer.text for answer in answers])
        found = np.mean([not answerer.answer_one(q.text, some).text for q, some in without])
        shares = [*(column.mean() for column in values.values()), refused, found]
        rows.append([name, *(f"{100 * share:.1f}" for share in shares), f"{milliseconds[name]:.0f}"])
    print_table(("", *MEASURES, "no answer", "no answer without gold", "ms"), rows)
    c = compare_means(NAMES, "EM", exact[NAMES[0]], exact[NAMES[1]], np.random.default_rng(0))
    interval = f"{100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.4f}"
    print(f"{c.a} - {c.b}, EM: {100 * c.difference:+.1f} ({interval})")


def score(measure, answers: Sequence[Answer], questions: Sequence[Question]) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return a measure of each answer."""
    return np.array([measure(answer.text, q.answers) for answer, q in zip(answers, questions, strict=True)])


def time_answers(
    answerers: dict[str, ExtractiveAnswerer], questions: Sequence[Question], evidence: Sequence[Evidence]
) -> dict[str, float]:
    """Return the median milliseconds of processor time of an answer, each after the other for every question."""
    spent: dict[str, list[float]] = {name: [] for name in answerers}
    for question, found in list(zip(questions, evidence, strict=True))[:TIMED]:
        for name, answerer in answerers.items():
            started = time.process_time()
            answerer.answer_one(question.text, found)
            spent[name].append(1000 * (time.process_time() - started))
    return {name: float(np.median(values)) for name, values in spent.items()}


if __name__ == "__main__":
    main()
