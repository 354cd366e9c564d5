"""`clew train reranker`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.commands.options import DeviceOption, EncoderOption, check_folder
from clew.commands.output import print_note
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.plugins.spec import split_list
from clew.settings import load_settings
from clew.text.display import format_count
from clew.training.hyperparameters import TrainingResult
from clew_lab.training.recipes.rerank_recipe import DEFAULT_BASES, RerankRecipe


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Where the pools that are learned from come from."""

    data: Annotated[list[Path] | None, typer.Option(help="Folders with corpus.jsonl and train.jsonl.")] = None
    candidates: Annotated[
        list[Path] | None,
        typer.Option(help="Files of questions with the passages found for them, as DPR and FiD write them."),
    ] = None
    validate: Annotated[
        list[Path] | None,
        typer.Option(help="Folders with corpus.jsonl and dev.jsonl, or files of candidates; they choose the epoch."),
    ] = None
    base: Annotated[
        str | None,
        typer.Option(help=f"Retrievers whose pools are learned from, separated by commas; {','.join(DEFAULT_BASES)}."),
    ] = None
    also: Annotated[
        list[str] | None,
        typer.Option(help="FOLDER=RETRIEVER: one more for a single folder of data, which was not trained on it."),
    ] = None
    encoder: EncoderOption = None


@dataclass(frozen=True, slots=True)
class RerankerTraining:
    """The network to train, or the networks of a grid."""

    recipe: RerankRecipe
    grid: Annotated[
        bool, typer.Option("--grid", help="Train the 27 networks of G-RAG's rates, widths and dropout; keep the best.")
    ] = False

    @staticmethod
    def dependent_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of the recipe."""
        return RerankRecipe.dependent_defaults(given)

    def check_given(self, given: Mapping[str, Any]) -> None:
        """Raise InputError for an option that is given and that the network, or the grid, would not read."""
        if self.grid and (fixed := next((name for name in ("rate", "width", "dropout") if name in given), None)):
            raise InputError(f"--grid trains its own rates, widths and dropout: leave --{fixed} out, or --grid")
        self.recipe.check_given(given)


def reranker(
    out: Annotated[Path, typer.Option(help="Folder for the weights.")],
    pools: PoolOptions,
    run: Annotated[
        Path | None,
        typer.Option(help="Folder for indexes and pools, which several trainings may share; by default in --out."),
    ] = None,
    *,
    training: RerankerTraining,
    device: DeviceOption = None,
) -> None:
    """Train the reranker g-rag, for --rerank g-rag:FOLDER."""
    from clew.training.checkpoint import join_process_group
    from clew_lab.training.recipes.reranker import train_reranker
    from clew_lab.training.recipes.reranker_grid import search_grid

    check_folder("--out", out)
    check_folder("--run", out if run is None else run)
    settings = load_settings()
    if pools.encoder is not None:
        settings = settings.model_copy(update={"encoder": pools.encoder})
    if pools.base is not None and not pools.data:
        raise InputError("--base finds the pools of folders of data, and there is none: leave it out, or give --data")
    recipe, grid = training.recipe, training.grid
    bases = list(DEFAULT_BASES) if pools.base is None else split_list(pools.base)
    also = _parse_also(pools.also or ())
    with progress_on_stderr() as progress, join_process_group(settings.device if device is None else device) as group:
        place = out / "run" if run is None else run

        def train(one: RerankRecipe, folder: Path) -> TrainingResult:
            data, validate, candidates = pools.data or (), pools.validate or (), pools.candidates or ()
            return train_reranker(
                data, validate, folder, bases, one, progress, place, also, group, candidates, settings
            )

        if grid and not pools.validate:
            raise InputError("--grid chooses by development figures: give --validate, too")
        result, points = search_grid(train, recipe, out, place, progress) if grid else (train(recipe, out), ())
    for point in points:
        print(f"{point.describe()}: {point.figure:.3f}")
    if points:
        print(f"best: {max(points, key=lambda point: point.figure).describe()}")
    for note in result.notes:
        print_note(note)
    for name, value in result.figures.items():
        before = result.initial_figures.get(name)
        print(f"{name}: {value:.3f}" if before is None else f"{name}: {value:.3f}, {before:.3f} before reranking")
    print(f"{format_count(result.parameters, 'parameter')}, learned from {format_count(result.questions, 'pool')}")
    if result.figures and result.figures["mean"] < result.initial_figures["mean"]:
        print("they find less than the rankings as they were found: train longer, or give more questions")
    which = "best" if result.figures else "last"  # without figures nothing was compared
    best = f"{which} epoch {result.best_epoch + 1}" if result.best_epoch >= 0 else "no epoch was better than the start"
    print(f"weights in {out}, {best}, {result.seconds:.0f} s of training; use them by --rerank g-rag:{out}")


def _parse_also(also: Sequence[str]) -> dict[Path, list[str]]:
    """Return the retrievers of single folders."""
    retrievers: dict[Path, list[str]] = {}
    for text in also:
        folder, equals, retriever = text.partition("=")
        if not (folder and equals and retriever):
            raise InputError(f"--also is {text!r}; wanted FOLDER=RETRIEVER")
        retrievers.setdefault(Path(folder), []).append(retriever)
    return retrievers
