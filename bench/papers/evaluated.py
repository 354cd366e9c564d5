"""Shared by the papers' tables: sets with their indexes and questions, and tables of answers."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clew import index as indexes
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.retrievers.registry import parse_retriever
from workbench import BENCHMARKS, DATA, WORK, build_index

SETS = ("hotpotqa", "musique-dev", "2wiki")
"""In the order of the papers; settings are chosen on the first two alone."""


def split_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of an option, for example (0, 1, 2) of "0,1,2"; each is one run, and figures are their means."""
    seeds = tuple(int(part) if part.strip().isdecimal() else -1 for part in text.split(","))
    if min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise argparse.ArgumentTypeError(f"{text!r}: wanted whole numbers by commas, each once, for example 0,1,2")
    return seeds


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """Return a type of a command-line argument: one of some names."""

    def check(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(known)}")
        return text

    return check


def some_of(known: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a type of a command-line argument: some of the names, by commas."""
    check = one_of(known)
    return lambda text: [check(name) for name in text.split(",")]


def check_options(parser: argparse.ArgumentParser, given: argparse.Namespace, tables: Mapping[str, str]) -> None:
    """End the script where an option is given that the table does not read; `tables` has the tables of each option."""
    for option, readers in tables.items():
        if getattr(given, option) != parser.get_default(option) and given.table not in readers.split():
            parser.error(
                f"--{option} is for {readers.replace(' ', ', ')}, and the table is {given.table}: leave it out"
            )


def open_set(name: str) -> indexes.Index:
    """Return the index of a set, made or updated if necessary."""
    return indexes.open(build_index(BENCHMARKS[name]))


def questions_file(name: str, limit: int | None) -> Path:
    """Return the file of a set's questions, or of the first `limit` ones."""
    path = DATA / BENCHMARKS[name].questions
    if limit is None:
        return path
    WORK.mkdir(parents=True, exist_ok=True)
    short = WORK / f"{name}-first-{limit}.jsonl"
    short.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:limit]))
    return short


def answer_rows(index: indexes.Index, questions: Path, retrievers: Sequence[str], model: str) -> list[list[str]]:
    """Return a row of exact match, F1, recall at 5, calls and tokens a question for each retriever.

    `model` (`PROVIDER:NAME`) answers; without one, sentences and names of the passages are quoted. Calls and tokens
    are those of the answers.
    """
    parsed = {name: parse_retriever(name) for name in retrievers}
    answerers = dict.fromkeys(parsed, index.answerer(model))
    report = evaluate_retrievers(index, questions, parsed, (5,), None, None, lambda *_: None, answerers).to_json()
    for warning in report["warnings"]:
        print(warning)
    rows = []
    for name, summary in report["retrievers"].items():
        shares = [f"{100 * summary[measure]:.1f}" if measure in summary else "" for measure in ("em", "f1", "recall@5")]
        costs = [f"{summary.get(cost, 0.0):,.1f}" for cost in ("answer_calls", "answer_tokens")]
        rows.append([name, *shares, *costs])
    return rows
