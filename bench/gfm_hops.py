"""How far `gfm` walks to the evidence it finds, against how far it lies: `python bench/gfm_hops.py [SET ...]`.

A question of h hops needs h passages. For each question the gold passages among the first five are looked up in the
paths that explain them; the longest of their best paths, plus the passage it starts at, are the hops the network took.
"""

import sys
from collections import Counter

from clew import index as indexes
from clew.datasets.loaders import load_questions
from clew.types import Path
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

LONGEST = 4


def main() -> None:
    """Print for each number of true hops how many questions the network answered in how many."""
    print(machine())
    for name in sys.argv[1:] or ("2wiki", "hotpotqa", "musique-dev"):
        benchmark = BENCHMARKS[name]
        index = indexes.open(indexed(benchmark))
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
            [str(hops), str(sum(counts.values())), *(str(counts[n]) for n in range(1, LONGEST + 1))]
            for hops, counts in sorted(taken.items())
        ]
        print()
        print_table((f"{name}: true hops", "questions", *(f"{n} taken" for n in range(1, LONGEST + 1))), rows)


def best_length(paths: list[Path], entity: str) -> list[int]:
    """Return the length of the first, that is the best, path that ends at an entity; none when it starts there."""
    return [len(path) for path in paths if entity in (path[-1].head, path[-1].tail)][:1]


if __name__ == "__main__":
    main()
