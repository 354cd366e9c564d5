"""Time warm questions in process, as multiples of the encoder alone: `python bench/latency.py [SET]`.

[--retrievers a,b] [--paths N]. Each question is answered by all in turn, so that a busy machine slows all of them.
Beside the retrievers: bm25s, and the same vectors in a flat index of faiss, both with their own defaults. With
`--index`: the time of a new index, as a multiple of the encoder's for the same passages.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the commands set it

import argparse
import resource
import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from clew import index as indexes
from clew.indexing.sentence_vectors import join_title
from clew.plugins.spec import split_list
from clew.protocols import Retriever
from clew.retrievers.registry import parse_retriever
from workbench import (
    BENCHMARKS,
    WORK,
    build_corpus,
    build_index,
    describe_machine,
    load_question_texts,
    print_table,
    run_clew,
)

ROUNDS = 200
LIMIT = "the encoder alone"
Answer = Callable[[str], object]


def main() -> None:
    """Print the median and 95th percentile over questions, each asked once after ten warm-up questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", nargs="?", default="2wiki")
    parser.add_argument("--retrievers", default="bm25,dense,pagerank,chains,gfm")
    parser.add_argument("--paths", type=int, default=0, help="explanations per passage, for gfm")
    parser.add_argument("--index", action="store_true", help="time a new index instead")
    arguments = parser.parse_args()
    benchmark = BENCHMARKS[arguments.set]
    index = indexes.open(build_index(benchmark))
    print(describe_machine())
    if arguments.index:
        time_index(index, benchmark.name)
        return
    answers: dict[str, Answer] = {LIMIT: lambda text: index.context.encoder.encode_queries([text])}
    answers |= open_rivals(index)
    for name in split_list(arguments.retrievers):
        retriever = index.retriever(parse_retriever(name), arguments.paths)
        answers[name] = partial(retrieve_five, retriever)
    times = time_in_turn(answers, load_question_texts(benchmark))
    limit = float(np.median(times[LIMIT]))
    rows = [
        [name, f"{np.median(own):.1f}", f"{np.percentile(own, 95):.1f}", f"{np.median(own) / limit:.1f}"]
        for name, own in times.items()
    ]
    head = (f"{benchmark.name}, {len(index.snapshot.passage_ids)} passages", "ms p50", "ms p95", "times the limit")
    print_table(head, rows)


def retrieve_five(retriever: Retriever, text: str) -> object:
    """Answer a question with five passages."""
    return retriever.retrieve([text], 5)


def open_rivals(index: indexes.Index) -> dict[str, Answer]:
    """Return what answers a question by other libraries, over the texts and vectors of an index."""
    import bm25s
    import faiss

    snapshot, encoder = index.snapshot, index.context.encoder
    texts = [join_title(title, text) for title, text in zip(snapshot.titles, snapshot.texts, strict=True)]
    words = bm25s.BM25()
    words.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    flat = faiss.IndexFlatIP(encoder.dimension)
    flat.add(snapshot.vectors.rows(np.arange(len(texts))))
    return {
        "bm25s": lambda text: words.retrieve(
            bm25s.tokenize(text, show_progress=False), k=5, show_progress=False, n_threads=1
        ),
        "the vectors in faiss": lambda text: flat.search(encoder.encode_queries([text]), 5),
    }


def time_in_turn(answers: Mapping[str, Answer], texts: list[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each answer to each question."""
    times: dict[str, list[float]] = {name: [] for name in answers}
    for text in (*texts[-10:], *texts[:ROUNDS]):
        for name, answer in answers.items():
            start = time.perf_counter()
            answer(text)
            times[name].append(1000 * (time.perf_counter() - start))
    return {name: own[10:] for name, own in times.items()}


def time_questions(index: indexes.Index, name: str, texts: list[str], paths: int = 0) -> list[float]:
    """Return the milliseconds of each question at k = 5."""
    retriever = index.retriever(parse_retriever(name), paths)
    return time_in_turn({name: partial(retrieve_five, retriever)}, texts)[name]


def time_index(index: indexes.Index, name: str) -> None:
    """Print the processor and wall-clock seconds of the encoder for an index's passages, and of a new index."""
    snapshot = index.snapshot
    texts = [join_title(title, text) for title, text in zip(snapshot.titles, snapshot.texts, strict=True)]
    wall, used = time.perf_counter(), time.process_time()
    index.context.encoder.encode(texts)
    limit = time.perf_counter() - wall, time.process_time() - used
    folder = WORK / f"latency-{name}"
    shutil.rmtree(folder, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = run_clew("index", str(build_corpus(BENCHMARKS[name])), "--index", str(folder))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    mib = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**20
    shutil.rmtree(folder)
    rows = [
        [LIMIT, f"{limit[0]:.1f}", f"{limit[1]:.1f}", "1.0", ""],
        [
            "clew index",
            f"{process.seconds:.1f}",
            f"{spent:.1f}",
            f"{process.seconds / limit[0]:.1f}",
            f"{1024 * mib / len(texts):.1f}",
        ],
    ]
    head = (f"{name}, {len(texts)} passages", "s", "processor s", "times the limit", "KiB a passage")
    print_table(head, rows)


if __name__ == "__main__":
    main()
