"""What keeps the published network of G-RAG below its pools: `python bench/papers/g_rag_limits.py [--quick]`.

Mean reciprocal ranks of all positive passages on training, development and test pools, in %, of

    the order of the pool, and the cosine of question and passage;
    the network as published, untrained and trained, on shares of the training questions, and with wider states;
    the same without what is in its way: one layer, which is a bilinear form that starts near the cosine; its input
    added to its last state, so that it starts at the cosine (`skip`); and the order of the pool as an input (`order`).

Pools are of 100 passages of `--base` for all training and development questions of hotpotqa, and for those of 2wiki as
test set. Vectors and graphs are those of the indexes, whose passages are encoded already: plain texts (equation 1), and
edges of common entities and triples. Training figures are of the first `--shown` training pools; the development pools
choose the epoch. `--quick` runs on made data.

Source: Dong et al., "Don't Forget to Connect! Improving RAG with Graph-based Reranking" (2024), equations 7 to 13.
Differs from the source: entities and triples stand for concepts and relations of AMR; `skip` and `order` are in none of
its equations.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from torch import Tensor, nn

from clew.rerankers.g_rag.weights import FeatureColumns
from clew.training.loop import train
from clew_lab.nn.document_gnn import DocumentBatch, DocumentGNN
from clew_lab.training.data.reranking_pools import PoolExample
from clew_lab.training.objectives.reranking import Reranking, mean_reciprocal_ranks, rank_pools
from clew_lab.training.recipes.networks import available_columns, build_document_network, input_columns
from clew_lab.training.recipes.rerank_recipe import Network, RerankRecipe, published_rerank_recipe
from clew_lab.training.recipes.reranker import find_pools
from papers import command_line
from papers.command_line import fill_missing, make_parser, run_program, whole_number
from papers.evaluated import open_set
from papers.g_rag import AT_HAND, RUN, progress
from papers.made_data import run_on_made_data
from workbench import DATA, describe_machine, print_table

Pools = dict[str, Sequence[PoolExample]]


@dataclass(frozen=True, slots=True)
class Row:
    """A network to train; `width` None for the preset's."""

    label: str
    network: Network = "mlp"
    width: int | None = None
    layers: int = 2
    share: float = 1.0  # of the training questions
    skip: bool = False
    order: bool = False


ROWS = (
    Row("MLP, width 8", width=8),
    Row("MLP, a quarter of the questions", share=0.25),
    Row("MLP, half of the questions", share=0.5),
    Row("MLP"),
    Row("MLP, width of the vectors", width=0),
    Row("one layer", layers=1),
    Row("MLP, skip", skip=True),
    Row("MLP, skip, order", skip=True, order=True),
    Row("G-RAG", "g-rag"),
    Row("G-RAG, skip", "g-rag", skip=True),
    Row("G-RAG, skip, order", "g-rag", skip=True, order=True),
)


class OpenedGNN(DocumentGNN):
    """A published network, with what its equations leave out.

    With `skip` a passage's vector is added to its last state, and the last layer starts at 0: the first scores are
    cosines. With `order` a linear function of -log r and of 1 / r, r the rank in the pool, is added to the score.
    """

    def __init__(self, plain: DocumentGNN, *, skip: bool, order: bool) -> None:
        super().__init__(plain.settings)
        self.load_state_dict(plain.state_dict())
        self.skip = skip
        self.rank_score = nn.Linear(2, 1, bias=False) if order else None
        if self.rank_score is not None:
            nn.init.zeros_(self.rank_score.weight)
        if skip:
            last = self.layers[-1]
            linear = cast("nn.Linear", last.update if hasattr(last, "update") else last.own)
            nn.init.zeros_(linear.weight)
            nn.init.zeros_(linear.bias)

    def _score(self, states: Tensor, batch: DocumentBatch) -> Tensor:
        scores = super()._score(states + self._scale(batch.vectors) if self.skip else states, batch)
        if self.rank_score is None:
            return scores
        ranks = torch.arange(1, scores.shape[1] + 1, device=scores.device)
        features = torch.stack([-torch.log(ranks), 1 / ranks], -1) * self.settings.text  # scores are of that size
        by_rank: Tensor = self.rank_score(features)[..., 0]
        return scores + by_rank


