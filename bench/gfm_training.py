"""Training experiments of `gfm`: `python bench/gfm_training.py EXPERIMENT [--seeds 0,1,2] [--2wiki]`.

    stages     random initialisation, KG completion, path questions; each alone, and before human questions
    losses     the weight of the cross-entropy, and the three ranking losses
    parts      without features, prior, learned inverses; other messages and aggregations; depth
    width      width 32 to 512, fitted and plotted
    data       shares of the training questions, fitted and plotted
    transfer   trained on one corpus, evaluated on each
    published  entities as targets, as in the paper, with each ranker

Development questions select the epoch and are reported; 2wiki is only evaluated on request.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from clew.nn.query_gnn import QueryGNN
from clew.retrievers.gfm.passage_ranking import EntityRanker
from clew.training.hyperparameters import CompletionRecipe, Recipe, RetrievalLoss
from clew.training.recipes.records import GFMRecipe
from gnn_lab import TRAINING_SETS, Lab, measure, percent
from workbench import WORK, describe_machine, print_table

OURS = GFMRecipe(width=64, layers=3, nodes=100, loop=Recipe(epochs=4))
COLUMNS = (("hotpotqa", "dev", 2), ("hotpotqa", "dev", 5), ("musique-dev", "dev", 5), ("musique-dev", "dev", 10))
HELD_BACK = (("2wiki", "questions", 2), ("2wiki", "questions", 5))

WIDTHS = (32, 64, 128, 256, 512)

Network = tuple[str, QueryGNN, float]
"""A label, a trained network, and the training seconds."""


def main() -> None:
    """Run one experiment and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", choices=(*EXPERIMENTS, "published"))
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--2wiki", action="store_true", dest="held_back")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)), help="512 takes hours on two cores")
    arguments = parser.parse_args()
    widths = [int(width) for width in arguments.widths.split(",")]
    experiments = EXPERIMENTS | {"width": partial(width, widths)}
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    columns = (*COLUMNS, *(HELD_BACK if arguments.held_back else ()))
    print(describe_machine(), f"seeds {arguments.seeds}", flush=True)
    if arguments.experiment == "published":
        published(seeds, arguments.held_back)
        return
    lab = Lab(OURS)
    runs_of: dict[str, list[list[float]]] = {}
    sizes: dict[str, float] = {}
    for seed in seeds:
        for label, model, seconds in experiments[arguments.experiment](lab, seed):
            figures = [measure(model, lab.examples(name, q), (k,)).recall[k] for name, q, k in columns]
            runs_of.setdefault(label, []).append([*figures, seconds])
            sizes[label] = sum(parameter.numel() for parameter in model.parameters())
            print(label, seed, *(f"{100 * f:.1f}" for f in figures), f"{seconds:.0f} s", file=sys.stderr, flush=True)
    rows = [
        [
            label,
            *(percent([run[i] for run in runs]) for i in range(len(columns))),
            f"{np.mean([r[-1] for r in runs]):.0f}",
        ]
        for label, runs in runs_of.items()
    ]
    print_table((arguments.experiment, *(f"{name} R@{k}" for name, _, k in columns), "seconds"), rows)
    if arguments.experiment in ("width", "data"):
        across = {label: (sizes[label] if arguments.experiment == "width" else float(label)) for label in runs_of}
        fit_power_law(
            arguments.experiment,
            {across[label]: float(np.mean([r[:4] for r in runs])) for label, runs in runs_of.items()},
        )


