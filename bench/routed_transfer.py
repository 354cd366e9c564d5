"""Whether choices learned on some corpora serve another: `python bench/routed_transfer.py OUT`.

OUT is the folder that `clew train routed` wrote: what it observed of every question is read from there, or observed
where it is not. Choices are learned from all training sets but one and made for that one, at several prices of a
second; beside them stand choices learned from all, and those made at random with the same shares.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clew.retrievers.routed.retriever import Preference
from clew.retrievers.routed.signals import SIGNALS
from clew.training.data.corpora import TRAIN_FILE
from clew.training.fitting.routing import (
    RoutingObservations,
    RoutingOutcome,
    RoutingRecipe,
    fit_routing,
    simulate_routing,
    single_retriever_outcome,
)
from clew.training.recipes.routed import DEFAULT_CHOICES, observe_choices
from workbench import DATA, machine, print_table

SETS = ("2wiki-train", "hotpotqa", "musique")
OFFERED = ("bm25", "pagerank", "gfm")
WORTHS = (500.0, 300.0, 150.0, 100.0, 50.0, 20.0)


def main() -> None:
    """Print one table a training set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    run, recipe = parser.parse_args().out / "run", RoutingRecipe()
    seen = [
        observe_choices(DATA / name, TRAIN_FILE, name, run, DEFAULT_CHOICES, recipe, lambda *_: None) for name in SETS
    ]
    print(machine())
    for left_out in seen:
        others = fit_routing([one for one in seen if one is not left_out], DEFAULT_CHOICES, tuple(SIGNALS), recipe)
        every = fit_routing(seen, DEFAULT_CHOICES, tuple(SIGNALS), recipe)
        rows = [told(name, single_retriever_outcome(left_out, DEFAULT_CHOICES.index(name), name)) for name in OFFERED]
        for worth in WORTHS:
            chosen = simulate_routing(others, Preference(OFFERED, worth), left_out, DEFAULT_CHOICES)
            rows.append(told(f"worth {worth:g}, learned elsewhere", chosen))
            known = simulate_routing(every, Preference(OFFERED, worth), left_out, DEFAULT_CHOICES)
            rows.append(told(f"worth {worth:g}, learned here too", known))
            rows.append(told(f"worth {worth:g}, the same shares at random", at_random(left_out, chosen)))
        print(f"\n{left_out.name}: {len(left_out.signals)} questions, {left_out.passages} passages\n")
        print_table(("choice", "R@5", "ms", *OFFERED), rows)


def at_random(observed: RoutingObservations, like: RoutingOutcome) -> RoutingOutcome:
    """Return what giving each choice its share of the questions comes to, whatever they ask."""
    names: Sequence[str] = list(DEFAULT_CHOICES)
    recall = sum(share * observed.recalls[:, names.index(name)].mean() for name, share in like.shares.items())
    return RoutingOutcome(float(recall), float("nan"), like.shares)


def told(name: str, outcome: RoutingOutcome) -> list[str]:
    """Return a row of the table."""
    shares = [f"{100 * outcome.shares.get(one, 0.0):.0f}%" for one in OFFERED]
    spent = "" if np.isnan(outcome.seconds) else f"{1000 * outcome.seconds:.1f}"
    return [name, f"{100 * outcome.recall:.1f}", spent, *shares]


if __name__ == "__main__":
    main()
