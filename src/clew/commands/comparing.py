"""Work of `clew compare`, which imports this module, and with it torch, when it is called."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from clew.commands.output import print_note
from clew.errors import InputError
from clew.evaluation.compare_subgraphs import (
    OWN_READER_SELECTIONS,
    SELECTIONS,
    ComparisonConfig,
    check_selection_names,
    compare_selections,
)
from clew.evaluation.reports import SelectionReport
from clew.models.encoders.registry import open_encoder
from clew.training.data.graph_sources import load_comparison_splits
from clew.training.recipes.graph_readers import open_model, reader_factory, token_reader_factories
from clew.training.recipes.records import LOCAL_READER, ReaderSettings
from clew.types import Progress

if TYPE_CHECKING:
    from clew.commands.compare import CompareOptions


def selected_names(select: str | None, reader: ReaderSettings) -> list[str]:
    """Return the names of the selections to compare.

    Args:
        select: Names separated by commas; None for all that the reader can read, but steiner-fill.
        reader: Reader of the selected subgraphs.

    Raises:
        InputError: A name is not known, or its method needs a language model.
    """
    is_local = reader.name == LOCAL_READER
    if select is None:
        known = SELECTIONS if is_local else (*SELECTIONS, *OWN_READER_SELECTIONS)
        return [name for name in known if name != "steiner-fill"]
    names = [name.strip() for name in select.split(",") if name.strip()]
    check_selection_names(names)
    if is_local and (lacking := [name for name in names if name in OWN_READER_SELECTIONS]):
        raise InputError(f"{lacking[0]} reads graph tokens: give --reader FOLDER with a causal language model")
    return names


def compare_selected(
    options: "CompareOptions", names: Sequence[str], runs: Path, progress: Progress
) -> SelectionReport:
    """Compare selections on the questions and with the reader of the options.

    Args:
        options: Of the command.
        names: Of the selections.
        runs: Folder for the networks.
        progress: Callback `(stage, done, total)`.
    """
    # First what can fail at once: a language model or an encoder that cannot be opened.
    model, encoder = open_model(options.reader), open_encoder(options.encoder)
    splits = load_comparison_splits(
        options.source, options.split, options.test, options.test_split, encoder, progress, print_note
    )
    config = ComparisonConfig(
        splits.train,
        splits.validation,
        splits.test,
        reader_factory(options.reader, model, encoder, splits.train, splits.choices),
        encoder,
        options.recipe.feedback.budget,
        token_reader_factories(options.reader, model, encoder),
    )
    return compare_selections(config, names, range(options.seeds), options.recipe, runs, progress)
