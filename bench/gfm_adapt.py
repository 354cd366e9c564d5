"""What adapting without labels is worth: `python bench/gfm_adapt.py [--seeds 0,1,2]`.

Weights that never saw HotpotQA, the last epoch of training on the other corpora, are tuned as `clew adapt` does it on
questions made from its corpus, and kept where they win on such questions held out. Then HotpotQA's development
questions are asked of both.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clew.nn.query_gnn import QueryGNN
from clew.training.loop import train
from clew.training.objectives.document_retrieval import DocumentRetrieval
from clew.training.recipes.gfm import ADAPTATION, HELD_OUT_SHARE
from gfm_training import OURS
from gnn_lab import Lab, measured, percent
from workbench import machine, print_table

SEEN = ("2wiki-train", "musique")


def main() -> None:
    """Print recall before and after."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--rate", type=float, default=ADAPTATION.loop.rate)
    arguments = parser.parse_args()
    lab = Lab(OURS)
    print(machine())
    dev = lab.laid_out("hotpotqa", "dev")
    found: dict[str, list[list[float]]] = {"not adapted": [], "adapted": []}
    for seed in map(int, arguments.seeds.split(",")):
        loop = replace(OURS.loop, seed=seed)
        labelled = [lab.laid_out(name, "train") for name in SEEN]
        model, _ = lab.fit(replace(OURS, loop=loop), labelled, chosen_by=())
        found["not adapted"].append(figures(model, dev))
        made = lab.path_questions("hotpotqa", ADAPTATION.questions)
        cut = round(HELD_OUT_SHARE * len(made.items))
        objective = DocumentRetrieval(
            [replace(made, items=made.items[cut:])],
            {"held out": replace(made, items=made.items[:cut])},
            ADAPTATION.loss,
        )
        with TemporaryDirectory() as folder:
            rate = replace(ADAPTATION.loop, seed=seed, rate=arguments.rate)
            done = train(model, objective, rate, Path(folder), lambda *_: None)
        found["adapted"].append(figures(model, dev))
        print(
            f"seed {seed}: held out {done.initial_figures['mean']:.3f} before, {done.figures['mean']:.3f} after",
            flush=True,
        )
    rows = [[label, *(percent([run[i] for run in runs]) for i in range(3))] for label, runs in found.items()]
    print_table(("hotpotqa, development", "R@2", "R@5", "all gold@5"), rows)


def figures(model: QueryGNN, questions) -> list[float]:  # type: ignore[no-untyped-def]
    """Return recall at 2 and 5, and all gold at 5."""
    m = measured(model, questions)
    return [m.recall[2], m.recall[5], m.all_gold]


if __name__ == "__main__":
    main()
