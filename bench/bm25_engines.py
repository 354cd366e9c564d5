"""Compare BM25 of our own with Lance's full-text index: recall, milliseconds, build time.

`python bench/bm25_engines.py [SET]`
"""

import shutil
import sys
import time

import lance
import numpy as np
import pyarrow as pa

from clew.arrays import top_order
from clew.text.bm25 import BM25Index
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, DATA, WORK, describe_machine, load_records, print_table


def main() -> None:
    """Print a row per engine, on the same texts and questions."""
    benchmark = BENCHMARKS[sys.argv[1] if len(sys.argv) > 1 else "hotpotqa"]
    rows = sorted(load_records(DATA / benchmark.corpus), key=lambda r: r["id"])
    ids = [r["id"] for r in rows]
    texts = [f"{r['title']}\n{r['text']}" for r in rows]
    questions = load_questions(DATA / benchmark.questions)
    print(describe_machine())
    table = []

    start = time.perf_counter()
    ours = BM25Index.build(texts)
    seconds = time.perf_counter() - start
    table.append(
        ["clew", f"{seconds:.1f}", *measure(questions, lambda q: [ids[p] for p in top_order(ours.scores(q), 10)])]
    )

    folder = WORK / "fts.lance"
    shutil.rmtree(folder, ignore_errors=True)
    start = time.perf_counter()
    dataset = lance.write_dataset(pa.table({"id": ids, "text": texts}), str(folder))
    dataset.create_scalar_index("text", "INVERTED", stem=True, remove_stop_words=True, with_position=False)
    seconds = time.perf_counter() - start

    def search(question: str) -> list[str]:
        table = dataset.scanner(columns=["id", "_score"], full_text_query=question, limit=10).to_table()
        return list(table["id"].to_pylist())

    table.append(["Lance full text", f"{seconds:.1f}", *measure(questions, search)])
    print_table((f"{benchmark.name}", "build s", "recall@2", "recall@5", "ms p50"), table)


def measure(questions, search) -> list[str]:  # type: ignore[no-untyped-def]
    """Return recall@2 and recall@5 in % and the median milliseconds."""
    recalls: list[tuple[float, float]] = []
    milliseconds = []
    for question in questions:
        start = time.perf_counter()
        ids = search(question.text)
        milliseconds.append(1000 * (time.perf_counter() - start))
        gold = set(question.gold)
        recalls.append((len(gold & set(ids[:2])) / len(gold), len(gold & set(ids[:5])) / len(gold)))
    two, five = (100 * np.mean(column) for column in zip(*recalls, strict=True))
    return [f"{two:.1f}", f"{five:.1f}", f"{np.median(milliseconds):.2f}"]


if __name__ == "__main__":
    main()