def main(given: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = parse_arguments(given)
    if arguments.quick and run_on_made_data(__file__, sys.argv[1:] if given is None else given):
        return
    print(describe_machine(), flush=True)
    recipe = build_recipe(arguments)
    pools = find_all_pools(arguments.base, recipe)
    counts = ", ".join(f"{split} {len(some)}" for split, some in pools.items())
    print(
        f"questions: {counts}; {arguments.epochs} epochs of {arguments.steps} steps, batches of {recipe.loss.batch}, "
        f"loss {recipe.loss.kind}, width {recipe.width}, rate {arguments.rate:g}",
        flush=True,
    )
    shown = {**pools, "train": pools["train"][: arguments.shown]}
    rows = [
        ["as found", *untrained_cells([[one.relevant for one in some] for some in shown.values()], shown)],
        ["cosine", *untrained_cells([[by_cosine(one) for one in some] for some in shown.values()], shown)],
    ]
    for row in ROWS:
        rows.append([row.label, *measure_row(row, recipe, pools, shown)])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    heads = [f"{split}, {when}" for split in shown for when in ("untrained", "trained")]
    print_table(("MRR in %", *heads, "epoch", "seconds"), rows)


def parse_arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = make_parser(__doc__)
    parser.add_argument("--base", type=command_line.retriever, default="fused", help="retriever of the pools")
    parser.add_argument("--epochs", type=whole_number, help="5 by default")
    parser.add_argument("--steps", type=whole_number, help="of an epoch; 1000 by default")
    parser.add_argument("--rate", type=command_line.positive_number, default=1e-4)
    parser.add_argument("--shown", type=whole_number, default=250, help="training pools of the training figures")
    parser.add_argument("--quick", action="store_true", help="made data, and few steps where no option says more")
    arguments = parser.parse_args(given)
    fill_missing(arguments, {"epochs": 1, "steps": 3} if arguments.quick else {"epochs": 5, "steps": 1000})
    return arguments


def build_recipe(arguments: argparse.Namespace) -> RerankRecipe:
    """Return the published recipe over graphs of an index, with the length that the arguments name."""
    published = published_rerank_recipe()
    loop = replace(published.loop, epochs=arguments.epochs, rate=arguments.rate)
    edges = ("common nodes", "common edges")
    return replace(published, kind="index", parser="local", edges=edges, steps=arguments.steps, loop=loop)


def find_all_pools(base: str, recipe: RerankRecipe) -> Pools:
    """Return the pools of each split."""
    folder = RUN / "pools" / "index"
    folder.mkdir(parents=True, exist_ok=True)
    return {
        split: find_pools(open_set(corpus).context, DATA / corpus / questions, base, recipe, folder, progress)
        for split, (corpus, questions) in AT_HAND.items()
    }


def by_cosine(example: PoolExample) -> np.ndarray:
    """Return which passages are evidence, by descending cosine with the question."""
    return example.relevant[np.argsort(-(example.graph.vectors @ example.graph.question), kind="stable")]


def measure_row(row: Row, recipe: RerankRecipe, pools: Pools, shown: Pools) -> list[str]:
    """Return the cells of a network: its figures before and after its training."""
    width = recipe.width if row.width is None else row.width or pools["train"][0].graph.vectors.shape[1]
    recipe = replace(recipe, network=row.network, width=width, layers=row.layers)
    columns = FeatureColumns.locate(input_columns(recipe), available_columns(recipe))
    plain = build_document_network(recipe, pools["train"][0].graph.vectors.shape[1])
    model = OpenedGNN(plain, skip=row.skip, order=row.order)
    training = pools["train"][: max(1, round(row.share * len(pools["train"])))]
    objective = Reranking(training, {"dev": pools["dev"]}, columns, recipe.loss, recipe.steps, recipe.choose_by)
    before = figures(model, shown, columns)
    started = time.perf_counter()
    steps = recipe.steps * recipe.loop.epochs
    loop = replace(recipe.loop, warmup=min(recipe.loop.warmup, steps // 5))
    with TemporaryDirectory() as folder:
        result = train(model, objective, loop, Path(folder) / "run", lambda *_: None)
    seconds = time.perf_counter() - started
    pairs = zip(before, figures(model.eval(), shown, columns), strict=True)
    return [f"{100 * value:.1f}" for pair in pairs for value in pair] + [str(result.best_epoch + 1), f"{seconds:.0f}"]


def figures(model: DocumentGNN, shown: Pools, columns: FeatureColumns) -> list[float]:
    """Return the mean reciprocal ranks of each split."""
    return [mean_reciprocal_ranks(rank_pools(model, some, columns), some)["MRR"] for some in shown.values()]


def untrained_cells(rankings: Sequence[Sequence[np.ndarray]], shown: Pools) -> list[str]:
    """Return the cells of rankings that nothing is learned for."""
    pairs = zip(rankings, shown.values(), strict=True)
    values = [f"{100 * mean_reciprocal_ranks(own, some)['MRR']:.1f}" for own, some in pairs]
    return [cell for value in values for cell in (value, "")] + ["", ""]


if __name__ == "__main__":
    run_program(main)
