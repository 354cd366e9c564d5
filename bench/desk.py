"""A desk of documents: `python bench/desk.py [--retrievers a,b] [--misses]`.

`bench/desk/` has what a firm has lying about, and questions that were fixed before anything was searched. Everything is
indexed in one go with the default settings. For each retriever that needs no language model: the share of questions
whose evidence is among the first five passages, and the mean reciprocal rank of the first passage of it; by part, by
language, and the default against each other retriever. The questions are for evaluation alone: none decides a setting.
"""

import argparse
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from clew import index as indexes
from clew.arrays import DoubleArray
from clew.errors import ClewError
from clew.evaluation.significance import compare_means, mean_interval
from clew.plugins.spec import split_list
from clew.protocols import Retriever
from clew.retrievers.registry import RETRIEVERS
from clew.types import Evidence, Passage
from printed_pages import lay_out, write_pdf
from workbench import ROOT, WORK, describe_machine, load_records, print_table, run_clew

DESK = Path(__file__).parent / "desk"
REPOSITORY_TEXTS = {
    "LICENSE": "LICENSE.txt",
    "docs/durability.md": "durability.md",
    "docs/reranking.md": "reranking.md",
}
DEFAULT = "auto"
LEFT_OUT = ("none", "maxsim")  # the one searches nothing, the other needs an encoder with vectors of tokens
K, DEPTH = 5, 20


@dataclass(frozen=True, slots=True)
class DeskQuestion:
    """A question; for each place of its evidence the quotes of which one must stand in a passage."""

    text: str
    part: str
    language: str
    evidence: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """Of each question (n,): whether all its evidence is in the first five; 1 / rank of its first passage, or 0."""

    complete: DoubleArray
    reciprocal_ranks: DoubleArray
    milliseconds: float


def main() -> None:
    """Index the desk, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--retrievers", default="", help=f"compared with {DEFAULT}; else all")
    parser.add_argument("--misses", action="store_true", help="print the questions that the default misses")
    arguments = parser.parse_args()
    named = (
        split_list(arguments.retrievers)
        if arguments.retrievers
        else [name for name in RETRIEVERS if name not in LEFT_OUT]
    )
    print(describe_machine())
    folder = WORK / "desk-index"
    print(run_clew("index", str(lay_out_desk(WORK / "desk")), "--index", str(folder)).output)
    questions = load_questions()
    with indexes.open(folder) as index:
        print_unreadable(questions, [index.snapshot.passage(row) for row in range(len(index.snapshot.passage_ids))])
        findings = {}
        for name in dict.fromkeys([DEFAULT, *named]):
            try:
                findings[name] = measure(questions, index.retriever(name, 0))
            except ClewError as error:
                print(f"{name} left out: {error}")
    print_findings(questions, findings)
    if arguments.misses:
        print_misses(questions, findings)


def lay_out_desk(target: Path) -> Path:
    """Return the folder with the documents as a user would have them, made anew."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(
        DESK, target, ignore=shutil.ignore_patterns("README.md", "questions.jsonl", "answers.jsonl", "printed")
    )
    for text in sorted((DESK / "printed").glob("*.txt")):
        pages = lay_out(text.read_text(encoding="utf-8"))
        (target / "printed").mkdir(exist_ok=True)
        write_pdf(target / "printed" / f"{text.stem}.pdf", pages, "Marrbeck Gauges - do not copy")
    for source, name in REPOSITORY_TEXTS.items():
        (target / "software").mkdir(exist_ok=True)
        shutil.copyfile(ROOT / source, target / "software" / name)
    return target


def load_questions() -> list[DeskQuestion]:
    """Return the questions of the desk."""
    return [
        DeskQuestion(str(record["question"]), record["part"], record["language"], tuple(map(tuple, record["evidence"])))
        for record in load_records(DESK / "questions.jsonl")
    ]


def print_unreadable(questions: Sequence[DeskQuestion], passages: Sequence[Passage]) -> None:
    """Print the quotes that stand in no passage: what was not read counts as not found."""
    texts = [_join_words(passage.text) for passage in passages]
    print(f"{len(texts)} passages, {len(questions)} questions")
    for question in questions:
        for quotes in question.evidence:
            if not any(quote in text for quote in quotes for text in texts):
                print(f"in no passage: {quotes[0]!r}")