def stages(lab: Lab, seed: int) -> Iterator[Network]:
    """Train without labels, and then with labels."""
    own = replace(OURS, loop=replace(OURS.loop, seed=seed))
    labelled = [lab.examples(name, "train") for name in TRAINING_SETS]
    model, done = lab.fit(own, labelled)
    yield "human questions", model, done.seconds
    facts = replace(own, loss=RetrievalLoss(1.0), completion=CompletionRecipe(steps=600, nodes=100))
    model, done = lab.complete(replace(facts, loop=Recipe(epochs=2, seed=seed)), TRAINING_SETS)
    yield "facts", model, done.seconds
    model, again = lab.fit(own, labelled, model)
    yield "facts, then human questions", model, done.seconds + again.seconds
    generated = [lab.path_questions(name, 1000) for name in TRAINING_SETS]
    model, done = lab.fit(replace(own, loop=replace(own.loop, epochs=3)), generated)
    yield "path questions", model, done.seconds
    model, again = lab.fit(own, labelled, model)
    yield "path questions, then human questions", model, done.seconds + again.seconds


def losses(lab: Lab, seed: int) -> Iterator[Network]:
    """Vary the two losses and their weights."""
    labelled = [lab.examples(name, "train") for name in TRAINING_SETS]
    for ranking in ("listwise", "paper", "code"):
        for alpha in (0.0, 0.3, 0.7):
            loss = RetrievalLoss(alpha, ranking)
            model, done = lab.fit(replace(OURS, loss=loss, loop=replace(OURS.loop, seed=seed)), labelled)
            yield f"{ranking}, alpha {alpha}", model, done.seconds
    model, done = lab.fit(replace(OURS, loss=RetrievalLoss(1.0), loop=replace(OURS.loop, seed=seed)), labelled)
    yield "alpha 1", model, done.seconds


def parts(lab: Lab, seed: int) -> Iterator[Network]:
    """Remove or change one part at a time."""
    own = replace(OURS, loop=replace(OURS.loop, seed=seed))
    labelled = [lab.examples(name, "train") for name in TRAINING_SETS]
    changes = {
        "as shipped": own,
        "no features": replace(own, features=False),
        "no prior": replace(own, prior=False),
        "neither": replace(own, features=False, prior=False),
        "TransE": replace(own, message="transe"),
        "mean": replace(own, aggregate="mean"),
        "2 layers": replace(own, layers=2),
        "6 layers": replace(own, layers=6),
        "no averaged weights": replace(own, loop=replace(own.loop, average=0.0)),
        "whole questions alone": replace(own, loss=RetrievalLoss(forms=(1.0, 0.0, 0.0, 0.0))),
    }
    for label, recipe in changes.items():
        model, done = lab.fit(recipe, labelled)
        yield label, model, done.seconds


def width(widths: Sequence[int], lab: Lab, seed: int) -> Iterator[Network]:
    """Vary the width of the states."""
    labelled = [lab.examples(name, "train") for name in TRAINING_SETS]
    for value in widths:
        rate = 2e-3 if value < 256 else 1e-3  # wider networks diverge at the higher rate
        model, done = lab.fit(replace(OURS, width=value, loop=replace(OURS.loop, rate=rate, seed=seed)), labelled)
        yield str(value), model, done.seconds


