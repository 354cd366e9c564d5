"""The tables of FRAG on the data at hand: `python bench/papers/frag.py TABLE [--model PROVIDER:NAME] [--quick]`.

    main       table 1: frag as published and ours, with and without feedback, and tog, rog and gnn-rag beside them
    ablations  table 4: feedback, routing, always simple and always complex, of both forms
    sample     table 7: the numbers of hops of the balanced sample, beside those of the whole set (table 2)
    kg1000     table 8: routing, always simple and always complex on the balanced sample, of both forms
    retrieval  table 3: calls of a language model, paths and tokens a question

Measures are hits@1 (the first answer is right), hit (the paper's: a right answer is inside the reply) and F1. Of what
is retrieved, at the same number of triples of the best paths for every row: the share of questions with an answer among
their entities, and of gold paths that are among them whole. `answer, all paths` is of all paths that a row keeps, up to
the number in brackets, so that it compares only rows of the same number.

Without `--model` an answer is the end of the best path; with one it reads the paths (`--prompts text` as published),
and its row without retrieval is added. The first quarter of the questions adapts routers in `main` and `ablations`, by
the paths that the model names or, without one, by shortest paths to the gold answers; the rest is measured, of every
row. The rankers of the form paper are `--ranker`. Questions that the shipped router was trained on are left out; the
shipped ranker of paths, in ours and `rog`, was trained on all of metaqa and pathquestion-2h, and on none of
pathquestion-3h. `--quick` runs on made data in a minute.

Source: Gao et al., "FRAG" (2025), section 5 and appendix A.
Differs from the source: the graphs and the questions are those at hand, which have 1 to 3 hops, not WebQSP and CWQ.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from clew.retrievers.registry import finds_nothing, parse_retriever
from clew.text.display import format_count
from clew.types import Question, ignore_progress
from clew_lab.datasets.question_sets import count_questions, sample_by_hops
from clew_lab.evaluation.adaptation import FROM_ANSWERS, FROM_MODEL
from clew_lab.evaluation.evaluate_kgqa import ANSWER_IN_TRIPLES, GOLD_PATHS_IN_TRIPLES, evaluate_path_retrievers
from frag import METAQA, PQ2, PQ3, open_graph, test_questions
from papers import command_line
from papers.command_line import check_options, fill_missing, make_parser, run_program, some_of, whole_number
from papers.made_data import run_on_made_data
from workbench import describe_machine, print_table

BASELINES = ("tog", "rog", "gnn-rag")
VARIANTS = ("frag", "frag-simple", "frag-complex")
OPTIONS = {
    **dict.fromkeys(("each", "hops"), "sample kg1000"),
    "limit": "main ablations retrieval",
    **dict.fromkeys(("model", "prompts", "ranker"), "main ablations kg1000 retrieval"),
}
"""The tables that read an option, of those that not all read."""
DEFAULTS = {"limit": 400, "each": 250, "hops": [1, 2, 3], "prompts": "json"}
QUICK = {**DEFAULTS, "limit": 12, "each": 2}
"""Options that are not given, without and with `--quick`."""
MEASURES = ("hits@1", "hit", "F1")


def main(given: Sequence[str] | None = None) -> None:
    """Print one table."""
    arguments = parse_arguments(given)
    if arguments.quick and run_on_made_data(__file__, sys.argv[1:] if given is None else given):
        return
    print(describe_machine(), flush=True)
    for name in arguments.sets or default_sets(arguments.table):
        if arguments.table == "sample":
            print_sample(name, arguments)
        else:
            print_rows(name, arguments)


def parse_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("table", choices=("main", "ablations", "sample", "kg1000", "retrieval"))
    parser.add_argument("--sets", type=some_of((PQ2, PQ3, METAQA)), help=f"of {PQ2}, {PQ3} and {METAQA}, by commas")
    parser.add_argument(
        "--model", type=command_line.model, default="", help="PROVIDER:NAME that reads the paths and answers"
    )
    parser.add_argument("--prompts", choices=("json", "text"), help="form of its replies; json by default")
    parser.add_argument("--ranker", default="bi-encoder", help="of the form paper: relations and paths")
    parser.add_argument("--limit", type=whole_number, help="questions of each set, evenly spaced; 400 by default")
    parser.add_argument("--each", type=whole_number, help="questions of each number of hops; 250 by default")
    parser.add_argument(
        "--hops", type=command_line.whole_numbers, help="numbers of hops of the sample; 1,2,3 by default"
    )
    parser.add_argument("--quick", action="store_true", help="made data, and few questions where no option says more")
    arguments = parser.parse_args(given)
    check_options(parser, arguments, OPTIONS)
    if arguments.prompts and not arguments.model:
        parser.error(f"--prompts {arguments.prompts} is of a language model's replies: give --model PROVIDER:NAME too")
    fill_missing(arguments, QUICK if arguments.quick else DEFAULTS)
    return arguments


def default_sets(table: str) -> list[str]:
    """Return the sets of a table: the balanced sample wants one graph with questions of all numbers of hops."""
    return [METAQA] if table in ("sample", "kg1000") else [PQ2, PQ3, METAQA]


def choose_questions(name: str, arguments: argparse.Namespace) -> list[Question]:
    """Return the questions of a table, in a random order: files are sorted by hops, and the first quarter adapts."""
    held_out = test_questions(name)
    generator = np.random.default_rng(0)
    if arguments.table in ("sample", "kg1000"):
        return sample_by_hops(held_out, arguments.hops, arguments.each, generator)
    count = min(arguments.limit, len(held_out))
    spaced = [held_out[i * len(held_out) // count] for i in range(count)]
    return [spaced[int(place)] for place in generator.permutation(count)]


def rows_of(arguments: argparse.Namespace) -> list[str]:
    """Return the retrievers of a table, the one that others are compared with first."""
    ranker = f"ranker={arguments.ranker},relations_by={arguments.ranker}"
    published = [f"{name}:preset=paper,{ranker}" for name in VARIANTS]
    if arguments.table in ("main", "retrieval"):
        rows = [published[0], "frag", *BASELINES]
        if arguments.model and arguments.table == "retrieval":
            rows.append(f"tog:ranker=llm:{arguments.model}")
    else:
        rows = [*published, *VARIANTS]
    return [*rows, "none"] if arguments.model else rows


def print_rows(name: str, arguments: argparse.Namespace) -> None:
    """Print a table of one set, each form's variants compared with its routing."""
    index, questions = open_graph(name), choose_questions(name, arguments)
    specs = {text: parse_retriever(text) for text in rows_of(arguments)}
    answerers = {
        text: index.answerer(arguments.model, spec, "text" if finds_nothing(spec) else arguments.prompts)
        if arguments.model
        else index.answerer("", spec)
        for text, spec in specs.items()
    }
    source = (FROM_MODEL if arguments.model else FROM_ANSWERS) if arguments.table in ("main", "ablations") else ""
    report = evaluate_path_retrievers(index, questions, specs, ignore_progress, answerers, None, source).to_json()
    answered = arguments.model or "the end of the best path answers"
    print(f"\n{name}: {report['questions']} of {len(questions)} questions are measured; {answered}")
    for warning in report["warnings"]:
        print(warning)
    head, make_row = (COSTS_HEAD, cost_row) if arguments.table == "retrieval" else (HEAD, figures_row)
    print_table(("retriever", *head), [[text, *make_row(own)] for text, own in report["retrievers"].items()])
    print_differences(report)