def measure(questions: Sequence[DeskQuestion], retriever: Retriever) -> Findings:
    """Return what a retriever finds, one question at a time, and the median milliseconds of a question."""
    retriever.retrieve([questions[0].text], DEPTH)  # warm up
    complete, ranks, times = [], [], []
    for question in questions:
        started = time.perf_counter()
        evidence = retriever.retrieve([question.text], DEPTH)[0]
        times.append(1000 * (time.perf_counter() - started))
        first = [first_rank(quotes, evidence) for quotes in question.evidence]
        complete.append(float(all(rank <= K for rank in first)))
        ranks.append(1 / min(first))
    return Findings(np.array(complete), np.array(ranks), median(times))


def first_rank(quotes: Sequence[str], evidence: Evidence) -> float:
    """Return the rank, from 1, of the first passage with one of the quotes; infinity where there is none."""
    for rank, scored in enumerate(evidence.passages, 1):
        text = _join_words(scored.item.text)
        if any(quote in text for quote in quotes):
            return float(rank)
    return float("inf")


def print_findings(questions: Sequence[DeskQuestion], findings: dict[str, Findings]) -> None:
    """Print a table of all, tables by part and by language, and the default against the others."""
    rows = []
    for name, found in _by_quality(findings):
        low, high = mean_interval(found.complete, np.random.default_rng(0))
        share = f"{found.complete.sum():.0f} of {len(questions)} = {100 * found.complete.mean():.1f}"
        rows.append([name, f"{share} ({100 * low:.0f}-{100 * high:.0f})", f"{found.reciprocal_ranks.mean():.3f}"])
        rows[-1].append(f"{found.milliseconds:.1f}")
    print_table(("retriever", f"all evidence in the first {K}, %", "MRR", "ms p50"), rows)
    print_groups(questions, findings, lambda question: question.part)
    print_groups(questions, findings, lambda question: question.language)
    for name, found in findings.items():
        if name != DEFAULT:
            print_comparison(name, findings[DEFAULT], found)


def print_groups(
    questions: Sequence[DeskQuestion], findings: dict[str, Findings], group_of: Callable[[DeskQuestion], str]
) -> None:
    """Print for each group of questions how many have their evidence in the first five, and the MRR."""
    groups = np.array([group_of(question) for question in questions])
    names = list(dict.fromkeys(groups.tolist()))
    print()
    print_table(
        ("retriever", *(f"{group} ({(groups == group).sum()})" for group in names)),
        [[name, *(_format_group(found, groups == group) for group in names)] for name, found in _by_quality(findings)],
    )


def print_comparison(name: str, default: Findings, other: Findings) -> None:
    """Print the paired differences between the default and another retriever."""
    cells = []
    for measure_, a, b in (
        (f"all evidence@{K}", default.complete, other.complete),
        ("MRR", default.reciprocal_ranks, other.reciprocal_ranks),
    ):
        c = compare_means((DEFAULT, name), measure_, a, b, np.random.default_rng(0))
        cells.append(f"{measure_} {100 * c.difference:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f}, p = {c.p:.3f})")
    print(f"{DEFAULT} - {name}: {'; '.join(cells)}")


def print_misses(questions: Sequence[DeskQuestion], findings: dict[str, Findings]) -> None:
    """Print each question whose evidence the default does not have in the first five, and who has it."""
    for row, question in enumerate(questions):
        if not findings[DEFAULT].complete[row]:
            others = [name for name, found in findings.items() if found.complete[row]]
            print(f"{question.language} {question.part}: {question.text} [{', '.join(others) or 'no one'}]")


def _by_quality(findings: dict[str, Findings]) -> list[tuple[str, Findings]]:
    """Return the retrievers, those first that find most; the default before others that find as much."""
    return sorted(
        findings.items(),
        key=lambda item: (-item[1].complete.sum(), item[0] != DEFAULT, -item[1].reciprocal_ranks.sum()),
    )


def _format_group(found: Findings, rows: np.ndarray) -> str:
    return f"{found.complete[rows].sum():.0f} / {found.reciprocal_ranks[rows].mean():.2f}"


def _join_words(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    main()
