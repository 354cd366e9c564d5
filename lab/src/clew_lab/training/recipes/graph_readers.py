"""Readers of selected subgraphs: the local one, or a causal language model with trainable tokens or without.

Source: He et al., "G-Retriever" (2024), and Perozzi et al., "Let Your Graph Do the Talking" (2024), for the tokens
before the text.
Differs from the source: the hidden width of a graph token is that of the language model, at most the source's.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import torch

from clew.errors import InputError
from clew.models.threads import choose_device
from clew.protocols import LOCAL_READER, Encoder
from clew_lab.graph_readers.causal_lm import CausalReader
from clew_lab.graph_readers.protocols import GraphReader
from clew_lab.graph_readers.reader_files import save_reader
from clew_lab.graph_readers.soft_prompt import SoftPromptReader
from clew_lab.models import graph_answer
from clew_lab.models.causal_lm import CausalModel
from clew_lab.models.prompt_tuning import init_prompt_tuning
from clew_lab.nn.graph_prompt_encoder import GraphToken, GraphTokenSettings
from clew_lab.training.data.graph_questions import EncodedQuestion
from clew_lab.training.recipes.reader_settings import CONTEXT_TOKENS, ReaderSettings, Token
from clew_lab.training.recipes.subgraph import local_reader

_GRAPH_TOKEN_WIDTH, _GRAPH_TOKEN_HEADS = 1024, 4  # the authors' code


def open_model(settings: ReaderSettings, device: str = "auto", dtype: str = "float32") -> CausalModel | None:
    """Return the language model of a reader, loaded, with weights of a torch type; None for the local reader.

    Raises InputError for a type of weights with the local reader, without `transformers`, or without `peft` for a soft
    prompt, and ProviderError if the model does not open.
    """
    if settings.name == LOCAL_READER:
        if dtype != "float32":
            raise InputError(
                f"--dtype {dtype} is of a language model's weights, and the reader is {LOCAL_READER}: give --reader "
                "FOLDER with a causal language model"
            )
        return None
    model = CausalModel(settings.name, device=choose_device(device), dtype=dtype)
    loaded = model.load()
    if settings.soft_prompt:
        init_prompt_tuning(loaded, settings.soft_prompt, 0)  # fails now, and not after the questions were read
    return model


def reader_factory(
    settings: ReaderSettings,
    model: CausalModel | None,
    encoder: Encoder,
    training: Sequence[EncodedQuestion],
    choices: tuple[str, ...],
) -> Callable[[int], GraphReader]:
    """Return a function from a seed to a new reader; language models are shared, trainable parameters are not.

    The local reader, for no `model`, is trained on the questions, by the possible answers if they are few.
    """
    if model is None:
        return lambda seed: local_reader(encoder, training, choices, seed)
    return lambda seed: _causal_reader(settings, model, encoder, seed, settings.graph_token)


def token_reader_factories(
    settings: ReaderSettings, model: CausalModel | None, encoder: Encoder
) -> dict[str, Callable[[int], GraphReader]]:
    """Return the same for the methods with a reader of their own, `g-retriever` and `graphtoken`; none for local."""
    if model is None:
        return {}
    return {
        "g-retriever": lambda seed: _causal_reader(settings, model, encoder, seed, "part"),
        "graphtoken": lambda seed: _causal_reader(settings, model, encoder, seed, "whole", with_text=False),
    }


def save_soft_prompt(reader: GraphReader, folder: Path, encoder: Encoder, selection: str = "") -> bool:
    """Write the soft prompt and graph token of a reader (see `save_reader`); return whether it has any.

    `selection` is the fingerprint of the selection that was trained with it.
    """
    if not isinstance(reader, SoftPromptReader):
        return False
    save_reader(reader, folder, encoder.fingerprint, selection)
    return True


def _causal_reader(
    settings: ReaderSettings, model: CausalModel, encoder: Encoder, seed: int, token: Token, *, with_text: bool = True
) -> GraphReader:
    reader = CausalReader(
        model,
        graph_answer.build_prompt,
        max_context_tokens=settings.context_tokens or CONTEXT_TOKENS,
        with_text=with_text,
    )
    graph_token = None if token == "none" else _graph_token(settings, model, encoder, seed, token)  # noqa: S105 - no password
    if graph_token is None and not settings.soft_prompt:
        return reader
    return SoftPromptReader(reader, num_virtual_tokens=settings.soft_prompt, graph_token=graph_token, seed=seed)


def _graph_token(
    settings: ReaderSettings, model: CausalModel, encoder: Encoder, seed: int, pool: Literal["part", "whole"]
) -> GraphToken:
    width = min(_GRAPH_TOKEN_WIDTH, -(-model.width // _GRAPH_TOKEN_HEADS) * _GRAPH_TOKEN_HEADS)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GraphToken(
            GraphTokenSettings(
                encoder.dimension,
                model.width,
                width,
                heads=_GRAPH_TOKEN_HEADS,
                tokens=settings.graph_tokens,
                pool=pool,
                encoder=settings.graph_encoder,
                features=settings.node_features,
            )
        )