def data(lab: Lab, seed: int) -> Iterator[Network]:
    """Vary the number of questions at an equal number of steps."""
    labelled = [lab.examples(name, "train") for name in TRAINING_SETS]
    for share in (0.05, 0.1, 0.2, 0.5, 1.0):
        epochs = round(OURS.loop.epochs / share)
        recipe = replace(OURS, fraction=share, loop=replace(OURS.loop, epochs=epochs, patience=epochs // 2, seed=seed))
        model, done = lab.fit(recipe, labelled)
        yield str(share), model, done.seconds


def transfer(lab: Lab, seed: int) -> Iterator[Network]:
    """Train on one corpus alone, and on all."""
    own = replace(OURS, loop=replace(OURS.loop, seed=seed))
    for name in TRAINING_SETS:
        model, done = lab.fit(own, [lab.examples(name, "train")])
        yield name, model, done.seconds
    model, done = lab.fit(own, [lab.examples(name, "train") for name in TRAINING_SETS])
    yield "all three", model, done.seconds


def published(seeds: Sequence[int], held_back: bool) -> None:
    """Print the recall of the published form with each ranker, trained as in the paper but for fewer steps."""
    sets = [("hotpotqa", "dev"), ("musique-dev", "dev"), *([("2wiki", "questions")] if held_back else [])]
    shape = replace(OURS, targets="entities", width=128, layers=6, nodes=300)
    lab = Lab(shape)
    runs_of: dict[tuple[str, str], list[list[float]]] = {}
    for seed in seeds:
        start = time.perf_counter()
        facts = replace(
            shape,
            loss=RetrievalLoss(1.0, "paper", batch=4),
            completion=CompletionRecipe(steps=500, batch=4, negatives=128, nodes=100),
            loop=Recipe(epochs=1, rate=5e-4, decay=0.01, average=0.0, seed=seed),
        )
        model, _ = lab.complete(facts, TRAINING_SETS)
        loss = RetrievalLoss(0.3, "paper", forms=(1.0, 0.0, 0.0, 0.0), batch=4)
        loop = Recipe(epochs=2, rate=5e-4, decay=0.01, average=0.0, seed=seed)
        labelled = [lab.examples(name, "train") for name in TRAINING_SETS]
        model, done = lab.fit(replace(shape, loss=loss, loop=loop), labelled, model)
        print(
            f"seed {seed}: {time.perf_counter() - start:.0f} s, best epoch {done.best_epoch + 1}",
            file=sys.stderr,
            flush=True,
        )
        for name, questions in sets:
            source = lab.examples(name, questions)
            snapshot = lab.view(name).snapshot
            rankers = {
                "paper": EntityRanker(snapshot, weighted=False),
                "weighted": EntityRanker(snapshot, weighted=True),
                "weighted, all entities": EntityRanker(snapshot, weighted=True, entities=None),
                "weighted, no rarity": EntityRanker(snapshot, weighted=True, rarity=False),
            }
            for label, ranker in rankers.items():
                m = measure(model, replace(source, ranker=ranker))
                runs_of.setdefault((name, label), []).append([m.recall[2], m.recall[5], m.all_gold, m.recall[10]])
    rows = [[*key, *(percent([run[i] for run in runs]) for i in range(4))] for key, runs in runs_of.items()]
    print_table(("set", "ranker", "R@2", "R@5", "all gold@5", "R@10"), rows)


def fit_power_law(name: str, recall: dict[float, float]) -> None:
    """Fit, print and plot a power law of missed evidence."""
    from matplotlib import pyplot as plt

    sizes = np.array(sorted(recall))
    missed = np.array([1.0 - recall[size] for size in sizes])
    slope, constant = np.polyfit(np.log(sizes), np.log(missed), 1)
    residual = np.log(missed) - (slope * np.log(sizes) + constant)
    spread = np.log(missed) - np.log(missed).mean()
    explained = 1.0 - float(residual @ residual) / max(float(spread @ spread), 1e-12)
    steps = ", ".join(f"{100 * (b - a):+.1f}" for a, b in pairwise(1.0 - missed))
    across = "parameters" if name == "width" else "share of the training questions"
    print(f"\nmissed = {np.exp(constant):.3f} x ({across}) ** {slope:.3f}, R squared {explained:.2f}; steps: {steps}")
    plt.figure(figsize=(5, 3.5))
    plt.loglog(sizes, missed, "o", label="measured")
    plt.loglog(sizes, np.exp(constant) * sizes**slope, label=f"power {slope:.3f}")
    plt.xlabel(across)
    plt.ylabel("share of evidence missed")
    plt.legend()
    plt.tight_layout()
    path = Path(WORK) / f"gfm-{name}.svg"
    plt.savefig(path)
    print(f"plotted in {path.name} beside the indexes")


EXPERIMENTS: dict[str, Callable[[Lab, int], Iterator[Network]]] = {
    "stages": stages,
    "losses": losses,
    "parts": parts,
    "width": partial(width, WIDTHS),
    "data": data,
    "transfer": transfer,
}

if __name__ == "__main__":
    main()
