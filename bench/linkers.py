"""Recall by the linker of names: `python bench/linkers.py [SET ...] [--retrievers a,b] [--kinds misspelt,short]`.

Each retriever answers the questions as they are written and with a share of the names damaged: misspelt as in
`misspelt.py`, or shortened to their last word. The linkers are exact names, exact names and similar spellings, the
nearest name by the encoder for all names or for those that are left, by one vector a name or by late interaction
(`maxsim`), for several floors.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from clew.index import Index
from clew.models.llm.access import LLMClientFactory
from clew.query.entity_linker import LinkerSettings
from clew.query.linking import link_question
from clew.store.passage_table import PassageTable
from clew_lab.datasets.loaders import load_questions
from misspelt import misspell_names, seeds
from workbench import BENCHMARKS, DATA, build_index, describe_machine, gold_recall, print_table

if TYPE_CHECKING:
    import random

    from clew.graph.snapshot.snapshot import Snapshot
    from clew.types import Question

LINKERS: dict[str, tuple[bool, LinkerSettings]] = {
    "exact, unknown names left alone": (False, LinkerSettings()),
    "exact, similar spellings (default)": (True, LinkerSettings()),
    "embedding, floor 0.8": (False, LinkerSettings("embedding", 0.8)),
    "embedding, floor 0.6": (False, LinkerSettings("embedding", 0.6)),
    "exact+embedding, 0.8": (False, LinkerSettings("exact+embedding", 0.8)),
    "exact+embedding, 0.6": (False, LinkerSettings("exact+embedding", 0.6)),
    "maxsim, floor 0.8": (False, LinkerSettings("maxsim", 0.8)),
    "maxsim, floor 0.6": (False, LinkerSettings("maxsim", 0.6)),
    "exact+maxsim, 0.8": (False, LinkerSettings("exact+maxsim", 0.8)),
    "exact+maxsim, 0.6": (False, LinkerSettings("exact+maxsim", 0.6)),
    "exact, spellings, then maxsim 0.8": (True, LinkerSettings("exact+maxsim", 0.8)),
    "exact, spellings, then embedding 0.8": (True, LinkerSettings("exact+embedding", 0.8)),
    "exact, spellings, then embedding 0.6": (True, LinkerSettings("exact+embedding", 0.6)),
}


def main() -> None:
    """Print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["hotpotqa", "musique-dev"])
    parser.add_argument("--retrievers", default="pagerank,gfm")
    parser.add_argument("--linkers", default="", help="numbers from 0 in the order of the table, separated by commas")
    parser.add_argument("--kinds", default="misspelt,short")
    parser.add_argument("--share", type=float, default=0.3, help="of the names that are damaged")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--questions", type=int, default=None, help="at most so many")
    arguments = parser.parse_args()
    print(describe_machine())
    chosen = [list(LINKERS)[int(number)] for number in filter(None, arguments.linkers.split(","))] or list(LINKERS)
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        folder = build_index(benchmark)
        questions = load_questions(DATA / benchmark.questions)[: arguments.questions]
        indexes = {label: open_index(folder, *settings) for label, settings in LINKERS.items() if label in chosen}
        snapshot = next(iter(indexes.values())).snapshot
        damage = {"misspelt": misspell_names, "short": shorten_names}
        groups = {"as written": questions}
        for kind in filter(None, arguments.kinds.split(",")):
            change = partial(damage[kind], snapshot, share=arguments.share)
            groups[kind] = change_all(questions, change, arguments.seed)
        counts = {
            kind: sum(a.text != b.text for a, b in zip(questions, group, strict=True)) for kind, group in groups.items()
        }
        print(f"\n{name}: {len(questions)} questions; changed: {counts}", flush=True)
        rows = []
        for retriever in arguments.retrievers.split(","):
            for label, index in indexes.items():
                cells = [f"{recall:.1f}" for group in groups.values() for recall in measure(index, retriever, group)]
                rows.append([retriever, label, *cells])
                print(*rows[-1], sep=" | ", flush=True)
        print_table(("retriever", "linker", *(f"{kind} {k}" for kind in groups for k in ("R@2", "R@5"))), rows)


def open_index(folder: object, similar: bool, linking: LinkerSettings) -> Index:
    """Return an index whose retrievers link names by some settings."""
    return Index(PassageTable.open(folder), LLMClientFactory(), similar_names=similar, linking=linking)  # type: ignore[arg-type]


def change_all(questions: "list[Question]", change: Callable[..., str], seed: int) -> "list[Question]":
    """Return questions with some of their names changed, each by a generator of its own."""
    pairs = zip(questions, seeds(seed, len(questions)), strict=True)
    return [replace(question, text=change(question.text, random=random)) for question, random in pairs]


def shorten_names(snapshot: "Snapshot", question: str, *, share: float, random: "random.Random") -> str:
    """Return a question with a share of the names of several words that the index knows cut to their last word."""
    pieces, end_of_last = [], 0
    for name in link_question(snapshot, question).linked_names:
        written = question[name.start : name.end]
        short = written.split()[-1] if random.random() < share else written
        pieces += [question[end_of_last : name.start], short]
        end_of_last = name.end
    return "".join([*pieces, question[end_of_last:]])


def measure(index: Index, retriever: str, questions: "list[Question]") -> tuple[float, float]:
    """Return R@2 and R@5 in %."""
    opened = index.retriever(retriever, 0)
    found = [(opened.retrieve([question.text], 5)[0], question) for question in questions]
    two, five = (sum(gold_recall(e, q, k) for e, q in found) / len(found) for k in (2, 5))
    return 100 * two, 100 * five


if __name__ == "__main__":
    main()
