"""GCN-Retriever's table 1: `python bench/papers/gcn_retriever.py [--sets NAMES | --data FOLDER] [--quick]`.

Rows are GCN-Retriever as published and ours, each also untrained, G-Retriever's tree, and the whole graph; with a
language model (`--reader MODEL`) also G-Retriever with its token and GraphToken, and columns for prompts that are tuned
together with the selection. `published` is the accuracy of the data set's own code, `strict` that the reply equals an
answer, in %.
`--data` reads published files, for example a folder with GQA's train_sceneGraphs.json beside G-Retriever's
questions.csv, or RoG's records of WebQSP; `--test` those to measure on, where they are in another file. Without it, the
graphs at hand: ExplaGraphs and PathQuestion. Tests and intervals are over questions. `--quick` runs on made data.

Source: Engel and Park, "Training Retrieval Augmented Generation for Text-Graph Question Answering with LLMs" (2024).
Differs from the source: budgets, epochs and rates, which the paper does not state, are ours; without `--reader` the
local reader takes the place of Llama 2, which has no prompt to tune.
"""

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.protocols import LOCAL_READER, Encoder
from clew.training.checkpoint import single_process
from clew.types import ignore_progress
from clew_lab.evaluation.compare_subgraphs import ComparisonConfig, compare_selections
from clew_lab.graph.prizes import EDGE_COST
from clew_lab.models.causal_lm import CausalModel
from clew_lab.retrievers.selectors import TOP_EDGES, TOP_NODES, SteinerSelector
from clew_lab.training.data.graph_sources import GraphQuestionSource, Splits, load_comparison_splits
from clew_lab.training.recipes.graph_readers import open_model, reader_factory, token_reader_factories
from clew_lab.training.recipes.reader_settings import ReaderSettings
from clew_lab.training.recipes.selection_recipe import SelectionRecipe, published_selection_recipe
from papers import command_line
from papers.command_line import fill_missing, make_parser, run_program, some_of, split_seeds, whole_number
from papers.made_data import run_on_made_data
from workbench import DATA, WORK, describe_machine, print_table

EXPLAGRAPHS, PQ2, PQ3 = "explagraphs", "pathquestion-2h", "pathquestion-3h"
BUDGETS = {EXPLAGRAPHS: 3, PQ2: 5, PQ3: 5}
"""Nodes of a selection for each set at hand."""
OF_MODELS = {"soft_prompt": 10, "graph_tokens": 1, "node_features": "text"}
"""Options of a language model alone, where they are not given."""
DEFAULTS = {
    **OF_MODELS,
    "sets": [*BUDGETS],
    "encoder": DEFAULT_ENCODER,
    "epochs": 3,
    "seeds": (0, 1, 2),
}
QUICK = {**DEFAULTS, "encoder": "hashing:32", "limit": 24, "epochs": 1, "seeds": (0,)}
"""Options that are not given, without and with `--quick`."""
SCENE_EDGES = 3
"""Similarities of edges that have a prize on scene graphs, as the published code has it there."""
PUBLISHED = {"gcn-paper": "GCN-Retriever", "gcn-untrained": "GCN-Retriever, untrained"}
OURS = {"gcn": "GCN-Retriever, ours", "gcn-untrained": "GCN-Retriever, ours, untrained"}
FIXED = {"steiner": "G-Retriever", "whole": "the whole graph"}
WITH_TOKENS = {"g-retriever": "G-Retriever with its token", "graphtoken": "GraphToken"}


@dataclass(frozen=True, slots=True)
class Task:
    """Questions of one data set: where they are, and the budget."""

    name: str
    source: GraphQuestionSource
    test: Path | None
    budget: int


def main(given: Sequence[str] | None = None) -> None:
    """Print the table of each set."""
    arguments = parse_arguments(given)
    if arguments.quick and run_on_made_data(__file__, sys.argv[1:] if given is None else given):
        return
    print(describe_machine(), flush=True)
    encoder = open_encoder(arguments.encoder, device=arguments.device)
    reader = ReaderSettings(
        arguments.reader, node_features=arguments.node_features, graph_tokens=arguments.graph_tokens
    )
    model = open_model(reader, arguments.device, arguments.dtype)
    for task in tasks_of(arguments):
        print_task(task, encoder, model, reader, arguments)


def parse_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--sets", type=some_of(tuple(BUDGETS)), help=f"of {', '.join(BUDGETS)}, by commas")
    parser.add_argument("--data", type=Path, help="published files in place of the sets")
    parser.add_argument("--test", type=Path, help="those to measure on; by default a split, or a fifth of the groups")
    parser.add_argument("--test-split", help="split to measure on; test by default")
    parser.add_argument("--budget", type=whole_number, help="nodes of a selection; 10 for --data")
    parser.add_argument("--reader", default=LOCAL_READER, help="local, or a causal language model")
    parser.add_argument("--soft-prompt", type=whole_number, help="virtual tokens of a tuned prompt; 10 by default")
    parser.add_argument("--graph-tokens", type=whole_number, help="tokens of a graph; 1 by default")
    parser.add_argument("--node-features", help="of graph tokens; text by default")
    parser.add_argument("--encoder", help=f"{DEFAULT_ENCODER} by default")
    parser.add_argument("--device", type=command_line.device, default="auto")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--limit", type=whole_number, help="questions of each file, evenly spaced")
    parser.add_argument("--epochs", type=whole_number, help="3 by default")
    parser.add_argument("--seeds", type=split_seeds, help="of the training, by commas; 0,1,2 by default")
    parser.add_argument("--quick", action="store_true", help="made data, and little training where no option says more")
    arguments = parser.parse_args(given)
    if arguments.test is not None and arguments.data is None:
        parser.error("--test is of the same form as --data: give both")
    if arguments.data is not None and arguments.sets is not None:
        parser.error("--data is in place of --sets: give one of them")
    if arguments.reader == LOCAL_READER:
        for option in OF_MODELS:
            if getattr(arguments, option) is not None:
                name = f"--{option.replace('_', '-')}"
                parser.error(
                    f"{name} is of a language model, and the reader is {LOCAL_READER}: give --reader MODEL too"
                )
    fill_missing(arguments, QUICK if arguments.quick else DEFAULTS)
    return arguments


