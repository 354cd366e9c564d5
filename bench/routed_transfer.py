"""Transfer of routing to a corpus that was not trained on: `python bench/routed_transfer.py OUT`.

OUT is the output folder of `clew train routed`, whose observations of every question are read, or made if missing. The
router is trained on all training sets but one and evaluated on that one, at several prices of a second, and compared
with a router trained on all sets and with random choices of the same shares.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clew.training.data.corpora import TRAIN_FILE
from clew_lab.retrievers.routed.retriever import Preference
from clew_lab.retrievers.routed.weights import SIGNALS
from clew_lab.training.fitting.routing import (
    RoutingObservations,
    RoutingOutcome,
    RoutingRecipe,
    fit_routing,
    simulate_routing,
    single_retriever_outcome,
)
from clew_lab.training.recipes.routed import DEFAULT_CHOICES, observe_choices
from workbench import DATA, describe_machine, print_table

SETS = ("2wiki-train", "hotpotqa", "musique")
OFFERED = ("bm25", "pagerank", "gfm")
PRICES = (500.0, 300.0, 150.0, 100.0, 50.0, 20.0)


def main() -> None:
    """Print one table per training set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    run, recipe = parser.parse_args().out / "run", RoutingRecipe()
    observations = [
        observe_choices(DATA / name, TRAIN_FILE, name, run, DEFAULT_CHOICES, recipe, lambda *_: None) for name in SETS
    ]
    print(describe_machine())
    for left_out in observations:
        others = [one for one in observations if one is not left_out]
        transferred = fit_routing(others, DEFAULT_CHOICES, tuple(SIGNALS), recipe)
        full = fit_routing(observations, DEFAULT_CHOICES, tuple(SIGNALS), recipe)
        rows = [
            format_row(name, single_retriever_outcome(left_out, DEFAULT_CHOICES.index(name), name)) for name in OFFERED
        ]
        for price in PRICES:
            outcome = simulate_routing(transferred, Preference(OFFERED, price), left_out, DEFAULT_CHOICES)
            rows.append(format_row(f"price {price:g}, trained on the others", outcome))
            known = simulate_routing(full, Preference(OFFERED, price), left_out, DEFAULT_CHOICES)
            rows.append(format_row(f"price {price:g}, trained on all", known))
            rows.append(format_row(f"price {price:g}, same shares at random", random_outcome(left_out, outcome)))
        print(f"\n{left_out.name}: {len(left_out.signals)} questions, {left_out.passages} passages\n")
        print_table(("choice", "R@5", "ms", *OFFERED), rows)


def random_outcome(observations: RoutingObservations, routed: RoutingOutcome) -> RoutingOutcome:
    """Return the expected outcome of random choices with the shares of another outcome."""
    names: Sequence[str] = list(DEFAULT_CHOICES)
    recall = sum(share * observations.recalls[:, names.index(name)].mean() for name, share in routed.shares.items())
    return RoutingOutcome(float(recall), float("nan"), routed.shares)


def format_row(name: str, outcome: RoutingOutcome) -> list[str]:
    """Return a row of the table."""
    shares = [f"{100 * outcome.shares.get(one, 0.0):.0f}%" for one in OFFERED]
    milliseconds = "" if np.isnan(outcome.seconds) else f"{1000 * outcome.seconds:.1f}"
    return [name, f"{100 * outcome.recall:.1f}", milliseconds, *shares]


if __name__ == "__main__":
    main()
