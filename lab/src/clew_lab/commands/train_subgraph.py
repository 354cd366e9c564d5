"""`clew train subgraph`."""

from pathlib import Path
from typing import Annotated

import typer

from clew.commands.options import DeviceOption, check_folder
from clew.commands.output import print_note
from clew.commands.progress import progress_on_stderr
from clew.commands.record_options import Without
from clew.models.encoders.registry import DEFAULT_ENCODER, open_encoder
from clew.protocols import LOCAL_READER
from clew.settings import load_settings
from clew.text.display import format_count
from clew_lab.commands.options import DtypeOption
from clew_lab.evaluation.evaluate_subgraphs import count_truncated
from clew_lab.training.data.graph_sources import GraphQuestionSource, load_training_splits
from clew_lab.training.recipes.reader_settings import CONTEXT_TOKENS, ReaderSettings
from clew_lab.training.recipes.selection_recipe import SelectionRecipe

SplitOption = Annotated[
    str | None, typer.Option(help="Split of --data FOLDER with split/ to learn from; train by default.")
]
GraphEncoderOption = Annotated[
    str, typer.Option(help="Encoder of the graphs' texts; the index's, for weights that are used on an index.")
]


def subgraph(
    out: Annotated[Path, typer.Option(help="Folder for the weights and the state of the run.")],
    split: SplitOption = None,
    encoder: GraphEncoderOption = DEFAULT_ENCODER,
    device: DeviceOption = None,
    dtype: DtypeOption = "float32",
    *,
    source: GraphQuestionSource,
    reader: ReaderSettings,
    recipe: Annotated[SelectionRecipe, Without("patience")],
) -> None:
    """Train the selection of subgraphs by a reader's answers, for --retriever gcn-subgraph:weights=FOLDER."""
    from clew.training.checkpoint import single_process
    from clew_lab.training.recipes.graph_readers import open_model, reader_factory, save_soft_prompt
    from clew_lab.training.recipes.subgraph import train_selection
    from clew_lab.training.saved_weights import save_scorer

    check_folder("--out", out)
    source.check(split)
    seed = recipe.loop.seed
    with progress_on_stderr() as progress:
        chosen = load_settings().device if device is None else device
        model, opened_encoder = open_model(reader, chosen, dtype), open_encoder(encoder, device=chosen)
        splits = load_training_splits(source, split, opened_encoder, seed, progress, print_note)
        opened_reader = reader_factory(reader, model, opened_encoder, splits.train, splits.choices)(seed)
        scorer, result = train_selection(
            splits.train,
            splits.validation,
            opened_reader,
            opened_encoder,
            recipe,
            out / "run",
            progress,
            single_process(chosen),
        )
        save_scorer(out, scorer)
        reader_saved = save_soft_prompt(opened_reader, out / "reader", opened_encoder, scorer.fingerprint)
    epoch = "untrained" if result.best_epoch < 0 else f"epoch {result.best_epoch + 1}"
    chosen = f"{result.held_out} chose the epoch: {epoch}"
    print(f"learned from {format_count(result.questions, 'question')}, {chosen}, {result.seconds:.0f} s")
    for name, value in result.figures.items():
        print(f"{name}: {value:.3f} (untrained: {result.initial_figures[name]:.3f})")
    print(f"weights in {out}; use them: --retriever gcn-subgraph:weights={out}")
    note_truncated("", count_truncated(opened_reader), reader.context_tokens)
    if reader_saved:
        print(f"the trained parameters of the reader are in {out / 'reader'}")
    if reader.name != LOCAL_READER:
        soft = f" --soft-prompt {out / 'reader'}" if reader_saved else ""
        trained = f"--retriever gcn-subgraph:weights={out},budget={recipe.feedback.budget}"
        print(f"answer with it: clew ask-graph QUESTION --index INDEX {trained} --reader {reader.name}{soft}")


def note_truncated(prefix: str, count: int, tokens: int | None) -> None:
    """Print how many selected subgraphs were longer than the context of the language model."""
    if count:
        graphs = format_count(count, "part of a graph", "parts of graphs")
        limit = f"{tokens or CONTEXT_TOKENS} tokens (--context-tokens)"
        print_note(f"{prefix}{graphs} had more than {limit}, or than the model reads: the last lines were left out")
