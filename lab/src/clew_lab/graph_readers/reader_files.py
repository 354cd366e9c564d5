"""A reader with what was trained on top of its language model, on disk: `OUT/reader` of `clew train subgraph`.

The folder holds the virtual tokens of `peft`, the weights of the graph token, and `reader.json`: the number of virtual
tokens, the settings of the graph token, the tokens of a graph's text, and what the rest was trained with, so that
another model, encoder or selection is noticed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.errors import InputError, ProviderError
from clew.store.atomic import atomic_file
from clew_lab.graph_readers.causal_lm import MAX_CONTEXT_TOKENS, CausalReader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.models import graph_answer
from clew_lab.models.causal_lm import CausalModel

if TYPE_CHECKING:
    from clew_lab.graph_readers.protocols import GraphReader
    from clew_lab.nn.graph_prompt_encoder import GraphToken

READER_FILE = "reader.json"


@dataclass(frozen=True, slots=True)
class ReaderDescription:
    """Contents of `reader.json`."""

    model: str  # fingerprint of the reader without a soft prompt: model, type of its weights, prompt
    name: str  # the model's name, for messages
    dtype: str  # type of the model's weights
    virtual_tokens: int
    context_tokens: int  # tokens of a graph's text, at most
    with_text: bool  # whether the graph's text is read, beside its token
    encoder: str  # fingerprint of the encoder whose vectors a graph token reads
    selection: str = ""  # fingerprint of the selection that the soft prompt was trained with
    graph_token: Mapping[str, Any] | None = None  # settings of the graph token


def save_reader(reader: SoftPromptReader, folder: Path, encoder: str, selection: str = "") -> None:
    """Write the soft prompt of a reader; raises ProviderError if the folder cannot be written.

    `encoder` is the fingerprint of the graphs' encoder, `selection` that of the selection that it was trained with.
    """
    reader.save(folder)
    token, plain = reader.graph_token, reader.reader
    settings = getattr(token, "settings", None)
    description = ReaderDescription(
        plain.fingerprint,
        plain.name,
        plain.model.dtype,
        reader.num_virtual_tokens,
        plain.max_context_tokens,
        plain.with_text,
        encoder,
        selection,
        None if settings is None else asdict(settings),
    )
    with atomic_file(folder / READER_FILE) as file:
        file.write_text(json.dumps(asdict(description), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def describe_reader(folder: Path) -> ReaderDescription:
    """Return what a folder of `save_reader` holds.

    Raises InputError where it is no such folder, and ProviderError where its description is damaged.
    """
    path = folder / READER_FILE
    if not path.is_file():
        raise InputError(
            f"the soft prompt is {str(folder)!r}, which holds no {READER_FILE}; give the folder OUT/reader that clew "
            "train subgraph --soft-prompt wrote"
        )
    try:
        return ReaderDescription(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ProviderError(f"{path} cannot be read ({error}): train the soft prompt again") from error


def open_reader(model: CausalModel, folder: Path | None = None, encoder: str = "") -> "GraphReader":
    """Return a reader on a language model, with the soft prompt of a folder of `save_reader` if one is given.

    `encoder` is the fingerprint of the encoder of the graphs that are read. Raises InputError where the soft prompt was
    trained for another model, type of weights or encoder, and ProviderError where the model or folder does not open.
    """
    if folder is None:
        return CausalReader(model, graph_answer.build_prompt)
    described = describe_reader(folder)
    plain = CausalReader(
        model,
        graph_answer.build_prompt,
        max_context_tokens=described.context_tokens or MAX_CONTEXT_TOKENS,
        with_text=described.with_text,
    )
    if model.dtype != described.dtype:
        raise InputError(
            f"the soft prompt {folder} was trained with --dtype {described.dtype}, not {model.dtype}: give it"
        )
    if plain.fingerprint != described.model:
        raise InputError(
            f"the soft prompt {folder} was trained for the model {described.name}, and {model.name} is another one, or "
            "has changed: give that model, or train a soft prompt for this one (clew train subgraph)"
        )
    token = None if described.graph_token is None else _build_token(described, folder, encoder)
    reader = SoftPromptReader(plain, num_virtual_tokens=described.virtual_tokens, graph_token=token, folder=folder)
    reader.parameters()  # fails now, and not after the search
    return reader


def _build_token(described: ReaderDescription, folder: Path, encoder: str) -> "GraphToken":
    from clew_lab.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings

    if described.encoder != encoder:
        raise InputError(
            f"the graph token in {folder} was trained on another encoder's vectors than this index's: train one for it "
            "(clew train subgraph --encoder)"
        )
    try:
        return GraphToken(GraphTokenSettings(**(described.graph_token or {}))).eval()
    except TypeError as error:
        raise ProviderError(f"{folder / READER_FILE} cannot be read ({error}): train the soft prompt again") from error
