"""The tables of GeAR on the data at hand: `python bench/papers/gear.py TABLE [SET ...] [--quick]`.

    main        over each base: itself, expansion (naive-ge, sync-ge) and agents (gear, ircot), ours and as published
    ablations   gear without diversity, memory or expansion, and of 1 to 4 steps, of either form
    answers     exact match and F1 of the answers from what each finds, with --model PROVIDER:NAME or without one
    calls       steps, calls and tokens of gear and ircot with the same reader

Without `--reader PROVIDER:NAME` the local reader reads, which needs no language model; `calls` then counts the tokens
of the prompts and replies that a model in its place would have had. `--quick` runs on made data in a minute.

Source: Shen et al., "GeAR" (2024): recall at 5, 10 and 15, exact match and F1. Differs from the source: the share of
questions with all evidence, milliseconds and the paired difference to the base stand beside them.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from clew import index as indexes
from clew.evaluation.significance import compare_means
from clew.models.llm.budget import estimate_tokens
from clew.models.llm.prompts import chain_of_thought, proximal_triples, sufficiency
from clew.protocols import LOCAL_READER, AgentReader
from clew.retrievers.agents.gear import GearAgent
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.types import ExtractedFacts, Prompt, Question, ReaderInput, SufficiencyDecision, Thought
from clew_lab.datasets.loaders import load_questions
from clew_lab.retrievers.ircot import IRCoTAgent
from papers import command_line
from papers.command_line import check_options, fill_missing, make_parser, one_of, run_program, some_of, whole_number
from papers.evaluated import SETS, answer_rows, open_set, questions_file
from papers.made_data import run_on_made_data
from workbench import describe_machine, gold_recall, print_table

CUTOFFS = (2, 5, 10, 15)
FORMS = {"ours": "", "paper": "preset=paper"}
OPTIONS = {"forms": "main ablations answers", "variants": "main answers", "model": "answers"}
"""The tables that read an option, of those that not all read."""
DEFAULTS = {"bases": ["bm25", "pagerank", "gfm"]}
QUICK = {"bases": ["bm25"], "limit": 3}
"""Options that are not given, without and with `--quick`."""
MAIN = ("naive-ge", "sync-ge", "gear")
ABLATIONS = {
    "all parts": "",
    "no diversity": "gamma=0",
    "no memory": "gist=no",
    "no expansion": "expand=no,notes_from=found",
    "1 step": "steps=1",
    "2 steps": "steps=2",
    "3 steps": "steps=3",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Recalls of each question by cut-off, the mean number of steps, and milliseconds a question, of one retriever."""

    recalls: dict[int, np.ndarray]
    steps: float
    milliseconds: float


class CountingReader:
    """Wrapper that counts the calls and tokens of a language model in the place of a reader."""

    def __init__(self, reader: AgentReader) -> None:
        self.calls = self.tokens = 0
        self.name, self.fingerprint = reader.name, reader.fingerprint
        self._reader = reader

    def read(self, inputs: Sequence[ReaderInput]) -> list[ExtractedFacts]:
        """Count one call for each question with passages; a model lists at most twenty facts."""
        results = self._reader.read(inputs)
        for state, extracted in zip(inputs, results, strict=True):
            if state.passages:
                triples = [[fact.head, fact.relation, fact.tail] for fact in extracted.facts[:20]]
                prompt = proximal_triples.build_prompt(state.question, state.passages, state.gist)
                self._count(prompt, {"triples": triples})
        return results

    def judge(self, inputs: Sequence[ReaderInput]) -> list[SufficiencyDecision]:
        """Count one call per question."""
        results = self._reader.judge(inputs)
        for state, decision in zip(inputs, results, strict=True):
            reply = {"answerable": decision.enough, "reasoning": decision.reasoning, "next_query": decision.query}
            self._count(sufficiency.build_prompt(state.question, state.gist, state.queries), reply)
        return results

    def think(self, inputs: Sequence[ReaderInput]) -> list[Thought]:
        """Count one call per question."""
        results = self._reader.think(inputs)
        for state, thought in zip(inputs, results, strict=True):
            reply = {"thought": thought.text, "answered": thought.answered}
            self._count(chain_of_thought.build_prompt(state.question, state.passages, state.thoughts), reply)
        return results

    def _count(self, prompt: Prompt, reply: Mapping[str, object]) -> None:
        text = f"{prompt.instructions}{json.dumps(prompt.reply.model_json_schema())}{prompt.content}"
        self.calls += 1
        self.tokens += estimate_tokens(text) + estimate_tokens(json.dumps(reply))


def main(given: Sequence[str] | None = None) -> None:
    """Print one table per set and base."""
    arguments = parse_arguments(given)
    if arguments.quick and run_on_made_data(__file__, sys.argv[1:] if given is None else given):
        return
    bases = arguments.bases
    print(describe_machine(), f"reader {arguments.reader}", flush=True)
    for name in arguments.sets:
        index = open_set(name)
        if arguments.table == "answers":
            chosen = [
                with_options(v, base, reader=arguments.reader) for base in bases for v in _main_variants(arguments)
            ]
            file = questions_file(name, arguments.limit)
            print()
            rows = answer_rows(index, file, [*bases, *chosen], arguments.model)
            print_table((f"{name}, {arguments.model or 'quoted'}", "EM", "F1", "R@5", "calls", "tokens"), rows)
            continue
        questions = load_questions(questions_file(name, arguments.limit))
        if arguments.table == "calls":
            print_calls(name, index, questions, bases, arguments.reader)
            continue
        for base in bases:
            print_expansion(name, index, questions, base, arguments)


