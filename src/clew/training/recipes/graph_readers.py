"""Readers of parts of graphs by what a user names: the local one, or a causal language model, with soft tokens or not.

Source: He et al., "G-Retriever" (2024), and Perozzi et al., "Let Your Graph Do the Talking" (2024), for which tokens
stand before which text.
Differs from the source: a graph token is as wide within as the language model, at most as the source's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clew.answering.graph_readers.protocols import GraphReader
from clew.errors import InputError
from clew.protocols import Encoder
from clew.training.data.graph_questions import EncodedQuestion
from clew.training.recipes.subgraph import LOCAL_READER, local_reader

if TYPE_CHECKING:
    from clew.models.causal_lm.model import CausalModel
    from clew.nn.graph_prompt_encoder import GraphToken

NONE, PART, WHOLE = "none", "part", "whole"
CONTEXT_TOKENS = 512  # the authors' code
_GRAPH_TOKEN_WIDTH, _GRAPH_TOKEN_HEADS = 1024, 4  # the authors' code


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """What a user wants to read with.

    Attributes:
        name: `local`, or a causal language model: a folder or a name on the hub.
        soft_prompt: Virtual tokens before the prompt, which learn; 0 for none.
        graph_token: A token made of the selected `part`, of the `whole` graph, or `none`.
        context_tokens: Of a graph's text that a language model reads, at most; None for `CONTEXT_TOKENS`.

    Raises:
        InputError: No such token is known, or the local reader is to read tokens.
    """

    name: str = LOCAL_READER
    soft_prompt: int = 0
    graph_token: str = NONE
    context_tokens: int | None = None

    def __post_init__(self) -> None:
        """Refuse what nothing reads."""
        if self.graph_token not in (NONE, PART, WHOLE):
            raise InputError(f"--graph-token is {self.graph_token!r}: wanted {NONE}, {PART} or {WHOLE}")
        if self.soft_prompt < 0:
            raise InputError(f"--soft-prompt is {self.soft_prompt}: wanted at least 1 token, or 0 for none")
        if self.name == LOCAL_READER and (
            self.soft_prompt or self.graph_token != NONE or self.context_tokens is not None
        ):
            raise InputError("the local reader reads no tokens: give --reader FOLDER with a causal language model")

    def open_model(self) -> "CausalModel | None":
        """Return the language model, loaded; None for the local reader.

        Raises:
            InputError: `transformers` is not installed, or `peft` where a soft prompt is wanted.
            ProviderError: The model cannot be opened.
        """
        if self.name == LOCAL_READER:
            return None
        from clew.models.causal_lm import prompt_tuning as virtual_tokens
        from clew.models.causal_lm.model import CausalModel

        model = CausalModel(self.name)
        loaded = model.load()
        if self.soft_prompt:
            virtual_tokens.init_prompt_tuning(loaded, self.soft_prompt, 0)  # says at once where peft is not there
        return model


def reader_factory(
    settings: ReaderSettings,
    model: "CausalModel | None",
    encoder: Encoder,
    training: Sequence[EncodedQuestion],
    choices: tuple[str, ...],
) -> Callable[[int], GraphReader]:
    """Return what gives for a seed a fresh reader; language models are shared, what learns is not.

    Args:
        settings: What the user wants.
        model: What it opened.
        encoder: Of the graphs' texts.
        training: Questions that the local reader may be taught on.
        choices: The possible answers, where they are few.
    """
    if model is None:
        return lambda seed: local_reader(encoder, training, choices, seed)
    opened = model
    return lambda seed: _causal_reader(settings, opened, encoder, seed, settings.graph_token)


def token_reader_factories(
    settings: ReaderSettings, model: "CausalModel | None", encoder: Encoder
) -> dict[str, Callable[[int], GraphReader]]:
    """Return the same for what is a selection and a reader in one: `g-retriever` and `graphtoken`; none for local.

    Args:
        settings: What the user wants.
        model: What it opened.
        encoder: Of the graphs' texts.
    """
    if model is None:
        return {}
    opened = model
    return {
        "g-retriever": lambda seed: _causal_reader(settings, opened, encoder, seed, PART),
        "graphtoken": lambda seed: _causal_reader(settings, opened, encoder, seed, WHOLE, with_text=False),
    }


def save_soft_prompt(reader: GraphReader, folder: Path) -> bool:
    """Write what a reader learned before its prompts; return whether there is such a thing.

    Raises:
        ProviderError: The folder cannot be written.
    """
    from clew.answering.graph_readers.soft_prompt import SoftPromptReader

    if not isinstance(reader, SoftPromptReader):
        return False
    reader.save(folder)
    return True


def _causal_reader(
    settings: ReaderSettings, model: "CausalModel", encoder: Encoder, seed: int, token: str, *, with_text: bool = True
) -> GraphReader:
    from clew.answering.graph_readers.causal_lm import CausalReader
    from clew.answering.graph_readers.soft_prompt import SoftPromptReader
    from clew.models.llm.prompts import graph_answer

    reader = CausalReader(
        model,
        graph_answer.build_prompt,
        max_context_tokens=settings.context_tokens or CONTEXT_TOKENS,
        with_text=with_text,
    )
    made = None if token == NONE else _graph_token(model, encoder, seed, "part" if token == PART else "whole")
    if made is None and not settings.soft_prompt:
        return reader
    return SoftPromptReader(reader, num_virtual_tokens=settings.soft_prompt, graph_token=made, seed=seed)


def _graph_token(model: "CausalModel", encoder: Encoder, seed: int, pool: Literal["part", "whole"]) -> "GraphToken":
    import torch

    from clew.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings

    width = min(_GRAPH_TOKEN_WIDTH, -(-model.width // _GRAPH_TOKEN_HEADS) * _GRAPH_TOKEN_HEADS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphToken(
            GraphTokenSettings(encoder.dimension, model.width, width, heads=_GRAPH_TOKEN_HEADS, pool=pool)
        )
