"""`clew train reranker`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

if TYPE_CHECKING:
    from clew.training.recipes.reranker import TaughtReranker

DEFAULT_BASES = ("bm25", "dense", "fused", "pagerank")
"""Retrievers whose pools are learned from. One that was trained on the same questions would rank them too well."""


Folders = Annotated[
    Optional[list[Path]],  # noqa: UP045 - typer reads Optional on every Python it supports
    typer.Option(help="Folders with corpus.jsonl and dev.jsonl; they choose the epoch."),
]
Run = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Keeps indexes and pools, which several trainings may share; by default in --out."),
]
Also = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(help="FOLDER=RETRIEVER: one more for a folder of data alone, not trained on it."),
]
Numbers = Annotated[
    Optional[bool],  # noqa: UP045
    typer.Option("--numbers/--no-numbers", help="Numbers of how a passage matches; with index graphs they are read."),
]
Text = Annotated[
    Optional[bool],  # noqa: UP045
    typer.Option("--text/--no-text", help="Vectors of passages; with amr graphs they are read."),
]
Network = Annotated[str, typer.Option(help="relational, g-rag, gcn, gat, sage, gin or mlp.")]
Hardest = Annotated[int, typer.Option(help="Other passages learned against, those that score best; 0 for all.")]
Temperature = Annotated[float, typer.Option(help="Of the loss set; the smaller, the more the worst passage counts.")]


def reranker(
    data: Annotated[list[Path], typer.Option(help="Folders with corpus.jsonl and train.jsonl.")],
    out: Annotated[Path, typer.Option(help="Gets the weights.")],
    validate: Folders = None,
    run: Run = None,
    base: Annotated[str, typer.Option(help="Retrievers whose pools are learned from, by commas.")] = ",".join(
        DEFAULT_BASES
    ),
    also: Also = None,
    pool: Annotated[int, typer.Option(help="Passages a question.")] = 100,
    graph: Annotated[str, typer.Option(help="What connects passages: index, or amr as published.")] = "index",
    amr: Annotated[str, typer.Option(help="Parser of AMR: local (default), file:PATH or amrlib:MODEL.")] = "",
    network: Network = "relational",
    numbers: Numbers = None,
    text: Text = None,
    edges: Annotated[str, typer.Option(help="Features of edges that are read, by commas; all.")] = "",
    width: Annotated[int, typer.Option(help="Of a passage's state.")] = 64,
    layers: Annotated[int, typer.Option(help="How many steps a message goes.")] = 2,
    dropout: Annotated[float, typer.Option(help="Share of a state that is left out in training.")] = 0.1,
    loss: Annotated[str, typer.Option(help="set, listwise, pairwise or cross-entropy.")] = "set",
    temperature: Temperature = 1.0,
    hardest: Hardest = 5,
    batch: Annotated[int, typer.Option(help="Questions a step.")] = 8,
    epochs: Annotated[int, typer.Option(help="How often each pool is seen.")] = 4,
    rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 2e-3,
    patience: Annotated[int, typer.Option(help="Epochs without a better figure before it stops; 0 never.")] = 0,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
) -> None:
    """Train the reranker g-rag, for --rerank g-rag:FOLDER."""
    from clew.commands.options import check_folder
    from clew.commands.output import progress_on_stderr
    from clew.errors import InputError
    from clew.plugins.spec import split_list
    from clew.training.loop import Recipe
    from clew.training.objectives.reranking import RerankLoss
    from clew.training.recipes.reranker import RerankRecipe, train_reranker

    published = graph == "amr"
    check_folder("--out", out)
    check_folder("--run", out if run is None else run)
    if amr and not published:
        raise InputError(f"--amr is {amr!r}, and --graph {graph} reads no AMR: give --graph amr, or leave it out")
    shape: dict[str, Any] = {"network": network, "width": width, "layers": layers, "dropout": dropout, "pool": pool}
    recipe = RerankRecipe(
        graph,
        amr or "local",
        not published if numbers is None else numbers,
        published if text is None else text,
        tuple(name.strip() for name in edges.split(",") if name.strip()),
        **shape,
        loss=RerankLoss(loss, temperature, hardest, batch),
        loop=Recipe(epochs=epochs, rate=rate, patience=patience, seed=seed),
    )
    with progress_on_stderr() as progress:
        result = train_reranker(
            data, validate or (), out, split_list(base), recipe, progress, run, _parse_also(also or ())
        )
    _print_result(result, out)


def _parse_also(also: Sequence[str]) -> dict[Path, list[str]]:
    """Return the retrievers of single folders."""
    from clew.errors import InputError

    own: dict[Path, list[str]] = {}
    for text in also:
        folder, equals, retriever = text.partition("=")
        if not (folder and equals and retriever):
            raise InputError(f"--also is {text!r}; wanted FOLDER=RETRIEVER")
        own.setdefault(Path(folder), []).append(retriever)
    return own


def _print_result(result: "TaughtReranker", out: Path) -> None:
    figures = result.trained.figures
    for name, value in figures.items():
        before = result.before.get(name)
        print(f"{name}: {value:.3f}" if before is None else f"{name}: {value:.3f}, {before:.3f} before reranking")
    print(f"{result.parameters:,} parameters, learned from {result.questions} pools")
    best = (
        f"best epoch {result.trained.best_epoch + 1}"
        if result.trained.best_epoch >= 0
        else "no epoch was better than the start"
    )
    if figures and figures["mean"] < result.before["mean"]:
        print("they find less than the rankings as they were found: train longer, or give more questions")
    print(f"weights in {out}, {best}, {result.trained.seconds:.0f} s of training; use them by --rerank g-rag:{out}")
