"""What indexing costs: from nothing, again with nothing changed, and with ten documents more.

`python bench/indexing.py [SET]`
"""

import json
import shutil
import sys

from workbench import BENCHMARKS, DATA, WORK, clew, machine, print_table, records

MORE = "2wiki-train/corpus.jsonl"


def main() -> None:
    """Print seconds and peak memory of each command as a whole process."""
    benchmark = BENCHMARKS[sys.argv[1] if len(sys.argv) > 1 else "2wiki"]
    folder = WORK / f"indexing-{benchmark.name}"
    shutil.rmtree(folder, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    ten = WORK / "ten.jsonl"
    others = [record for record, _ in zip(records(DATA / MORE), range(10), strict=False)]
    ten.write_text("".join(json.dumps(record) + "\n" for record in others), encoding="utf-8")
    corpus = str(DATA / benchmark.corpus)
    print(machine())
    rows = []
    for what, path in (("from nothing", corpus), ("again, nothing changed", corpus), ("ten documents more", str(ten))):
        process = clew("index", path, "--index", str(folder))
        rows.append(
            [what, f"{process.seconds:.1f} s", f"{process.peak_mib:.0f} MiB", process.output.partition("\n")[0]]
        )
    print_table((benchmark.name, "wall", "peak", "what it said"), rows)


if __name__ == "__main__":
    main()
