"""Cost of indexing: a new index, a second run without changes, and ten additional documents.

`python bench/indexing.py [SET]`
"""

import json
import shutil
import sys

from workbench import BENCHMARKS, DATA, WORK, describe_machine, load_records, print_table, run_clew

MORE = "2wiki-train/corpus.jsonl"


def main() -> None:
    """Print wall-clock seconds and peak memory of each command as a whole process."""
    benchmark = BENCHMARKS[sys.argv[1] if len(sys.argv) > 1 else "2wiki"]
    folder = WORK / f"indexing-{benchmark.name}"
    shutil.rmtree(folder, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    ten = WORK / "ten.jsonl"
    others = [record for record, _ in zip(load_records(DATA / MORE), range(10), strict=False)]
    ten.write_text("".join(json.dumps(record) + "\n" for record in others), encoding="utf-8")
    corpus = str(DATA / benchmark.corpus)
    print(describe_machine())
    rows = []
    for step, path in (("new index", corpus), ("again, unchanged", corpus), ("ten more documents", str(ten))):
        process = run_clew("index", path, "--index", str(folder))
        rows.append(
            [step, f"{process.seconds:.1f} s", f"{process.peak_mib:.0f} MiB", process.output.partition("\n")[0]]
        )
    print_table((benchmark.name, "wall", "peak", "output"), rows)


if __name__ == "__main__":
    main()
