"""`clew train router` and `clew train paths`: the retriever frag on questions on graphs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from clew.commands.options import DeviceOption, check_folder
from clew.commands.progress import progress_on_stderr
from clew.errors import InputError
from clew.index import Index
from clew.index import open as open_index
from clew.models.encoders.registry import DEFAULT_ENCODER
from clew.retrievers.frag.hop_predictor import CLASSIFIER, TERMS, WORDS
from clew.store.weights_io import PRETRAINED_FOLDER
from clew.text.display import format_count
from clew.training.fitting.hop_predictor import FEEDBACK_RECIPE, HopRecipe
from clew.training.hyperparameters import TrainingResult
from clew.types import Progress
from clew_lab.training.fitting.path_ranker import PathRecipe
from clew_lab.training.recipes.frag import train_frag_hops, train_frag_paths

IndexesOption = Annotated[
    list[str] | None,
    typer.Option("--index", help="An index with an imported graph; once for each --questions, in the same order."),
]
QuestionsOption = Annotated[
    list[Path] | None, typer.Option(help="Questions on it: JSONL with question, topic and answers.")
]
OutOption = Annotated[Path, typer.Option(help="Folder for the weights.")]


@dataclass(frozen=True, slots=True)
class HopTraining:
    """Kind, length and seed of the training of a hop predictor."""

    kind: Annotated[
        str, typer.Option(help="words (vectors of words), tf-idf, or classifier (simple or complex, as published).")
    ] = WORDS
    encoder: Annotated[
        str,
        typer.Option(
            help="Encoder of the classifier; a sentence-transformers model is fine-tuned, any other stays frozen."
        ),
    ] = DEFAULT_ENCODER
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Passes over the questions; 14, of feedback alone 3, of a tuned classifier 10."),
    ] = None
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0

    def check_given(self, given: Mapping[str, Any]) -> None:
        """Raise InputError for an encoder that is given and that the kind would not read."""
        if "encoder" in given and self.kind in (WORDS, TERMS):
            raise InputError(f"--encoder is for --kind {CLASSIFIER}, and the kind is {self.kind}: leave it out")


def router(
    training: HopTraining,
    out: OutOption,
    index: IndexesOption = None,
    questions: QuestionsOption = None,
    start: Annotated[
        Path | None, typer.Option(help="Weights to begin with; the shipped ones with --feedback alone.")
    ] = None,
    feedback: Annotated[
        list[Path] | None, typer.Option(help="Logs of clew ask --feedback or clew eval --feedback.")
    ] = None,
    device: DeviceOption = None,
) -> None:
    """Train the hop predictor of frag; use it by --retriever frag:router_weights=FOLDER."""
    kind, epochs = training.kind, training.epochs
    if kind not in (WORDS, TERMS, CLASSIFIER):
        raise InputError(f"--kind is {kind!r}; wanted {WORDS}, {TERMS} or {CLASSIFIER}")
    check_folder("--out", out)
    logs = feedback or []
    feedback_alone = bool(logs) and not index
    recipe = FEEDBACK_RECIPE if feedback_alone else HopRecipe()
    if kind == CLASSIFIER:
        from clew_lab.training.fitting.hop_classifier import FROZEN_RECIPE, TUNED_RECIPE, is_tunable

        recipe = TUNED_RECIPE if is_tunable(training.encoder) else FROZEN_RECIPE
    recipe = replace(recipe, kind=kind, seed=training.seed, epochs=recipe.epochs if epochs is None else epochs)
    recipe = replace(recipe, decay=1e-4) if kind == TERMS else recipe
    initial = PRETRAINED_FOLDER / "router" if start is None and feedback_alone and kind == WORDS else start
    with progress_on_stderr() as progress:
        graphs = _open_graphs(index, questions, progress, device, required=not logs)
        result = train_frag_hops(graphs, out, recipe, progress, initial, logs, training.encoder)
    _print_result(result)
    print(f"weights in {out}; use them: --retriever frag:router_weights={out}")


def paths(
    out: OutOption,
    index: IndexesOption = None,
    questions: QuestionsOption = None,
    hops: Annotated[int, typer.Option(min=1, max=4, help="Maximum number of hops of a path.")] = 3,
    *,
    recipe: PathRecipe,
    device: DeviceOption = None,
) -> None:
    """Train the path ranking of frag; use it by --retriever frag:path_weights=FOLDER."""
    check_folder("--out", out)
    with progress_on_stderr() as progress:
        graphs = _open_graphs(index, questions, progress, device, required=True)
        result = train_frag_paths(graphs, out, recipe, progress, hops)
    _print_result(result)
    print(f"weights in {out}; use them: --retriever frag:path_weights={out}")


def _open_graphs(
    indexes: list[str] | None,
    questions: list[Path] | None,
    progress: Progress,
    device: str | None,
    *,
    required: bool,
) -> list[tuple[Index, Path]]:
    """Return the indexes, opened, each with its file of questions."""
    locations, files = indexes or [], questions or []
    if len(locations) != len(files) or (required and not locations):
        raise InputError(
            f"{len(locations)} --index and {len(files)} --questions; give one file of questions for each index"
        )
    return [
        (open_index(location, progress, device=device), file) for location, file in zip(locations, files, strict=True)
    ]


def _print_result(result: TrainingResult) -> None:
    without = f", {result.left_out} left out: no topic in the graph, or no path to an answer" if result.left_out else ""
    print(f"learned from {format_count(result.questions, 'question')}{without}")
    for name, value in result.figures.items():
        print(f"{name}: {value:.3f}")
