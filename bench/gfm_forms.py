"""What `gfm` finds when users do not write as test sets do.

`python bench/gfm_forms.py [SET ...] [--weights FOLDER ...]`

Each question as it is, in lower case, with three in ten of its names unknown, and with none known; the prior is the
ranking of the question's walk, from which the network starts. With several folders of weights (seeds of one recipe) the
mean is printed, with the least and the greatest.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from clew import index as indexes
from clew.evaluation.datasets import load_questions
from clew.graph.relations import passage_graph, relation_texts
from clew.ranks import top_order
from clew.retrievers.gfm_weights import SHIPPED, load_weights
from clew.retrievers.question_graph import QuestionGraphs
from clew.retrievers.question_walk import PageRankWeights, Walker
from clew.training.document_retrieval import recalls
from clew.training.examples import FORMS, Examples, examples
from workbench import BENCHMARKS, DATA, indexed, machine, print_table

CUTOFFS = (2, 5, 10)


def main() -> None:
    """Print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["2wiki", "hotpotqa", "musique-dev"])
    parser.add_argument("--weights", nargs="+", type=Path, default=[SHIPPED])
    arguments = parser.parse_args()
    trained = [load_weights(folder) for folder in arguments.weights]
    print(machine())
    for name in arguments.sets:
        benchmark = BENCHMARKS[name]
        parts = indexes.open(indexed(benchmark)).parts
        snapshot = parts.scope.snapshot
        walker = Walker(parts.scope, parts.lexical, PageRankWeights())
        graphs = QuestionGraphs(passage_graph(snapshot), snapshot, trained[0].nodes)
        texts = parts.encode_texts(relation_texts(snapshot))
        laid_out = examples(walker, graphs, parts.encoder, texts, load_questions(DATA / benchmark.questions))
        rows = []
        for form, called in enumerate(FORMS):
            found = [recalls(one.model, laid_out, CUTOFFS, form) for one in trained]
            by_cutoff = [spread([values[i] for values in found]) for i in range(len(CUTOFFS))]
            rows.append([called, *by_cutoff, *(f"{100 * value:.1f}" for value in prior_recalls(laid_out, form))])
        print()
        print_table((name, *(f"gfm R@{k}" for k in CUTOFFS), *(f"walk R@{k}" for k in CUTOFFS)), rows)


def spread(values: Sequence[float]) -> str:
    """Return the mean in %, and the least and the greatest where there are several."""
    mean = f"{100 * float(np.mean(values)):.1f}"
    return mean if len(values) == 1 else f"{mean} ({100 * min(values):.1f}-{100 * max(values):.1f})"


def prior_recalls(laid_out: Examples, form: int) -> list[float]:
    """Return the recall of the walk's own ranking at each cut-off."""
    shares = []
    for item in laid_out.items:
        graph = item.graphs[form]
        values = np.where(graph.passages, graph.prior, -np.inf)
        ranked = graph.nodes[top_order(values, max(CUTOFFS))].tolist() if len(values) else []
        shares.append([np.mean([any(n in ranked[:k] for n in wanted) for wanted in item.gold]) for k in CUTOFFS])
    return [float(value) for value in np.mean(shares, axis=0)]


if __name__ == "__main__":
    main()
