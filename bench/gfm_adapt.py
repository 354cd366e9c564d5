"""Adaptation without labels: `python bench/gfm_adapt.py [--seeds 0,1,2]`.

Weights trained on the other corpora only (last epoch) are tuned on questions generated from HotpotQA's corpus, as by
`clew adapt`, and kept if they win on held-out generated questions. Both are evaluated on HotpotQA's development
questions.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from clew.nn.query_gnn import QueryGNN
from clew.training.loop import train
from clew.training.objectives.document_retrieval import DocumentRetrieval
from clew.training.recipes.gfm import HELD_OUT_SHARE
from clew.training.recipes.records import ADAPTATION
from gfm_training import OURS
from gnn_lab import Lab, measure, percent
from workbench import describe_machine, print_table

SOURCES = ("2wiki-train", "musique")


def main() -> None:
    """Print recall before and after adaptation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--rate", type=float, default=ADAPTATION.loop.rate)
    arguments = parser.parse_args()
    lab = Lab(OURS)
    print(describe_machine())
    dev = lab.examples("hotpotqa", "dev")
    recalls: dict[str, list[list[float]]] = {"not adapted": [], "adapted": []}
    for seed in map(int, arguments.seeds.split(",")):
        loop = replace(OURS.loop, seed=seed)
        labelled = [lab.examples(name, "train") for name in SOURCES]
        model, _ = lab.fit(replace(OURS, loop=loop), labelled, validation=())
        recalls["not adapted"].append(figures(model, dev))
        generated = lab.path_questions("hotpotqa", ADAPTATION.questions)
        cut = round(HELD_OUT_SHARE * len(generated.items))
        objective = DocumentRetrieval(
            [replace(generated, items=generated.items[cut:])],
            {"held out": replace(generated, items=generated.items[:cut])},
            ADAPTATION.loss,
        )
        with TemporaryDirectory() as folder:
            rate = replace(ADAPTATION.loop, seed=seed, rate=arguments.rate)
            done = train(model, objective, rate, Path(folder), lambda *_: None)
        recalls["adapted"].append(figures(model, dev))
        print(
            f"seed {seed}: held out {done.initial_figures['mean']:.3f} before, {done.figures['mean']:.3f} after",
            flush=True,
        )
    rows = [[label, *(percent([run[i] for run in runs]) for i in range(3))] for label, runs in recalls.items()]
    print_table(("hotpotqa, development", "R@2", "R@5", "all gold@5"), rows)


def figures(model: QueryGNN, questions) -> list[float]:  # type: ignore[no-untyped-def]
    """Return recall at 2 and 5, and all-gold at 5."""
    m = measure(model, questions)
    return [m.recall[2], m.recall[5], m.all_gold]


if __name__ == "__main__":
    main()
