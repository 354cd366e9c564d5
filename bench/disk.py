"""What an index takes on disk, for a passage: `python bench/disk.py INDEX...`.

Of an index that was just made: later ones hold files of older versions too, until `clew compact`. Short texts are
names, compared when a version is made, and what the first search with `gfm` encodes; that search stores the rest, too.
"""

import argparse
from pathlib import Path

from clew.store.passage_table import PassageTable
from clew.store.snapshot_files import snapshot_folder
from workbench import describe_machine, print_table

PARTS = ("table", "segments", "snapshot", "vectors of short texts", "other")


def main() -> None:
    """Print one row an index."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", type=Path, nargs="+")
    print(describe_machine())
    rows = []
    for folder in parser.parse_args().indexes:
        table = PassageTable.open(folder)
        passages = table.count_rows()
        sizes = measure(folder, snapshot_folder(table))
        per_passage = [f"{sizes[part] / passages / 1000:.2f}" for part in PARTS]
        total = f"{sum(sizes.values()) / passages / 1000:.2f}"
        rows.append([folder.name, f"{passages:,}", str(table.dimension), *per_passage, total])
    print_table(("index", "passages", "width", *(f"{part}, kB" for part in PARTS), "all, kB"), rows)


def measure(folder: Path, snapshot: Path) -> dict[str, int]:
    """Return the bytes of each part of an index."""
    derived = folder / "derived"
    places = {
        "table": folder / "passages.lance",
        "segments": derived / "segments",
        "snapshot": snapshot,
        "vectors of short texts": derived / "vectors.lance",
    }
    sizes = {part: count_bytes(place) for part, place in places.items()}
    return {**sizes, "other": count_bytes(folder) - sum(sizes.values())}


def count_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