RETRIEVED = (ANSWER_IN_TRIPLES, GOLD_PATHS_IN_TRIPLES)
HEAD = (*MEASURES, *RETRIEVED, "answer, all paths", "complex")
COSTS_HEAD = ("calls of retrieval", "calls of answers", "paths", "tokens of paths", *RETRIEVED, "answer, all paths")


def figures_row(figures: dict[str, Any]) -> list[str]:
    """Return the cells of a retriever: hits@1 with its interval, hit, F1, what is retrieved, and how it searched."""
    low, high = figures["intervals"]["hits@1"]
    others = [f"{100 * figures[measure]:.1f}" for measure in MEASURES[1:]]
    first = f"{100 * figures['hits@1']:.1f} ({100 * low:.1f}-{100 * high:.1f})"
    return [first, *others, *retrieved(figures), percent(figures, "complex")]


def cost_row(figures: dict[str, Any]) -> list[str]:
    """Return the cells of a retriever: calls, paths and tokens a question."""
    calls = [f"{figures.get(measure, 0.0):.1f}" for measure in ("retrieval_calls", "answer_calls")]
    return [*calls, f"{figures['paths']:.1f}", f"{figures['path_tokens']:.0f}", *retrieved(figures)]


def retrieved(figures: dict[str, Any]) -> list[str]:
    """Return the cells of `RETRIEVED`, and the coverage by all paths."""
    return [*(percent(figures, measure) for measure in RETRIEVED), coverage(figures)]


def coverage(figures: dict[str, Any]) -> str:
    """Return the share of questions whose kept paths hold an answer, with the number of paths that are kept."""
    measure = next(name for name in figures if name.partition("@")[0] == "coverage")
    limit = measure.partition("@")[2]
    return f"{100 * figures[measure]:.1f}" + (f" (of {limit})" if limit else "")


def percent(figures: dict[str, Any], measure: str) -> str:
    """Return a share in percent, "" where it was not measured."""
    return f"{100 * figures[measure]:.1f}" if measure in figures else ""


def print_differences(report: dict[str, Any]) -> None:
    """Print the differences in hits@1 of the first row, with Wilcoxon's test."""
    for c in report["comparisons"]:
        if c["measure"] == "hits@1":
            interval = f"{100 * c['difference']:+.1f} ({100 * c['low']:+.1f} to {100 * c['high']:+.1f})"
            print(f"{c['a']} minus {c['b']}: {interval}, W = {c['statistic']:g}, p = {c['p']:.4f}", flush=True)


def print_sample(name: str, arguments: argparse.Namespace) -> None:
    """Print the numbers of hops of the sample and of the set it is drawn from."""
    whole, drawn = test_questions(name), choose_questions(name, arguments)
    counts = [count_questions(whole).hops, Counter(question.hops for question in drawn)]
    numbers = sorted({*counts[0], *counts[1]})
    rows = [
        [label, *(str(own.get(hops, 0)) for hops in numbers)]
        for label, own in zip((f"{name}, held out", "balanced sample"), counts, strict=True)
    ]
    print()
    print_table(("questions", *(format_count(hops, "hop") for hops in numbers)), rows)


if __name__ == "__main__":
    run_program(main)
