"""The tables of G-RAG: `python bench/papers/g_rag.py TABLE [--train FILE --dev FILE --test FILE] [--quick]`.

    1  the file's order, an MLP and a graph network on plain texts, G-RAG and G-RAG-RL
    2  the file's order, a language model's scores from 0 to 100 (--model PROVIDER:NAME) and G-RAG-RL, with ties
    3  G-RAG-RL with text encoders (--encoders)
    5  G-RAG-RL with GCN, GAT, GraphSAGE and GIN
    statistics  figures 2 and 3: sizes of AMR graphs, and lengths of shortest paths from `question`

Files are of candidates, as DPR and FiD write them; the published ones of NQ and TriviaQA bring their AMR (`--amr
candidates`). Without files, the pools are those of `--base` on the data at hand: training and development questions of
hotpotqa, 2wiki as test set, and AMR of the project's own parser; `--limit` takes the first questions of each. Networks
are of `--preset paper`, of which `--epochs` and `--steps` change the length; tables 1, 2 and 3 have the paper's fixed
width 8 and dropout 0.1, table 5 the preset's, and `--width` takes another. The first line says what was run. Graphs
and vectors of pools are made once for all rows, and kept below the benchmark folder. MRR is the mean over positive
passages, as published; MH is mean hits at 10. `--quick` runs on made data with tiny networks.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), tables 1, 2, 3 and 5.
Differs from the source: the data and the encoders at hand; BART-GST is not here.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from clew.errors import InputError
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.models.llm.access import LLMClientFactory
from clew.plugins.records import SettingsRecord
from clew.rerankers.g_rag.weights import FeatureColumns
from clew.rerankers.registry import LLMRerank
from clew.rerankers.text_scorer import sort_by_score
from clew.retrievers.registry import parse_retriever
from clew.settings import Settings, load_settings
from clew.types import Failure
from clew_lab.amr.graph import path_lengths
from clew_lab.amr.parsers import AMRParser
from clew_lab.amr.reranker import load_any_reranker, open_amr_parser, open_scorer
from clew_lab.candidates.candidate_pools import GivenPools
from clew_lab.datasets.candidates import load_candidates
from clew_lab.datasets.loaders import load_questions
from clew_lab.evaluation.candidates import CandidateRanking, evaluate_candidates, open_candidates
from clew_lab.training.recipes.candidate_pools import PoolPlace, find_candidate_pools
from clew_lab.training.recipes.networks import available_columns
from clew_lab.training.recipes.rerank_recipe import Network, RerankRecipe, published_rerank_recipe
from clew_lab.training.recipes.reranker import train_reranker
from gnn_lab import percent
from papers import command_line
from papers.command_line import check_options, fill_missing, make_parser, run_program, split_seeds, whole_number
from papers.evaluated import open_set
from papers.made_data import run_on_made_data
from workbench import DATA, WORK, describe_machine, print_table

RUN = WORK / "g-rag"
AT_HAND = {"train": ("hotpotqa", "train.jsonl"), "dev": ("hotpotqa", "dev.jsonl"), "test": ("2wiki", "questions.jsonl")}
"""For each split its corpus and its file of questions."""
ENCODERS = [DEFAULT_ENCODER, "sentence-transformers/all-MiniLM-L6-v2"]
DEFAULTS = {"encoders": ENCODERS, "limit": {}, "seeds": (0,)}
QUICK = {
    **DEFAULTS,
    "encoders": ["hashing:32", "hashing:64"],
    "limit": dict.fromkeys(AT_HAND, 4),
    "epochs": 1,
    "steps": 3,
    "width": 8,
}
"""Options that are not given, without and with `--quick`."""
LONGEST = 6
"""Shortest paths of at least so many edges are counted together."""
NETWORKS: tuple[Network, ...] = ("g-rag", "gcn", "gat", "sage", "gin")
FIXED: dict[str, Any] = {"width": 8, "dropout": 0.1}
"""Settings of the paper without tuning (section 4.2)."""
OPTIONS = {"model": "2", "encoders": "3", **dict.fromkeys(("epochs", "steps", "width", "seeds"), "1 2 3 5")}
"""The tables that read an option, of those that not all read."""
MEASURES = {"MRR": "positives_rr", "MH": "recall@10"}
TIED_MEASURES = {"MTRR": "tied_rr", "TMH": "tied_hits@10"}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: a network to train, or another reranker; the file's order without both."""

    label: str
    recipe: RerankRecipe | None = None
    reranker: SettingsRecord | None = None
    encoder: str = ""  # "" for that of the settings


