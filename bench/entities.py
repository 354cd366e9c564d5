"""Candidates of `clew entities`, and homonyms split unasked: `python bench/entities.py [SET ...]`.

For each set of questions: the processor time of the lists and of one decision, the numbers of candidates, and recall
with every name whose documents fall apart split by its contexts, against none, with paired tests. The index is a copy.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from clew import index as indexes
from clew.evaluation.runs import execute
from clew.evaluation.scoring import compare, score
from clew.index import Index
from clew.plugins.spec import split_list
from clew.query.entity_candidates import CONTEXTS
from clew.retrievers.registry import parse_retriever
from clew.store.entity_decisions import SPLIT, EntityDecision
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, build_index, build_questions, describe_machine, print_table

MEASURES = ("recall@2", "recall@5", "all_gold@5")
EVERYTHING = 1_000_000


def main() -> None:
    """Print the costs and counts of each set, then recall without and with homonyms split."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["musique-dev", "hotpotqa"], metavar="SET")
    parser.add_argument("--retrievers", default="pagerank,chains")
    parser.add_argument("--floor", type=float, default=0.6, help="score from which a name is split")
    parser.add_argument("--questions", type=int, default=EVERYTHING, help="the first so many of each set")
    arguments = parser.parse_args()
    print(describe_machine())
    costs: list[list[str]] = []
    rows: list[list[str]] = []
    for name in arguments.sets:
        source = build_index(BENCHMARKS[name])
        with tempfile.TemporaryDirectory(dir=source.parent) as folder:
            copy = Path(folder) / "index"
            shutil.copytree(source, copy)
            costs.append([name, *measure_costs(indexes.open(copy))])
            chosen = split_list(arguments.retrievers), arguments.floor, arguments.questions
            rows += compare_on_set(name, indexes.open(copy), *chosen)
    columns = ("entities", "duplicates", "s", "ambiguous", "s", "one decision, s")
    print_table(("set", *columns), costs)
    print_table(("set", "split", "retriever", "measure", "none", "split", "difference, paired"), rows)


def measure_costs(index: Index) -> list[str]:
    """Return the number of entities, and of each kind of candidates, with the processor seconds of each step."""
    entities = len(index.snapshot.entities)
    started = time.process_time()
    duplicates = len(index.duplicate_entities(EVERYTHING))
    listed = time.process_time()
    ambiguous = len(index.ambiguous_entities(EVERYTHING))
    grouped = time.process_time()
    index.forget_entity(index.snapshot.entities[0])
    decided = time.process_time()
    index.undo_entity_decision()
    steps = f"{listed - started:.1f}", f"{grouped - listed:.1f}", f"{decided - grouped:.1f}"
    return [f"{entities:,}", f"{duplicates:,}", steps[0], f"{ambiguous:,}", steps[1], steps[2]]


def compare_on_set(name: str, index: Index, retrievers: Sequence[str], floor: float, most: int) -> list[list[str]]:
    """Return a row for each retriever and measure."""
    questions = load_questions(build_questions(BENCHMARKS[name]))[:most]

    def run(retriever: str):  # type: ignore[no-untyped-def]
        opened = index.retriever(parse_retriever(retriever), 0)
        return score(execute(opened, retriever, questions, 10), questions, (2, 5))

    before = [run(retriever) for retriever in retrievers]
    split = split_homonyms(index, floor)
    rows = []
    for retriever, first in zip(retrievers, before, strict=True):
        second = run(retriever)
        for measure in MEASURES:
            found = compare(second, first, measure)
            means = first.summary.means[measure], second.summary.means[measure]
            cells = [f"{mean:.4f}" for mean in means]
            difference = f"{found.difference:+.4f} (p {found.p:.2f})"
            rows.append([name, f"{split:,}", retriever, measure, *cells, difference])
    return rows


def split_homonyms(index: Index, floor: float) -> int:
    """Split every name whose contexts fall apart with a score of at least `floor`; return how many names."""
    found = [e for e in index.ambiguous_entities(EVERYTHING) if e.reason == CONTEXTS and e.score >= floor]
    decisions = [
        EntityDecision(0, SPLIT, (entity.name,), f"{entity.name} (context {number})", group.documents)
        for entity in found
        for number, group in enumerate(entity.groups[1:], 2)
    ]
    index.add_entity_decisions(decisions)
    return len(found)


if __name__ == "__main__":
    main()
