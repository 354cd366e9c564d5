"""Adaptation without labels: `python bench/gfm_adapt.py [CORPUS ...] [--seeds 0,1,2]`.

Weights trained on the other corpora only (last epoch) are tuned on questions made from the chains of a corpus, as by
`clew adapt`. Both are evaluated on the corpus' development questions. "labelled" adds 24 of these questions to the
tuning, as by `clew adapt --labelled`; all three are then evaluated on the others.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from clew.nn.query_gnn import QueryGNN
from clew.training.data.gfm_examples import GFMExamples
from clew.training.data.synthetic_questions import HELD_OUT_SHARE
from clew.training.hyperparameters import AdaptRecipe
from clew.training.loop import train
from clew.training.objectives.document_retrieval import DocumentRetrieval
from clew.training.recipes.gfm_adapt import LABELLED_SHARE
from clew_lab.training.recipes.gfm_recipe import GFMRecipe
from gnn_lab import Lab, measure, percent
from workbench import describe_machine, print_table

SOURCES = {"hotpotqa": ("2wiki-train", "musique"), "musique-dev": ("2wiki-train", "hotpotqa")}
"""The corpora that weights are trained on which have not seen the one that they are adapted to."""
LABELLED = 24
COLUMNS = ("R@2", "R@5", "all gold@5")


def main() -> None:
    """Print recall before and after adaptation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="*", choices=[[], *SOURCES])
    parser.add_argument("--seeds", default="0,1,2")
    arguments = parser.parse_args()
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    lab = Lab(GFMRecipe())
    print(describe_machine())
    for name in arguments.corpora or SOURCES:
        runs = [adapt(lab, name, seed) for seed in seeds]
        for title, part in (("all development questions", "all"), ("those without the labelled ones", "others")):
            labels = [label for label in runs[0] if part in runs[0][label]]
            rows = [[label, *(percent([run[label][part][i] for run in runs]) for i in range(3))] for label in labels]
            print_table((f"{name}, {title}", *COLUMNS), rows)


def adapt(lab: Lab, name: str, seed: int) -> dict[str, dict[str, list[float]]]:
    """Return for each kind of weights its recall on all development questions and on those that nothing was tuned on.

    The kind that was tuned on some of the questions has the second one alone.
    """
    dev = lab.examples(name, "dev")
    order = np.random.default_rng(seed).permutation(len(dev.items)).tolist()
    labelled, others = (
        replace(dev, items=tuple(dev.items[i] for i in part)) for part in (order[:LABELLED], order[LABELLED:])
    )
    seeded = replace(lab.recipe, loop=replace(lab.recipe.loop, seed=seed))
    model, _ = lab.fit(seeded, [lab.examples(source, "train") for source in SOURCES[name]], validation=())
    found = {"not adapted": {"all": figures(model, dev), "others": figures(model, others)}}
    generated = lab.chain_questions(name, AdaptRecipe().questions)
    start = {key: value.clone() for key, value in model.state_dict().items()}
    tune(model, [generated], seed)
    found["adapted"] = {"all": figures(model, dev), "others": figures(model, others)}
    times = max(1, round(len(generated.items) * LABELLED_SHARE / (1 - LABELLED_SHARE) / LABELLED))
    model.load_state_dict(start)
    tune(model, [generated, replace(labelled, items=tuple(labelled.items) * times)], seed)
    found[f"adapted, {LABELLED} labelled"] = {"others": figures(model, others)}
    return found


def tune(model: QueryGNN, sources: Sequence[GFMExamples], seed: int) -> None:
    """Tune a network on generated questions, the first of the sources, and others; a fifth of those is held out."""
    generated, *others = sources
    cut = round(HELD_OUT_SHARE * len(generated.items))
    order = np.random.default_rng(seed).permutation(len(generated.items)).tolist()
    kept, held = (
        replace(generated, items=tuple(generated.items[i] for i in part)) for part in (order[cut:], order[:cut])
    )
    objective = DocumentRetrieval([kept, *others], {"held out": held}, AdaptRecipe().loss)
    with TemporaryDirectory() as folder:
        done = train(model, objective, replace(AdaptRecipe().loop, seed=seed), Path(folder), lambda *_: None)
    before, after = done.initial_figures["mean"], done.figures["mean"]
    print(f"seed {seed}: held out {before:.3f} before, {after:.3f} after", flush=True)


def figures(model: QueryGNN, questions: GFMExamples) -> list[float]:
    """Return recall at 2 and 5, and all-gold at 5."""
    m = measure(model, questions)
    return [m.recall[2], m.recall[5], m.all_gold]


if __name__ == "__main__":
    main()
