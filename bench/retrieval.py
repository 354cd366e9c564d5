"""Recall of every retriever on every set: `python bench/retrieval.py [SET ...] [--retrievers a,b]`."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from clew import index as indexes
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.plugins.spec import split_list
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, WORK, build_index, build_questions, describe_machine, print_table

RETRIEVERS = "pagerank,bm25,dense,fused,title-links,entity-graph,hipporag,hipporag2,linearrag,sprig"
MEASURES = ("recall@2", "recall@5", "all_gold@5", "recall@10")


def main() -> None:
    """Print one table per set, and write the full reports beside the indexes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev", "musique", "musique-published"])
    parser.add_argument("--retrievers", default=RETRIEVERS)
    parser.add_argument("--encoder", default=DEFAULT_ENCODER, help="none suffices for bm25 and pagerank")
    arguments = parser.parse_args()
    print(describe_machine())
    for name in arguments.sets:
        report_set(name, split_list(arguments.retrievers), build_questions(BENCHMARKS[name]), arguments.encoder)


def report_set(name: str, retrievers: Sequence[str], questions: Path, encoder: str = DEFAULT_ENCODER) -> None:
    """Print the table of a set and the paired comparisons of the first retriever, and write the report."""
    index = indexes.open(build_index(BENCHMARKS[name], encoder))
    parsed = {retriever: parse_retriever(retriever) for retriever in retrievers}
    report = evaluate_retrievers(index, questions, parsed, (2, 5, 10), None, None, lambda *_: None).to_json()
    (WORK / f"retrieval-{name}-{encoder}.json").write_text(json.dumps(report, indent=1))
    caption = f"{name}: {report['questions']} questions, {len(index.snapshot.passage_ids)} passages"
    print(f"\n{caption}; in %, 95% interval")
    print_table(("retriever", *MEASURES, "ms p50", "ms p95"), format_rows(report), caption)
    for c in report["comparisons"]:
        if c["measure"] in ("recall@2", "recall@5"):
            interval = f"{100 * c['low']:+.1f} to {100 * c['high']:+.1f}, p = {c['p']:.4f}"
            print(f"{c['a']} - {c['b']}, {c['measure']}: {100 * c['difference']:+.1f} ({interval})", flush=True)


def format_rows(report: dict) -> list[list[str]]:  # type: ignore[type-arg]
    """Return one row per retriever, and the ceiling."""
    rows = []
    for name, summary in report["retrievers"].items():
        cells = [name]
        for measure_ in MEASURES:
            low, high = summary["intervals"][measure_]
            cells.append(f"{100 * summary[measure_]:.1f} ({100 * low:.1f}-{100 * high:.1f})")
        rows.append([*cells, f"{1000 * summary['seconds_p50']:.1f}", f"{1000 * summary['seconds_p95']:.1f}"])
    ceiling = [f"{100 * report['ceiling'][m]:.1f}" if m in report["ceiling"] else "" for m in MEASURES]
    return [*rows, ["ceiling", *ceiling, "", ""]]


if __name__ == "__main__":
    main()
