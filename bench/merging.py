"""Time the stages of a merge: `python bench/merging.py INDEX [INDEX ...]`.

Segments are opened as a commit opens them; the texts of matches are read once before, as after any earlier commit.
Prints processor time, and the peak memory of the process at the end.
"""

import argparse
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from clew.indexing.merging import merge
from clew.indexing.merging.match_texts import StoredMatchTexts
from clew.indexing.segments.store import ensure_segments
from clew.store.passage_table import PassageTable
from clew.text.bm25 import BM25Index
from clew.types import ignore_progress
from workbench import describe_machine, print_table

STAGES = (
    "order_passages", "join_vocabularies", "name_titles", "make_name_table", "find_matches", "find_facts",
    "name_entities", "order_mentions", "order_triples", "distinct_triples", "walk_graph", "_name_table",
)  # fmt: skip


def main() -> None:
    """Print a table with a column for each index."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("indexes", type=Path, nargs="+")
    results = [measure(folder) for folder in parser.parse_args().indexes]
    print(describe_machine())
    rows = [[stage, *(f"{seconds.get(stage, 0):.3f}" for _, seconds in results)] for stage in results[0][1]]
    print_table(("CPU seconds", *(f"{passages:,} passages" for passages, _ in results)), rows)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


def measure(folder: Path) -> tuple[int, dict[str, float]]:
    """Return the number of passages of an index, and the processor time of each stage of its merge."""
    table = PassageTable.open(folder)
    files = ensure_segments(table, ignore_progress)
    segments = [file.open() for file in files]
    texts = StoredMatchTexts(files, ignore_progress)
    merge.merge_segments(segments, None, 0, texts)
    seconds: dict[str, float] = defaultdict(float)
    with timed(seconds):
        started = time.process_time()
        merged = merge.merge_segments(segments, None, 0, texts)
        total = time.process_time() - started
    started = time.process_time()
    BM25Index.merge([segment.terms for segment in segments], merged.positions, len(merged.passage_ids))
    known = {stage: seconds[stage] for stage in STAGES}
    return len(merged.passage_ids), {
        **known,
        "other": total - sum(known.values()),
        "merge": total,
        "BM25": time.process_time() - started,
    }


@contextmanager
def timed(seconds: dict[str, float]) -> Iterator[None]:
    """Add up the processor time that each stage takes."""

    def wrap(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started = time.process_time()
            result = function(*arguments)
            seconds[name] += time.process_time() - started
            return result

        return call

    with ExitStack() as patches:
        for name in STAGES:
            patches.enter_context(patch.object(merge, name, wrap(name, getattr(merge, name))))
        yield


if __name__ == "__main__":
    main()
