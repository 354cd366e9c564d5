"""Reranking over the document graph: `python bench/reranking.py quality|ablations|parts|weights|latency [--sets ...]`.

    quality    every base's pool before and after g-rag, and after the same network without edges, with paired tests
    ablations  the rows of the paper's tables 1 and 5: networks and losses on vectors of texts, over the entities and
               triples of the index (all questions), or with --graph amr over AMR by the local parser (--questions)
    parts      ablations of our own network: edges, losses; on development questions, pools of fused and pagerank
    weights    --weights against the shipped ones, on the development pools of parts, with paired tests
    edges      g-rag untrained over 30 seeds, pools of bm25 with AMR by the local parser: share of networks without
               an edge after the first layer, spread of the edges' weights, size of messages
    latency    warm milliseconds of reranking 100 passages

The networks are trained here on the same pools; development questions of hotpotqa and musique-dev select the epoch, and
2wiki is only evaluated.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from clew import index as indexes
from clew.arrays import FloatArray
from clew.evaluation.evaluate_retrieval import evaluate_retrievers
from clew.evaluation.significance import compare_means
from clew.rerankers.g_rag.weights import FeatureColumns, load_reranker
from clew.rerankers.registry import open_reranker, parse_reranker
from clew.retrievers.registry import open_retriever, parse_retriever
from clew.store.weights_io import PRETRAINED_FOLDER
from clew.training.data import corpora
from clew.training.hyperparameters import Recipe
from clew_lab.amr.reranker import AMRForm, make_document_graphs
from clew_lab.datasets.loaders import load_questions
from clew_lab.evaluation.multi_positive_metrics import score_positives
from clew_lab.nn.document_gnn import DocumentBatch, normalize_edges
from clew_lab.training.data.reranking_pools import PoolExample
from clew_lab.training.hyperparameters import RerankLoss
from clew_lab.training.recipes.networks import available_columns, build_document_network, input_columns
from clew_lab.training.recipes.rerank_recipe import DEFAULT_BASES, RerankRecipe, published_rerank_recipe
from clew_lab.training.recipes.reranker import find_pools, train_reranker
from workbench import BENCHMARKS, DATA, WORK, build_index, describe_machine, print_table

TRAINING_SETS = ("2wiki-train", "hotpotqa", "musique")
VALIDATION_SETS = ("hotpotqa", "musique-dev")
SETS = ("2wiki", "hotpotqa", "musique-dev")
MEASURES = ("recall@2", "recall@5", "all_gold@5", "recall@10", "positives_rr")
PARTS_BASES = ("fused", "pagerank")
RUN = WORK / "reranking"

Trained: TypeAlias = tuple[dict[str, float], dict[str, float], float]
"""Development figures of a network, those of the pools before reranking, and training seconds."""


def main() -> None:
    """Run one experiment and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=("quality", "ablations", "parts", "weights", "edges", "latency"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--bases", default=",".join((*DEFAULT_BASES, "gfm")))
    parser.add_argument("--weights", default="", help="weights of g-rag instead of the shipped ones")
    parser.add_argument("--graph", choices=("index", "amr"), default="index", help="document graph of ablations")
    parser.add_argument("--questions", type=int, default=50, help="questions per training set, for ablations on AMR")
    parser.add_argument("--seeds", default="0", help="seeds of parts, separated by commas")
    parser.add_argument("--rows", default="", help="rows of parts, separated by commas; by default all")
    arguments = parser.parse_args()
    print(describe_machine(), flush=True)
    sets, bases = arguments.sets.split(","), arguments.bases.split(",")
    ours = f"g-rag:{arguments.weights}" if arguments.weights else "g-rag"
    if arguments.experiment == "quality":
        quality(sets, bases, ours)
    elif arguments.experiment == "latency":
        latency(bases, ours)
    elif arguments.experiment == "edges":
        edges_over_seeds(sets[-1])
    elif arguments.experiment == "weights":
        compare_weights(Path(arguments.weights))
    elif arguments.experiment == "parts":
        wanted = arguments.rows.split(",") if arguments.rows else [name for name, _ in parts()]
        chosen = [(name, recipe) for name, recipe in parts() if name in wanted]
        print_results(dict(train_seeds(chosen, [int(seed) for seed in arguments.seeds.split(",")])))
    else:
        limit = arguments.questions if arguments.graph == "amr" else None
        rows = ablations(arguments.graph)
        print_results({name: train(f"{name} {arguments.graph}", recipe, ("fused",), limit) for name, recipe in rows})


def train(name: str, recipe: RerankRecipe, bases: Sequence[str] = DEFAULT_BASES, limit: int | None = None) -> Trained:
    """Train a network if necessary; return its development figures, those before reranking, and its seconds."""
    data = [limit_questions(DATA / one, limit) for one in TRAINING_SETS]
    # The passages of AMR pools are slow to encode: with fewer training questions, there is one validation set.
    validation = [DATA / one for one in (VALIDATION_SETS if limit is None else VALIDATION_SETS[1:])]
    result = train_reranker(
        data, validation, RUN / "-".join((*name.replace(",", "").split(), *bases)), bases, recipe, progress, RUN
    )
    print(f"{name}: {result.figures['mean']:.4f}, {result.seconds:.0f} s", file=sys.stderr, flush=True)
    return result.figures, result.initial_figures, result.seconds


def train_seeds(rows: Sequence[tuple[str, RerankRecipe]], seeds: Sequence[int]) -> Iterator[tuple[str, Trained]]:
    """Yield for each row and seed the network's figures over pools of `fused` and `pagerank`."""
    for name, recipe in rows:
        for seed in seeds:
            label = f"{name}, seed {seed}" if len(seeds) > 1 else name
            seeded = replace(recipe, loop=replace(recipe.loop, seed=seed))
            yield label, train(label, seeded, PARTS_BASES)


def compare_weights(folder: Path) -> None:
    """Print figures of two networks on the same development pools, and paired tests of their difference."""
    recipe = RerankRecipe()
    networks = {"given": load_reranker(folder), "shipped": load_reranker(PRETRAINED_FOLDER / "g-rag")}
    available = available_columns(recipe)
    columns = {
        name: FeatureColumns.locate((one.node_features, one.edge_features), available) for name, one in networks.items()
    }
    rows = []
    for name, base in product(VALIDATION_SETS, PARTS_BASES):
        context = corpora.open_corpus_index(DATA / name, RUN, progress)
        pools = RUN / "pools" / corpora.corpus_key(DATA / name)
        examples = find_pools(context, DATA / name / corpora.DEVELOPMENT_FILE, base, recipe, pools, progress)
        given, shipped = (
            np.array(
                [
                    pool_measures(one, trained.model.scores(columns[label].select(one.graph, text=False)))
                    for one in examples
                ]
            )
            for label, trained in networks.items()
        )
        cells = []
        for i, measure in enumerate(MEASURES[:3]):
            c = compare_means(("given", "shipped"), measure, given[:, i], shipped[:, i], np.random.default_rng(0))
            cells.append(
                f"{100 * given[:, i].mean():.1f} / {100 * shipped[:, i].mean():.1f}, "
                f"{100 * c.difference:+.1f} ({100 * c.low:+.1f} to {100 * c.high:+.1f}), p {c.p:.4f}"
            )
        rows.append([f"{name} {base}", *cells])
    print_table(("pools", *MEASURES[:3]), rows)


def edges_over_seeds(name: str, seeds: int = 30, questions: int = 4) -> None:
    """Print how the edges of untrained networks stand after the first layer, for forms of the update."""
    benchmark = BENCHMARKS[name]
    context = indexes.open(build_index(benchmark)).context
    chosen = [question.text for question in load_questions(DATA / benchmark.questions)[:questions]]
    found = [one.passages for one in open_retriever(parse_retriever("bm25"), context).retrieve(chosen, 100)]
    rows = []
    paper = published_rerank_recipe()
    ours = replace(paper, preset="ours", whole=False, normalization="root", projection=True, dropout=0.1)
    forms = {
        "as before: relu, divided, root": replace(ours, edge_rule="relu", messages="divided"),
        "ours: gated, weighted, root": ours,
        "paper with relu": replace(paper, edge_rule="relu"),
        "paper": paper,
        "paper, doubly-stochastic": replace(paper, normalization="doubly-stochastic"),
    }
    for whole in (False, True):
        graphs = make_document_graphs(context, "amr", AMRForm(whole=whole), text=True).build(chosen, found)
        batches = [DocumentBatch.from_inputs([FeatureColumns((), (0, 1)).select(graph, text=True)]) for graph in graphs]
        for label, recipe in forms.items():
            if recipe.whole == whole:
                figures = np.array([edge_figures(recipe, seed, one) for seed in range(seeds) for one in batches])
                rows.append([label, "yes" if whole else "no", *(f"{value:.3f}" for value in figures.mean(axis=0))])
    print(f"{name}, {len(batches)} pools of 100, {seeds} seeds, width {paper.width}")
    head = ("form", "all concepts count", "no edge left", "density", "spread before", "spread after", "message / state")
    print_table(head, rows)


def edge_figures(recipe: RerankRecipe, seed: int, batch: DocumentBatch) -> tuple[float, ...]:
    """Return whether no edge is left, density, spread of weights before and after, and relative size of messages."""
    dimension = batch.vectors.shape[-1]
    model = build_document_network(replace(recipe, loop=replace(recipe.loop, seed=seed)), dimension).eval()
    with torch.no_grad():
        edges = normalize_edges(batch.edges, recipe.normalization)
        states = batch.vectors * dimension**0.5
        states = model.text_projection(states) if recipe.projection else states
        adjacent = (edges > 0).any(-1)
        messages = edges.sum(-1) @ states
        if recipe.messages == "divided":
            messages = messages / adjacent.sum(-1, keepdim=True).clamp_min(1)
        after = model.layers[0](states, edges)[1]
        share = float(messages.norm(dim=-1).mean() / states.norm(dim=-1).mean())
        return float(not after.any()), float(adjacent.float().mean()), spread(edges), spread(after), share


def spread(edges: Tensor) -> float:
    """Return the coefficient of variation of the weights of edges, 0 without any."""
    weights = edges.sum(-1)[(edges > 0).any(-1)]
    return float(weights.std() / weights.mean()) if len(weights) else 0.0


def pool_measures(example: PoolExample, scores: FloatArray) -> tuple[float, float, float]:
    """Return recall at 2 and at 5, and whether all evidence is among the first 5, of a pool in another order."""
    found = np.asarray(example.relevant)[np.argsort(-scores, kind="stable")]
    first = found[:5].sum()
    return found[:2].sum() / example.gold_count, first / example.gold_count, float(first == example.gold_count)


def limit_questions(folder: Path, limit: int | None) -> Path:
    """Return a folder of data with at most `limit` evenly spaced training questions; itself for None."""
    lines = (folder / "train.jsonl").read_text(encoding="utf-8").splitlines()
    if limit is None or len(lines) <= limit:
        return folder
    copy = RUN / "limited" / str(limit) / folder.name  # of the same name, so that the index is shared
    copy.mkdir(parents=True, exist_ok=True)
    (copy / "train.jsonl").write_text("\n".join(lines[i * len(lines) // limit] for i in range(limit)), encoding="utf-8")
    corpus = copy / "corpus.jsonl"
    if not corpus.exists():
        corpus.symlink_to((folder / "corpus.jsonl").resolve())
    return copy


def parts() -> Iterator[tuple[str, RerankRecipe]]:
    """Yield our own network, and the network without each of its parts."""
    ours = RerankRecipe(loop=Recipe())
    yield "ours", ours
    yield "no edges", replace(ours, network="mlp")
    yield "no chains", replace(ours, chains=False)
    yield "common nodes and edges alone", replace(ours, edges=("common nodes", "common edges"))
    yield (
        "no asked links",
        replace(ours, edges=tuple(name for name in input_columns(ours)[1] if "asked" not in name)),
    )
    yield "no links", replace(ours, edges=tuple(name for name in input_columns(ours)[1] if "link" not in name))
    yield "vectors too", replace(ours, text=True)
    yield "one layer", replace(ours, layers=1)
    for kind in ("listwise", "pairwise", "cross-entropy"):
        yield kind, replace(ours, loss=replace(ours.loss, kind=kind))
    yield "all others", replace(ours, loss=replace(ours.loss, hardest=0))


def ablations(graph: str) -> Iterator[tuple[str, RerankRecipe]]:
    """Yield the paper's rows: vectors of texts, two features of edges, the losses."""
    # Of AMR there are 150 questions: more rounds, and smaller steps.
    epochs, rate = (30, 3e-4) if graph == "amr" else (6, 1e-3)
    loss = RerankLoss("cross-entropy", batch=5, hardest=0)
    pairwise = replace(loss, kind="pairwise")
    loop = Recipe(epochs=epochs, rate=rate, warmup=100, average=0.99)
    plain = RerankRecipe(
        kind="index",
        numbers=False,
        text=True,
        edges=("common nodes", "common edges"),
        chains=False,
        loop=loop,
        loss=loss,
    )
    linked = replace(plain, kind="amr", edges=()) if graph == "amr" else plain
    yield "MLP", replace(plain, network="mlp")
    yield "GCN without AMR", replace(plain, network="gcn")
    if graph == "amr":
        paper = published_rerank_recipe()
        yield "paper", replace(paper, steps=0, loop=replace(loop, average=0.0), loss=pairwise)
        yield "paper without path words", replace(paper, words=False, steps=0, loop=loop, loss=pairwise)
        yield "paper, MLP of the same build", replace(paper, network="mlp", steps=0, loop=loop, loss=pairwise)
    yield "G-RAG", replace(linked, network="g-rag")
    yield "G-RAG-RL", replace(linked, network="g-rag", loss=pairwise)
    yield "G-RAG, set loss", replace(linked, network="g-rag", loss=replace(loss, kind="set"))
    for network in ("gcn", "gat", "sage", "gin"):
        yield f"{network.upper()}, pairwise", replace(linked, network=network, loss=pairwise)
    for width in (8, 128):
        yield f"G-RAG-RL, width {width}", replace(linked, network="g-rag", width=width, loss=pairwise)


def print_results(results: dict[str, Trained]) -> None:
    """Print development figures, one row per network; for more than two pools the mean of the measures of each."""
    names = [name for name in next(iter(results.values()))[0] if name != "mean"]
    pools: dict[str, list[str]] = {}
    for name in names:
        pools.setdefault(name.rpartition(" ")[0], []).append(name)
    columns = pools if len(pools) > 2 else {name: [name] for name in names}
    rows = []
    for label, figures, seconds in result_rows(results):
        cells = [f"{mean(figures, part):.1f}" for part in (*columns.values(), names)]
        rows.append([label, *cells, seconds])
    print_table(("network", *columns, "mean", "seconds"), rows)


def result_rows(results: dict[str, Trained]) -> Iterator[tuple[str, dict[str, float], str]]:
    """Yield the label, figures and seconds of each row; the pools before reranking come first."""
    yield "before", next(iter(results.values()))[1], ""
    for label, (figures, _, seconds) in results.items():
        yield label, figures, f"{seconds:.0f}"


def mean(figures: dict[str, float], names: Sequence[str]) -> float:
    """Return the mean of some figures in %."""
    return 100 * sum(figures[name] for name in names) / len(names)


def quality(sets: Sequence[str], bases: Sequence[str], ours: str) -> None:
    """Print a table per set, with paired comparisons to the pool before reranking and to the network without edges."""
    train("no edges", RerankRecipe(network="mlp", loop=Recipe()))
    other = f"g-rag:{RUN / '-'.join(('no', 'edges', *DEFAULT_BASES))}"
    for name in sets:
        benchmark = BENCHMARKS[name]
        index, questions = indexes.open(build_index(benchmark)), DATA / benchmark.questions
        rows = []
        print(f"\n{name}: {len(load_questions(questions))} questions, pools of 100; in %")
        for base in bases:
            labels = {f"{base}:rerank={ours}": "g-rag", f"{base}:rerank={other}": "no edges", base: "as found"}
            retrievers = {name: parse_retriever(name) for name in labels}
            report = evaluate_retrievers(
                index,
                questions,
                retrievers,
                (2, 5, 10),
                None,
                RUN / "runs",
                progress,
                further=partial(score_positives, ks=(2, 5, 10)),
            ).to_json()
            for spec, label in labels.items():
                figures = report["retrievers"][spec]
                cells = [f"{100 * figures[m]:.1f}" for m in MEASURES]
                rows.append([base, label, *cells, f"{1000 * figures['seconds_p50']:.1f}"])
            for c in report["comparisons"]:
                if c["measure"] in ("recall@2", "recall@5", "all_gold@5"):
                    interval = f"{100 * c['low']:+.1f} to {100 * c['high']:+.1f}, p = {c['p']:.4f}"
                    versus = labels[c["b"]]
                    print(f"{base}, g-rag - {versus}, {c['measure']}: {100 * c['difference']:+.1f} ({interval})")
        print_table(("base", "reranked", *MEASURES, "ms p50"), rows)
        print(flush=True)


def latency(bases: Sequence[str], ours: str) -> None:
    """Print the milliseconds of reranking alone on 2wiki's questions."""
    benchmark = BENCHMARKS["2wiki"]
    index = indexes.open(build_index(benchmark))
    questions = [question.text for question in load_questions(DATA / benchmark.questions)][:220]
    rows = []
    for base in bases:
        results = open_retriever(base, index.context.with_paths_per_passage(0)).retrieve(questions, 100)
        reranker = open_reranker(parse_reranker(ours), index.context.with_fresh_cache())
        milliseconds = []
        for question, evidence in zip(questions, results, strict=True):
            started = time.perf_counter()
            reranker.rerank([question], [evidence])
            milliseconds.append(1000 * (time.perf_counter() - started))
        warm = sorted(milliseconds[20:])
        rows.append([base, f"{statistics.median(warm):.1f}", f"{warm[int(0.95 * len(warm))]:.1f}"])
    print_table(("base", "ms p50", "ms p95"), rows)


def progress(stage: str, done: int, _total: int) -> None:
    """Print the stage that begins."""
    if not done:
        print(stage, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
