"""Compare the search for equivalent names by lists with the exact one: `python bench/synonym_lists.py INDEX`.

The names are the entities of an index, encoded by the hashing encoder or another one. Prints the pairs that both find,
the share of the exact ones that the lists find, and the ratio of their times.
"""

import argparse
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

import clew
from clew.indexing.resolution import synonyms
from clew.indexing.resolution.pair_cache import count_lists
from clew.models.encoders.registry import open_encoder
from workbench import describe_machine, print_table


def main() -> None:
    """Print one row for each threshold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("index", type=Path)
    parser.add_argument("--encoder", default="hashing")
    parser.add_argument("--names", type=int, default=50_000)
    parser.add_argument("--lists", type=int, default=0, help="number of lists; 0 for that of so many names")
    arguments = parser.parse_args()
    entities = list(dict.fromkeys(clew.open(arguments.index).snapshot.entities))
    chosen = np.random.default_rng(0).permutation(len(entities))[: arguments.names]
    names = [entities[position] for position in sorted(chosen.tolist())]
    vectors = np.asarray(open_encoder(arguments.encoder).encode(names))
    lists = arguments.lists or count_lists(len(names))
    print(describe_machine())
    print(f"{len(names):,} names, {lists:,} lists, encoder {arguments.encoder}")
    rows = []
    for threshold in (0.8, 0.9, 0.95):
        found, seconds = {}, {}
        for kind, limit in (("exact", len(names)), ("lists", 0)):
            started = time.process_time()
            with patch.object(synonyms, "EXACT_NAMES", limit), patch.object(synonyms, "count_lists", lambda _: lists):
                pairs = synonyms.find_synonyms(names, vectors, threshold)
            seconds[kind] = time.process_time() - started
            found[kind] = set(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
        share = len(found["lists"] & found["exact"]) / max(len(found["exact"]), 1)
        ratio = seconds["lists"] / seconds["exact"]
        counts = [f"{len(found[kind]):,}" for kind in ("exact", "lists")]
        rows.append([f"{threshold}", *counts, f"{share:.3f}", f"{ratio:.2f}"])
    print_table(("threshold", "exact pairs", "pairs by lists", "share found", "time over exact"), rows)


if __name__ == "__main__":
    main()
