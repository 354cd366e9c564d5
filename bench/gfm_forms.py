"""Recall of `gfm` on questions that are not written like those of test sets.

`python bench/gfm_forms.py [SET ...] [--weights FOLDER ...]`

Each question as it is, in lower case, with three in ten of its names unlinked, and with none linked; the prior is the
ranking of the question's walk, from which the network starts. For several folders of weights (seeds of one recipe) the
mean is printed, with the minimum and maximum.
"""

import argparse
from pathlib import Path

import numpy as np

from clew import index as indexes
from clew.arrays import top_order
from clew.nn.query_gnn import QueryGNN
from clew.retrievers.gfm.weights import load_weights
from clew.store.weights_io import PRETRAINED_FOLDER
from clew.training.data.gfm_examples import FORMS, GFMExamples, make_examples
from clew.training.objectives.document_retrieval import mean_recall
from clew_lab.datasets.loaders import load_questions
from clew_lab.training.recipes.gfm_graphs import graph_view
from clew_lab.training.recipes.gfm_recipe import GFMRecipe
from gnn_lab import percent
from workbench import BENCHMARKS, DATA, build_index, describe_machine, print_table

CUTOFFS = (2, 5, 10)


def main() -> None:
    """Print one table per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev"])
    parser.add_argument("--weights", nargs="+", type=Path, default=[PRETRAINED_FOLDER / "gfm"])
    arguments = parser.parse_args()
    trained = [load_weights(folder) for folder in arguments.weights]
    models = [QueryGNN.from_network(one.model) for one in trained]
    recipe = GFMRecipe(nodes=trained[0].nodes or 1000)
    print(describe_machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        parts = indexes.open(build_index(benchmark)).context
        examples = make_examples(graph_view(parts, recipe, trained[0]), load_questions(DATA / benchmark.questions))
        rows = []
        for form, label in enumerate(FORMS):
            recalls = [mean_recall(model, examples, CUTOFFS, form) for model in models]
            by_cutoff = [percent([values[i] for values in recalls]) for i in range(len(CUTOFFS))]
            gold = percent([mean_recall(model, examples, (5,), form, all_gold=True)[0] for model in models])
            rows.append([label, *by_cutoff, gold, *(f"{100 * value:.1f}" for value in prior_recalls(examples, form))])
        print()
        columns = (*(f"gfm R@{k}" for k in CUTOFFS), "all gold@5", *(f"walk R@{k}" for k in CUTOFFS))
        print_table((name, *columns), rows)


def prior_recalls(examples: GFMExamples, form: int) -> list[float]:
    """Return the recall of the walk's ranking at each cut-off."""
    shares = []
    for item in examples.items:
        graph = item.graphs[form]
        values = np.where(graph.targets, graph.prior, -np.inf)
        ranked = graph.nodes[top_order(values, max(CUTOFFS))].tolist() if len(values) else []
        shares.append([np.mean([any(n in ranked[:k] for n in wanted) for wanted in item.gold]) for k in CUTOFFS])
    return [float(value) for value in np.mean(shares, axis=0)]


if __name__ == "__main__":
    main()