def tasks_of(arguments: argparse.Namespace) -> list[Task]:
    """Return the sets to measure on."""
    if arguments.data is not None:
        source = GraphQuestionSource(data=arguments.data, limit=arguments.limit)
        return [Task(arguments.data.name, source, arguments.test, arguments.budget or 10)]
    tasks = []
    for name in arguments.sets:
        folder, test = DATA / name, None
        if name == EXPLAGRAPHS:
            source, test = GraphQuestionSource(data=folder / "train.jsonl", limit=arguments.limit), folder / "dev.jsonl"
        else:
            files = {"kg": folder / "kg.tsv", "questions": folder / "questions.jsonl"}
            source = GraphQuestionSource(**files, hops=2 if name == PQ2 else 3, limit=arguments.limit)
        tasks.append(Task(name, source, test, arguments.budget or BUDGETS[name]))
    return tasks


def print_task(
    task: Task, encoder: Encoder, model: CausalModel | None, reader: ReaderSettings, arguments: argparse.Namespace
) -> None:
    """Print the table of one set, and what GCN-Retriever differs by from the others."""
    splits = load_comparison_splits(
        task.source,
        None,
        task.test,
        arguments.test_split,
        encoder,
        ignore_progress,
        lambda note: print(note, flush=True),
    )
    counts = f"{len(splits.test)} questions, {len(splits.train)} for training"
    seeds = ",".join(map(str, arguments.seeds))
    recipe = f"budget {task.budget}, epochs {arguments.epochs}, seeds {seeds}"
    print(f"\n{task.name}: {counts}, {recipe}, reader {arguments.reader}, accuracy by the rule {rule_of(splits)}")
    columns = {"zero-shot": measure(task, splits, encoder, model, reader, arguments)}
    if model is not None:
        tuned = replace(reader, soft_prompt=arguments.soft_prompt)
        columns["tuned"] = measure(task, splits, encoder, model, tuned, arguments)
    heads = [f"{column}, {measure}" for column in columns for measure in ("published", "strict")]
    labels = dict.fromkeys(label for figures in columns.values() for label in figures)
    print_table(
        ("selection", *heads, "nodes"),
        [[label, *row_of([figures.get(label) for figures in columns.values()])] for label in labels],
    )


def rule_of(splits: Splits) -> str:
    """Return the rule of accuracy as published."""
    return "first-choice" if splits.choices else splits.rule


def row_of(columns: Sequence[Mapping[str, Any] | None]) -> list[str]:
    """Return the cells of a selection, "" where it was not measured, and its number of nodes."""
    cells = []
    for figures in columns:
        cells += ["", ""] if figures is None else [with_interval(figures, name) for name in ("published", "accuracy")]
    known = next(figures for figures in columns if figures is not None)
    return [*cells, f"{known['nodes']:.1f}"]


def with_interval(figures: Mapping[str, Any], measure_name: str) -> str:
    """Return a share in percent with its interval."""
    low, high = figures["intervals"][measure_name]
    return f"{100 * figures[measure_name]:.1f} ({100 * low:.1f}-{100 * high:.1f})"


def measure(
    task: Task,
    splits: Splits,
    encoder: Encoder,
    model: CausalModel | None,
    reader: ReaderSettings,
    arguments: argparse.Namespace,
) -> dict[str, Mapping[str, Any]]:
    """Return the figures of each selection by its label; graph tokens are read where prompts are tuned."""
    config = ComparisonConfig(
        splits.train,
        splits.validation,
        splits.test,
        reader_factory(reader, model, encoder, splits.train, splits.choices),
        encoder,
        task.budget,
        token_reader_factories(reader, model, encoder),
        splits.choices,
        splits.rule,
        SteinerSelector(TOP_NODES, SCENE_EDGES if splits.rule == "inside" else TOP_EDGES, EDGE_COST),
        single_process(arguments.device),
    )
    found: dict[str, Mapping[str, Any]] = {}
    of_tokens = WITH_TOKENS if reader.soft_prompt else {}
    for recipe, labels in ((published_selection_recipe(), PUBLISHED | FIXED | of_tokens), (SelectionRecipe(), OURS)):
        feedback = replace(recipe.feedback, budget=task.budget)
        loop = replace(recipe.loop, epochs=arguments.epochs)
        runs = WORK / "gcn-retriever" / f"{task.name}-{reader.soft_prompt}-{recipe.preset}"
        shutil.rmtree(runs, ignore_errors=True)
        chosen = replace(recipe, feedback=feedback, loop=loop)
        report = compare_selections(config, list(labels), arguments.seeds, chosen, runs, ignore_progress).to_json()
        found |= {labels[name]: figures for name, figures in report["selections"].items()}
        for c in report["comparisons"]:
            if c["measure"] == "published":
                interval = f"{100 * c['difference']:+.1f} ({100 * c['low']:+.1f} to {100 * c['high']:+.1f})"
                print(f"{labels[c['a']]} minus {labels[c['b']]}: {interval}, p = {c['p']:.4f}", flush=True)
    return found


if __name__ == "__main__":
    run_program(main)
