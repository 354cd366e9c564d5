"""Compare the hops of `gfm` to the evidence it finds with the true hops: `python bench/gfm_hops.py [SET ...]`.

A question of h hops needs h passages. The hops taken for a question are the length of the longest best path that
explains a gold passage among the first five, plus one for the passage at its start.
"""

import sys
from collections import Counter

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.types import Path
from workbench import BENCHMARKS, DATA, build_index, describe_machine, print_table

MAX_HOPS = 4


def main() -> None:
    """Print for each number of true hops the distribution of the hops taken."""
    print(describe_machine())
    for name in sys.argv[1:] or ("2wiki", "hotpotqa", "musique-dev"):
        benchmark = BENCHMARKS[name]
        index = indexes.open(build_index(benchmark))
        snapshot = index.snapshot
        gfm = index.retriever("gfm", paths=1)
        places = {id_: place for place, id_ in enumerate(snapshot.passage_ids)}
        taken: dict[int, Counter[int]] = {}
        for question in load_questions(DATA / benchmark.questions):
            (evidence,) = gfm.retrieve([question.text], 5)
            lengths = [0]
            for scored in evidence.passages:
                entity = int(snapshot.title_entities[places[scored.item.id]])
                if scored.item.document_id in question.gold and entity >= 0:
                    lengths += best_length([p.item for p in evidence.paths], snapshot.entities[entity])
            hops = question.hops or len(question.gold)
            taken.setdefault(hops, Counter())[1 + max(lengths)] += 1
        rows = [
            [str(hops), str(sum(counts.values())), *(str(counts[n]) for n in range(1, MAX_HOPS + 1))]
            for hops, counts in sorted(taken.items())
        ]
        print()
        print_table((f"{name}: true hops", "questions", *(f"{n} taken" for n in range(1, MAX_HOPS + 1))), rows)


def best_length(paths: list[Path], entity: str) -> list[int]:
    """Return the length of the best path that ends at an entity; empty if the entity is a start."""
    return [len(path) for path in paths if entity in (path[-1].head, path[-1].tail)][:1]


if __name__ == "__main__":
    main()
