"""Recall on questions whose names are misspelt: `python bench/misspelt.py [SET ...] [--retrievers a,b] [--floors]`.

A share of the names that the index knows gets one letter wrong: changed, left out, added, or swapped with the next.
Each retriever answers the questions as they are, and misspelt: with unknown names left alone, and taken for others.
`--floors` retrieves nothing: it prints for several floors how many misspelt names are found, and how many names would
be taken for others if the index did not have them. `--names 1000000` prints the time and memory of so many names.
"""

import argparse
import random
import string
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.similar_names import EditFloors, SimilarNames, list_name_parts
from clew.graph.string_array import StringArray
from clew.index import Index
from clew.models.llm.access import LLMClientFactory
from clew.query.entity_linker import EntityLinker
from clew.query.linking import LinkedQuestion, link_question
from clew.store.passage_table import PassageTable
from clew.text.normalization import key_hash, name_key
from clew_lab.datasets.loaders import load_questions
from workbench import BENCHMARKS, DATA, build_index, describe_machine, gold_recall, print_table

if TYPE_CHECKING:
    from clew.graph.snapshot.snapshot import Snapshot
    from clew.protocols import Retriever
    from clew.types import Question

FLOORS = ((4, 99), (5, 99), (6, 99), (8, 99), (5, 10), (5, 13), (5, 16))


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["hotpotqa", "musique-dev"])
    parser.add_argument("--retrievers", default="gfm,pagerank,chains,bm25")
    parser.add_argument("--share", type=float, default=0.3, help="of the names that are misspelt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, default=None, help="at most so many")
    parser.add_argument("--index", type=Path, default=None, help="of the set, if there is one")
    parser.add_argument("--floors", action="store_true")
    parser.add_argument("--names", type=int, default=0, help="print the time of so many names of the set's words")
    arguments = parser.parse_args()
    print(describe_machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        folder = arguments.index or build_index(benchmark)
        questions = load_questions(DATA / benchmark.questions)[: arguments.questions]
        exact, similar = (_open(folder, similar=similar) for similar in (False, True))
        misspell = partial(misspell_names, exact.snapshot, share=arguments.share)
        pairs = zip(questions, seeds(arguments.seed, len(questions)), strict=True)
        misspelt = [replace(question, text=misspell(question.text, random=seed)) for question, seed in pairs]
        changed = sum(a.text != b.text for a, b in zip(questions, misspelt, strict=True))
        print(f"\n{name}: {len(questions)} questions, {changed} of them misspelt", flush=True)
        if arguments.names:
            print_time(exact.snapshot, arguments.names, arguments.seed)
            continue
        if arguments.floors:
            print_floors(exact.snapshot, questions)
            continue
        print_links(exact.snapshot, similar.context.scope.linker, questions, misspelt)
        rows = []
        for retriever in arguments.retrievers.split(","):
            before, after = exact.retriever(retriever, 0), similar.retriever(retriever, 0)
            measured = Measurement(before, after, exact.context.scope.linker, similar.context.scope.linker)
            for label, group in (("as written", questions), ("misspelt", misspelt)):
                for side, links in enumerate(("left alone", "taken for others")):
                    rows.append([retriever, label, links, *measured.row(side, group)])
                    print(*rows[-1], flush=True)
        print_table(("retriever", "names", "unknown names", "R@2", "R@5", "all gold@5", "ms p50"), rows)


def _open(folder: Path, *, similar: bool) -> Index:
    return Index(PassageTable.open(folder), LLMClientFactory(), similar_names=similar)


def seeds(seed: int, count: int) -> list[random.Random]:
    """Return a generator for each question, so that a question is misspelt the same way in any selection."""
    return [random.Random(f"{seed}-{number}") for number in range(count)]


def misspell_names(snapshot: "Snapshot", question: str, *, share: float, random: random.Random) -> str:
    """Return a question with one letter wrong in a share of the names that the index knows."""
    pieces, end_of_last = [], 0
    for name in link_question(snapshot, question).linked_names:
        written = question[name.start : name.end]
        is_chosen = random.random() < share and sum(map(str.isalpha, written)) > 1
        pieces += [question[end_of_last : name.start], misspell(written, random) if is_chosen else written]
        end_of_last = name.end
    return "".join([*pieces, question[end_of_last:]])


def misspell(name: str, random: random.Random) -> str:
    """Return a name with one letter changed, left out, added, or swapped with the next one."""
    letters = [place for place, letter in enumerate(name) if letter.isalpha()]
    while True:
        place, kind = random.choice(letters), random.choice(("change", "leave out", "add", "swap"))
        new = random.choice(string.ascii_lowercase)
        new = new.upper() if name[place].isupper() and kind == "change" else new
        before, letter, after = name[:place], name[place], name[place + 1 :]
        wrong = {
            "change": before + new + after,
            "leave out": before + after,
            "add": before + letter + new + after,
            "swap": before + _swap(letter, after[:1]) + after[1:],
        }[kind]
        if wrong.casefold() != name.casefold():
            return wrong


def _swap(letter: str, next_letter: str) -> str:
    """Return two letters swapped, with the capitals where they were."""
    if not next_letter.isalpha():
        return letter + next_letter
    return (
        (next_letter.upper() + letter.lower()) if letter.isupper() and next_letter.islower() else next_letter + letter
    )


class Measurement:
    """Measures a retriever without and with unknown names; a question whose links are the same is asked once."""

    def __init__(self, left: "Retriever", taken: "Retriever", left_linker: EntityLinker, linker: EntityLinker):
        self._sides = (left, left_linker), (taken, linker)
        self._recalls: dict[tuple[str, LinkedQuestion], tuple[float, float, float]] = {}
        left.retrieve(["warm up"], 5)

    def row(self, side: int, questions: Sequence["Question"]) -> list[str]:
        """Return R@2, R@5, all gold@5 in % and the median milliseconds of a question that is asked for the first time.

        The sides are 0 for unknown names that are left alone, and 1 for those that are taken for others.
        """
        retriever, linker = self._sides[side]
        found = []
        for question in questions:
            key = question.text, linker.link(question.text)
            if key not in self._recalls:
                started = time.perf_counter()
                evidence = retriever.retrieve([question.text], 5)[0]
                seconds = time.perf_counter() - started
                self._recalls[key] = gold_recall(evidence, question, 2), gold_recall(evidence, question, 5), seconds
            found.append(self._recalls[key])
        two, five, times = zip(*found, strict=True)
        count = len(found) / 100
        cells = sum(two) / count, sum(five) / count, sum(recall == 1.0 for recall in five) / count
        return [*(f"{cell:.1f}" for cell in cells), f"{1000 * median(times):.1f}"]


def print_links(
    snapshot: "Snapshot", linker: EntityLinker, questions: Sequence["Question"], misspelt: Sequence["Question"]
) -> None:
    """Print how linking changes questions as they are, and in how many misspelt ones all names are found."""
    exact = partial(link_question, snapshot)
    taken = [note for question in questions for note in linker.link(question.text).describe_similar_names()]
    print(f"of the questions as written {len(taken)} names are taken for others, such as:", *taken[:20], sep="\n  ")
    wrong = [(a, b) for a, b in zip(questions, misspelt, strict=True) if a.text != b.text]
    for label, link in (("left alone", exact), ("taken for others", linker.link)):
        right = sum(_entities(exact, a.text) == _entities(link, b.text) for a, b in wrong)
        print(f"unknown names {label}: {right} of {len(wrong)} misspelt questions link as before", flush=True)
    texts = [question.text for question, _ in wrong], [question.text for _, question in wrong]
    linker.link(texts[1][0])
    for label, group in zip(("without", "with"), texts, strict=True):
        started = time.perf_counter()
        for text in group:
            linker.link(text)
        print(
            f"linking a question {label} an unknown name: {1000 * (time.perf_counter() - started) / len(group):.2f} ms"
        )


def _entities(link: Callable, question: str) -> set[int]:  # type: ignore[type-arg]
    return {entity for name in link(question).linked_names for entity in name.entities}


def print_floors(snapshot: "Snapshot", questions: Sequence["Question"]) -> None:
    """Print for each floor the misspelt names that are found, and the names that would be taken for others."""
    names = sorted(
        {
            name_key(question.text[name.start : name.end])
            for question in questions
            for name in link_question(snapshot, question.text).linked_names
        }
    )
    names = [name for name in names if any(map(str.isalpha, name))]
    wrong = [(name, name_key(misspell(name, seed))) for name, seed in zip(names, seeds(1, len(names)), strict=True)]
    rows = []
    for one, two in FLOORS:
        floors = EditFloors(one, two)
        similar = SimilarNames(list_name_parts(snapshot, floors), floors)
        found = [similar.nearest_names(text)[:1] for _, text in wrong]
        right = sum(bool(near) and near[0].key == name for near, (name, _) in zip(found, wrong, strict=True))
        other = sum(bool(near) and near[0].key != name for near, (name, _) in zip(found, wrong, strict=True))
        false = sum(any(near.key != name for near in similar.nearest_names(name)) for name in names)
        cells = (f"{100 * count / len(names):.1f}" for count in (right, other, false))
        rows.append([str(one), str(two) if two < 99 else "never", *cells])
    head = ("one edit from", "two from", "misspelt, found %", "taken for another %", "absent, taken for another %")
    print_table(head, rows)


def print_time(snapshot: "Snapshot", count: int, seed: int) -> None:
    """Print the processor time and memory of names of two words, drawn from those of an index."""
    words = sorted({word for name in snapshot.entities for word in name.split() if word.isalpha()})
    drawn = random.Random(seed)
    names = StringArray.pack(f"{drawn.choice(words)} {drawn.choice(words)}" for _ in range(count))
    hashes = np.sort(np.fromiter((key_hash(name_key(name)) for name in names), dtype=np.uint64, count=count))
    large = replace(snapshot, entities=names, name_hashes=hashes, salt=0)
    SimilarNames(list_name_parts(replace(large, entities=names.take(np.arange(9))))).nearest_names("compiled")
    before, started = getrusage(RUSAGE_SELF).ru_maxrss, time.process_time()
    arrays = list_name_parts(large)
    seconds, more = time.process_time() - started, getrusage(RUSAGE_SELF).ru_maxrss - before
    size = sum(array.nbytes for array in arrays.values()) >> 20
    print(f"{count} names: made in {seconds:.1f} s with {more >> 10} MiB more at the peak, {size} MiB of arrays")
    similar = SimilarNames(arrays)
    texts = [name_key(misspell(names[drawn.randrange(count)], drawn)) for _ in range(500)]
    for label, look_up in (("near spellings", similar.nearest_names), ("full names", similar.full_names)):
        times = []
        for text in texts:
            started = time.process_time()
            look_up(text)
            times.append(1000 * (time.process_time() - started))
        print(f"{label}: median {median(times):.2f} ms, 99th percentile {np.quantile(times, 0.99):.2f} ms")


if __name__ == "__main__":
    main()
