"""The default encoder, in 8-bit integers, beside the same model in fp32: `python bench/encoders.py`.

On 2wiki: cosine of their vectors on evenly spaced passages, milliseconds of one question, passages encoded a second,
and recall of `dense` on an index of each form. What is timed alternates between the forms, so that what else the
machine does falls on both alike. The fp32 form needs the extra `encoders`.
"""

import statistics
import time
from collections.abc import Sequence

import numpy as np

from clew import index as indexes
from clew.arrays import FloatArray
from clew.evaluation.significance import compare_means
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.protocols import Encoder
from clew_lab.datasets.loaders import load_questions
from workbench import (
    BENCHMARKS,
    DATA,
    build_index,
    describe_machine,
    fp32_folder,
    gold_recall,
    load_records,
    print_table,
)

FORMS = (str(fp32_folder()), DEFAULT_ENCODER)
PASSAGES, QUESTIONS, PARTS, WARM, CUTOFFS = 1000, 200, 10, 10, (2, 5)


def main() -> None:
    """Print a row per form, and the paired differences of recall."""
    print(describe_machine())
    benchmark = BENCHMARKS["2wiki"]
    records = list(load_records(DATA / benchmark.corpus))
    records = [records[number * len(records) // PASSAGES] for number in range(PASSAGES)]
    texts = [f"{record['title']}\n{record['text']}" for record in records]
    questions = load_questions(DATA / benchmark.questions)
    encoders = [open_encoder(form) for form in FORMS]
    vectors, speeds = encode_in_turns(encoders, texts)
    milliseconds = time_questions(encoders, [question.text for question in questions[:QUESTIONS]])
    recalls = []
    for form in FORMS:
        retriever = indexes.open(build_index(benchmark, form)).retriever("dense", 0)
        found = retriever.retrieve([question.text for question in questions], max(CUTOFFS))
        pairs = list(zip(found, questions, strict=True))
        recalls.append([np.array([gold_recall(evidence, one, k) for evidence, one in pairs]) for k in CUTOFFS])
    rows = []
    for number, form in enumerate(FORMS):
        cosines = (vectors[number] * vectors[0]).sum(axis=1)
        figures = (
            f"{cosines.mean():.4f}",
            f"{cosines.min():.4f}",
            f"{milliseconds[number]:.1f}",
            f"{speeds[number]:.0f}",
        )
        rows.append([form, *figures, *(f"{100 * recall.mean():.1f}" for recall in recalls[number])])
    heads = "cosine to fp32, mean", "least", "ms a question", "passages a second"
    print_table(("form", *heads, *(f"dense R@{k}" for k in CUTOFFS)), rows)
    for k, fp32, int8 in zip(CUTOFFS, *recalls, strict=True):
        c = compare_means(("int8", "fp32"), f"recall@{k}", int8, fp32, np.random.default_rng(0))
        interval = f"{100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.4f}"
        print(f"{c.a} - {c.b}, R@{k}: {100 * c.difference:+.1f} ({interval})")


def encode_in_turns(encoders: Sequence[Encoder], texts: Sequence[str]) -> tuple[list[FloatArray], list[float]]:
    """Return each encoder's vectors (n, dimension) of n texts, and the texts that it encodes a second."""
    rows: list[list[FloatArray]] = [[] for _ in encoders]
    seconds = [0.0] * len(encoders)
    for encoder in encoders:
        encoder.encode(texts[:WARM])
    for part in range(PARTS):
        for number, encoder in enumerate(encoders):
            started = time.perf_counter()
            rows[number].append(encoder.encode(texts[part::PARTS]))
            seconds[number] += time.perf_counter() - started
    return [np.concatenate(parts) for parts in rows], [len(texts) / one for one in seconds]


def time_questions(encoders: Sequence[Encoder], texts: Sequence[str]) -> list[float]:
    """Return the median milliseconds in which each encoder encodes one question."""
    milliseconds: list[list[float]] = [[] for _ in encoders]
    for text in texts:
        for number, encoder in enumerate(encoders):
            started = time.perf_counter()
            encoder.encode_queries([text])
            milliseconds[number].append(1000 * (time.perf_counter() - started))
    return [statistics.median(one) for one in milliseconds]


if __name__ == "__main__":
    main()