def main(given: Sequence[str] | None = None) -> None:
    """Print one table."""
    arguments = parse_arguments(given)
    if arguments.quick and run_on_made_data(__file__, sys.argv[1:] if given is None else given):
        return
    print(describe_machine(), flush=True)
    recipe = build_recipe(arguments)
    files = {split: getattr(arguments, split) or pool_file(split, arguments) for split in AT_HAND}
    print(f"AMR {recipe.parser};", *(f"{split} {file.name}" for split, file in files.items()), flush=True)
    if arguments.table == "statistics":
        print_statistics(files, open_amr_parser(recipe.parser))
        return
    loop = recipe.loop
    print(
        f"{loop.epochs} epochs of {recipe.steps} steps, batches of {recipe.loss.batch}, width {recipe.width}, dropout "
        f"{recipe.dropout:g}, rate {loop.rate:g}, seeds {','.join(map(str, arguments.seeds))}",
        flush=True,
    )
    if arguments.table == "2" and not arguments.model:
        print("no --model PROVIDER:NAME is given: the table is without the row of a language model", flush=True)
    measures = {**MEASURES, **TIED_MEASURES} if arguments.table == "2" else MEASURES
    heads = [f"{measure} {split}" for measure in measures for split in ("dev", "test")]
    rows = []
    for row in TABLES[arguments.table](recipe, arguments):
        runs = [measure_row(row, files, seed) for seed in (arguments.seeds if row.recipe else arguments.seeds[:1])]
        cells = [
            percent([run[split][measures[name]] for run in runs]) for name in measures for split in ("dev", "test")
        ]
        print(row.label, *cells, sep=" | ", file=sys.stderr, flush=True)
        rows.append([row.label, *cells])
    print_table((f"table {arguments.table}", *heads), rows)


def parse_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("table", choices=(*TABLES, "statistics"))
    for split in AT_HAND:
        parser.add_argument(f"--{split}", type=Path, help="file of candidates, in place of the data at hand")
    parser.add_argument(
        "--base", type=command_line.retriever, default="fused", help="retriever of pools on the data at hand"
    )
    parser.add_argument("--amr", default="", help="parser of AMR; candidates for files, else local")
    parser.add_argument(
        "--limit",
        type=split_limits,
        help="first questions of each split of the data at hand: one number, or those of train, dev and test by commas",
    )
    parser.add_argument("--epochs", type=whole_number, help="in place of 5")
    parser.add_argument("--steps", type=whole_number, help="of an epoch, in place of 10,000")
    parser.add_argument(
        "--width", type=whole_number, help="of a passage's state between the layers, in place of the paper's"
    )
    parser.add_argument("--seeds", type=split_seeds, help="of the training, by commas; 0 by default")
    parser.add_argument("--model", type=command_line.model, default="", help="PROVIDER:NAME that scores passages")
    parser.add_argument("--encoders", type=command_line.encoders, help=f"by default {', '.join(ENCODERS)}")
    parser.add_argument("--quick", action="store_true", help="made data, and tiny networks where no option says more")
    arguments = parser.parse_args(given)
    check_options(parser, arguments, OPTIONS)
    stated = [split for split in AT_HAND if getattr(arguments, split)]
    if stated and len(stated) < len(AT_HAND):
        parser.error(f"--{stated[0]} is given: give --train, --dev and --test, or none of them")
    if stated and arguments.limit is not None:
        parser.error(f"--limit is of the data at hand, and --{stated[0]} is given: leave it out")
    fill_missing(arguments, QUICK if arguments.quick else DEFAULTS)
    arguments.amr = arguments.amr or ("candidates" if stated else "local")
    return arguments