def parse_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("table", choices=("main", "ablations", "answers", "calls"))
    parser.add_argument("sets", nargs="*", type=one_of(SETS), default=SETS, metavar="SET", help=f"of {', '.join(SETS)}")
    parser.add_argument(
        "--bases", type=command_line.retrievers, help="retrievers, by commas; bm25,pagerank,gfm by default"
    )
    parser.add_argument("--forms", type=some_of(tuple(FORMS)), default=[*FORMS], help="ours, paper")
    parser.add_argument(
        "--variants", nargs="+", type=command_line.retriever, help="retrievers in place of those of the table main"
    )
    parser.add_argument("--reader", type=reader_name, default=LOCAL_READER, help="local, or PROVIDER:NAME")
    parser.add_argument(
        "--model",
        type=command_line.model,
        default="",
        help="PROVIDER:NAME that writes the answers; without it, they are quoted",
    )
    parser.add_argument("--limit", type=whole_number, help="first questions of each set, at most")
    parser.add_argument(
        "--quick", action="store_true", help="made data; the base bm25 and 3 questions where no option says more"
    )
    arguments = parser.parse_args(given)
    check_options(parser, arguments, OPTIONS)
    fill_missing(arguments, QUICK if arguments.quick else DEFAULTS)
    return arguments


def reader_name(text: str) -> str:
    """Return the local reader, or PROVIDER:NAME."""
    return text if text == LOCAL_READER else command_line.model(text)


def print_expansion(
    name: str, index: indexes.Index, questions: Sequence[Question], base: str, arguments: argparse.Namespace
) -> None:
    """Print what each variant finds over one base, beside the base itself."""
    if arguments.table == "main":
        variants = {variant: variant for variant in _main_variants(arguments)}
    else:
        forms = {form: FORMS[form] for form in arguments.forms}
        variants = {
            f"gear, {form}, {label}": _join("gear", options, change)
            for form, options in forms.items()
            for label, change in ABLATIONS.items()
        }
    plain = measure(index, base, questions)
    rows = [format_row(base, plain, plain)]
    for label, variant in variants.items():
        done = measure(index, with_options(variant, base, reader=arguments.reader), questions)
        rows.append(format_row(label, done, plain))
    print()
    columns = (*(f"R@{k}" for k in CUTOFFS), "all gold@5", "R@5 above base", "steps", "ms")
    print_table((f"{name}, base {base}, {len(questions)} questions", *columns), rows)
    sys.stdout.flush()


def _main_variants(arguments: argparse.Namespace) -> list[str]:
    if arguments.variants:
        return list(arguments.variants)
    return [*(_join(variant, FORMS[form]) for form in arguments.forms for variant in MAIN), "ircot"]


def _join(name: str, *options: str) -> str:
    given = ",".join(filter(None, options))
    return f"{name}:{given}" if given else name


def with_options(variant: str, base: str, reader: str) -> str:
    """Return a retriever above a base that reads with a reader; naive-ge has none."""
    name, _, options = variant.partition(":")
    own = "" if name == "naive-ge" or reader == LOCAL_READER else f"reader={reader}"
    return _join(name, options, own, f"base={base}")


def measure(index: indexes.Index, name: str, questions: Sequence[Question]) -> Measured:
    """Return the figures of one retriever; the first question is searched once before, to load what it needs."""
    retriever = index.retriever(parse_retriever(name), paths=0)
    retriever.retrieve([questions[0].text], max(CUTOFFS))
    started = time.perf_counter()
    answers = retriever.retrieve([question.text for question in questions], max(CUTOFFS))
    milliseconds = 1000 * (time.perf_counter() - started) / len(questions)
    pairs = list(zip(answers, questions, strict=True))
    recalls = {k: np.array([gold_recall(evidence, question, k) for evidence, question in pairs]) for k in CUTOFFS}
    return Measured(recalls, float(np.mean([max(len(evidence.steps), 1) for evidence in answers])), milliseconds)


def format_row(label: str, done: Measured, base: Measured) -> list[str]:
    """Return a row of the table, with the paired difference to the base."""
    means = [f"{100 * done.recalls[k].mean():.1f}" for k in CUTOFFS]
    gain = ""
    if done is not base:
        five = done.recalls[5], base.recalls[5]
        c = compare_means((label, "base"), "recall@5", *five, np.random.default_rng(0))
        gain = f"{100 * c.difference:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f})"
    gold = f"{100 * (done.recalls[5] == 1).mean():.1f}"
    return [label, *means, gold, gain, f"{done.steps:.1f}", f"{done.milliseconds:.0f}"]


def print_calls(
    name: str, index: indexes.Index, questions: Sequence[Question], bases: Sequence[str], reader_name: str
) -> None:
    """Print steps, calls and tokens of both agents with one reader; tokens are estimated, as if a model read."""
    rows = []
    context = index.context.with_paths_per_passage(0)
    for base in bases:
        for agent in ("gear", "ircot"):
            opened = open_retriever(parse_retriever(with_options(agent, base, reader_name)), context)
            opened = getattr(opened, "retriever", opened)  # without the checks of a package that is not Clew
            assert isinstance(opened, GearAgent | IRCoTAgent)
            reader = CountingReader(opened.reader)
            evidence = replace(opened, reader=reader).retrieve([question.text for question in questions], 10)
            pairs = list(zip(evidence, questions, strict=True))
            recalls = [f"{100 * np.mean([gold_recall(e, q, k) for e, q in pairs]):.1f}" for k in (5, 10)]
            steps = f"{np.mean([len(one.steps) for one in evidence]):.1f}"
            calls, tokens = reader.calls / len(questions), reader.tokens / len(questions)
            rows.append([f"{agent} over {base}", *recalls, steps, f"{calls:.1f}", f"{tokens:,.0f}"])
    print()
    print_table((name, "R@5", "R@10", "steps", "calls", "tokens a question"), rows)


if __name__ == "__main__":
    run_program(main)