def split_limits(text: str) -> dict[str, int]:
    """Return the first questions of each split: "500,100,150" are those of train, dev and test, "50" those of each."""
    parts = text.split(",")
    if len(parts) not in (1, len(AT_HAND)) or not all(part.isdecimal() and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: wanted one number, or three by commas, for example 500,100,150")
    numbers = [int(part) for part in parts]
    return dict(zip(AT_HAND, numbers * len(AT_HAND) if len(parts) == 1 else numbers, strict=False))


def build_recipe(arguments: argparse.Namespace) -> RerankRecipe:
    """Return the published recipe, with the length and the parser that the arguments name."""
    recipe = published_rerank_recipe()
    if arguments.table != "5":
        recipe = replace(recipe, **FIXED)
    loop = replace(recipe.loop, epochs=arguments.epochs or recipe.loop.epochs)
    width = arguments.width or recipe.width
    return replace(recipe, parser=arguments.amr, steps=arguments.steps or recipe.steps, loop=loop, width=width)


def pool_file(split: str, arguments: argparse.Namespace) -> Path:
    """Return the file of candidates of a split of the data at hand, made if absent."""
    corpus, questions = AT_HAND[split]
    first = arguments.limit.get(split)
    limit = "" if first is None else f"-first-{first}"
    path = RUN / f"{split}-{corpus}-{arguments.base.replace(':', '-')}{limit}.json"
    if path.is_file():
        return path
    retriever = open_set(corpus).retriever(parse_retriever(arguments.base), paths=0)
    records = []
    for question in islice(load_questions(DATA / corpus / questions), first):
        (found,) = retriever.retrieve([question.text], published_rerank_recipe().pool)
        contexts = [
            {
                "id": one.item.id,
                "title": one.item.title,
                "text": one.item.text,
                "score": one.score,
                "has_answer": bool({one.item.id, one.item.document_id} & set(question.gold)),
            }
            for one in found.passages
        ]
        records.append({"id": question.id, "question": question.text, "answers": [*question.answers], "ctxs": contexts})
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")  # an interrupted run leaves no file that looks whole
    part.write_text(json.dumps(records), encoding="utf-8")
    part.replace(path)
    return path


def table_1(recipe: RerankRecipe, _: argparse.Namespace) -> Iterator[Row]:
    """Yield the strategies: the paper's MLP and GCN read plain texts (equation 1), G-RAG words of AMR paths too."""
    cross_entropy = replace(recipe, loss=replace(recipe.loss, kind="cross-entropy"))
    yield Row("w/o reranker")
    yield Row("MLP", replace(cross_entropy, network="mlp", words=False))
    yield Row("GCN", replace(cross_entropy, words=False))
    yield Row("G-RAG", cross_entropy)
    yield Row("G-RAG-RL", recipe)


def table_2(recipe: RerankRecipe, arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the language model beside G-RAG-RL."""
    yield Row("w/o reranker")
    if arguments.model:
        yield Row(arguments.model, reranker=LLMRerank(model=arguments.model))
    yield Row("G-RAG-RL", recipe)


def table_3(recipe: RerankRecipe, arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the encoders."""
    for encoder in arguments.encoders:
        yield Row(encoder, recipe, encoder=encoder)


def table_5(recipe: RerankRecipe, _: argparse.Namespace) -> Iterator[Row]:
    """Yield the networks; the first is the layer of the paper's equations."""
    for network in NETWORKS:
        width = max(recipe.width, 8)
        yield Row(network, replace(recipe, network=network, width=width))


TABLES = {"1": table_1, "2": table_2, "3": table_3, "5": table_5}


def print_statistics(files: dict[str, Path], parser: AMRParser) -> None:
    """Print sizes of the graphs of each split, and shares of concepts by their distance from the question.

    Raises InputError where no pool of a split has a graph.
    """
    rows = []
    for split, file in files.items():
        nodes: list[int] = []
        edges: list[int] = []
        lengths: list[int] = []
        failed: list[Failure] = []
        for pool in load_candidates(file):
            passages = [one.item for one in pool.passages]
            for graph in parser.parse([pool.question.text] * len(passages), passages):
                if isinstance(graph, Failure):
                    failed.append(graph)
                    continue
                nodes.append(len(graph.concepts))
                edges.append(len(graph.edges))
                lengths += path_lengths(graph)
        if not nodes:
            reason = f"{failed[0].reason}; " if failed else ""
            raise InputError(f"{file}: {reason}not one pool has a graph: give another parser (--amr) or file")
        counts = np.array(lengths or [-1])
        shares = [100 * float((counts == length).mean()) for length in range(LONGEST)]
        sizes = [f"{np.mean(values):.1f} ({min(values)}-{max(values)})" for values in (nodes, edges)]
        beyond, unreached = 100 * float((counts >= LONGEST).mean()), 100 * float((counts < 0).mean())
        rows.append(
            [
                split,
                str(len(nodes)),
                str(len(failed)),
                *sizes,
                *(f"{share:.1f}" for share in (*shares, beyond, unreached)),
            ]
        )
    heads = [*(f"{length} edges" for length in range(LONGEST)), f"{LONGEST} or more", "no path"]
    print_table(("statistics", "graphs", "failed", "concepts", "edges", *heads), rows)


def measure_row(row: Row, files: dict[str, Path], seed: int) -> dict[str, dict[str, float]]:
    """Return the figures of a row on development and test pools; its network is trained first, with a seed."""
    settings = load_settings()
    if row.encoder:
        settings = settings.model_copy(update={"encoder": row.encoder})
    if row.recipe is None:
        return {split: measure(files[split], row.reranker, settings) for split in ("dev", "test")}
    recipe = replace(row.recipe, loop=replace(row.recipe.loop, seed=seed))
    name = "-".join((*row.label.replace("/", "-").split(), f"seed-{seed}"))
    out = RUN / "weights" / name
    train_reranker([], [files["dev"]], out, (), recipe, progress, RUN, candidates=[files["train"]], settings=settings)
    return {split: measure_trained(files[split], out, recipe, settings) for split in ("dev", "test")}


def measure(file: Path, reranker: SettingsRecord | None, settings: Settings) -> dict[str, float]:
    """Return the figures of a reranker on the pools of a file, of the file's order without one."""
    factory: LLMClientFactory = settings.make_llm_factory()
    with open_candidates(file, reranker, settings, factory, progress) as ranking:
        return figures_of(ranking, file, factory)


def measure_trained(file: Path, weights: Path, recipe: RerankRecipe, settings: Settings) -> dict[str, float]:
    """Return the figures of a trained network on the pools of a file, whose graphs were made for its training.

    They are those of `measure` with its reranker, which would parse and encode all passages once more.
    """
    pools = load_candidates(file)
    examples = iter(find_candidate_pools(file, recipe, PoolPlace(RUN, progress, "cpu", settings)))
    trained = load_any_reranker(weights)
    columns = FeatureColumns.locate((trained.node_features, trained.edge_features), available_columns(recipe))
    score = open_scorer(trained.model)
    ranked = {}
    for pool in pools:
        evidence = pool.evidence(recipe.pool)
        if evidence.passages and pool.question.gold:  # the others are no examples, and count in no measure
            scores = score(columns.select(next(examples).graph, text=True))
            evidence = sort_by_score(evidence, scores.tolist())
        ranked[pool.question.text] = evidence
    ranking = CandidateRanking(pools, {"trained": GivenPools(ranked)})
    return figures_of(ranking, file, settings.make_llm_factory())


def figures_of(ranking: CandidateRanking, file: Path, factory: LLMClientFactory) -> dict[str, float]:
    """Return the figures of the last ranking of some pools."""
    report = evaluate_candidates(ranking, str(file), (10,), factory, progress, positives=True)
    return dict(list(report.retrievers.values())[-1].means)


def progress(stage: str, done: int, _total: int) -> None:
    """Print the stage that begins."""
    if not done:
        print(stage, file=sys.stderr, flush=True)


if __name__ == "__main__":
    run_program(main)
