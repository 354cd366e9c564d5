"""A causal reader with a trained soft prompt: virtual tokens of prompt tuning, and tokens encoded from the graph.

Source: He et al., "G-Retriever" (2024), section 5.4: a soft prompt from a graph encoder, read by a frozen model
together with the graph's text; Perozzi et al., "Let Your Graph Do the Talking" (2024): the same in place of the text.
Differs from the source: virtual tokens of `peft` may stand before the graph's; both precede the whole prompt, also its
begin-of-text token.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from clew.errors import InputError, ProviderError
from clew_lab.models import prompt_tuning
from clew_lab.models.causal_lm import weights_digest

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.types import FloatArray
    from clew_lab.graph.reader_context import GraphContext
    from clew_lab.graph_readers.causal_lm import CausalReader
    from clew_lab.graph_readers.protocols import GeneratedText
    from clew_lab.nn.graph_prompt_encoder import GraphToken

NUM_VIRTUAL_TOKENS = 10  # G-Retriever's comparison with prompt tuning
_GRAPH_ENCODER_FILE = "graph_token.safetensors"


@final
class SoftPromptReader:
    """Adds soft tokens to `reader`, of a frozen model, which decides whether the graph's text is read too.

    There are `num_virtual_tokens` virtual tokens of `peft`, initialised by `seed`, before all others; 0 for none, if
    `graph_token` is given, which encodes graphs as tokens, see `clew_lab.nn.graph_prompt_encoder`. A
    `folder` written by `save` is loaded from; its number of virtual tokens applies, unless `num_virtual_tokens` is 0.
    Opening the model raises InputError without `peft`, and ProviderError if model or folder cannot be opened.
    """

    def __init__(
        self,
        reader: "CausalReader",
        *,
        num_virtual_tokens: int = NUM_VIRTUAL_TOKENS,
        graph_token: "GraphToken | None" = None,
        seed: int = 0,
        folder: str | Path | None = None,
    ) -> None:
        if num_virtual_tokens < 0 or (num_virtual_tokens == 0 and graph_token is None):
            raise InputError(
                f"a soft prompt has {num_virtual_tokens} virtual tokens; wanted at least 1, or 0 and a graph token"
            )
        if reader.model.trainable:
            raise InputError("a soft prompt needs a frozen model; wanted CausalModel(..., trainable=False)")
        self.reader = reader
        self.graph_token = graph_token
        self.num_virtual_tokens = num_virtual_tokens
        self._seed = seed
        self._folder = folder
        self._peft_model: Any = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The reader's name with the suffix `+soft-prompt`."""
        return f"{self.reader.name}+soft-prompt"

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the reader and the soft prompt; loads the model."""
        # The graph token's settings choose its inputs, which its weights do not show.
        token_settings = getattr(self.graph_token, "settings", None)
        features = getattr(
            token_settings, "features", "text"
        )  # not part of their text form, as of before there were any
        settings = f"{token_settings!r}{'' if features == 'text' else '-' + features}"
        digest = weights_digest([(str(place), weight) for place, weight in enumerate(self.parameters())])
        return f"{self.reader.fingerprint}+soft-prompt-{self.num_virtual_tokens}-{settings}-{digest}"

    def loss(
        self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]
    ) -> "FloatArray":
        """Return `losses` (n,) without gradients."""
        return self.reader.loss(questions, contexts, answers, self._soft_tokens)

    def losses(self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]) -> "Tensor":
        """Return `CausalReader.losses` (n,) with the soft prompt; gradients reach `parameters` only."""
        return self.reader.losses(questions, contexts, answers, self._soft_tokens)

    def generate(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[str]:
        """Return `CausalReader.generate` with the soft prompt."""
        return self.reader.generate(questions, contexts, self._soft_tokens)

    def generate_counted(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> "list[GeneratedText]":
        """Return `CausalReader.generate_counted` with the soft prompt."""
        return self.reader.generate_counted(questions, contexts, self._soft_tokens)

    def count_tokens(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[int]:
        """Return the number of tokens per graph: those of its text and those of the graph token."""
        import torch

        graph_tokens = 0
        if self.graph_token is not None and contexts:
            with torch.no_grad():
                graph_tokens = self.graph_token(contexts[:1]).shape[1]
        return [graph_tokens + count for count in self.reader.count_tokens(questions, contexts)]

    @property
    def truncated_graphs(self) -> int:
        """Number of distinct graphs that were truncated so far."""
        return self.reader.truncated_graphs

    def parameters(self) -> "list[Parameter]":
        """Return the virtual tokens, then the graph token's weights; loads the model."""
        peft_model = self._open_prompt()
        virtual = [] if peft_model is None else [prompt_tuning.soft_prompt_weight(peft_model)]
        return [*virtual, *(() if self.graph_token is None else self.graph_token.parameters())]

    def save(self, folder: str | Path) -> None:
        """Write `peft`'s files and the graph token's weights, without the model; raises ProviderError if it cannot."""
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        peft_model = self._open_prompt()
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            if peft_model is not None:
                peft_model.save_pretrained(str(folder), safe_serialization=True, save_embedding_layers=False)
            if self.graph_token is not None:
                weights = {name: value.detach().contiguous() for name, value in self.graph_token.state_dict().items()}
                save_file(weights, Path(folder, _GRAPH_ENCODER_FILE))
        except (OSError, SafetensorError) as error:
            raise ProviderError(f"cannot write the soft prompt to {folder}: {error}; choose another folder") from error

    def _soft_tokens(self, contexts: Sequence["GraphContext"]) -> "Tensor":
        """Return the virtual tokens and those of the graphs (n, tokens, width)."""
        import torch

        peft_model = self._open_prompt()
        parts = [] if peft_model is None else [peft_model.get_prompt(len(contexts))]
        if self.graph_token is not None:
            encoded = self.graph_token(contexts)
            parts.append(encoded.to(device=parts[0].device, dtype=parts[0].dtype) if parts else encoded)
        return torch.cat(parts, dim=1)

    def _open_prompt(self) -> Any:
        """Return the `peft` model, opened once; None without virtual tokens."""
        with self._lock:
            if self._folder is not None and self.graph_token is not None:
                _load_graph_token(self.graph_token, Path(self._folder, _GRAPH_ENCODER_FILE))
            if self.num_virtual_tokens and self._peft_model is None:
                model = self.reader.model.load()
                if self._folder is None:
                    self._peft_model = prompt_tuning.init_prompt_tuning(model, self.num_virtual_tokens, self._seed)
                else:
                    self._peft_model = prompt_tuning.load_prompt_tuning(model, self._folder)
            self._folder = None
            return self._peft_model


def _load_graph_token(module: "GraphToken", file: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        module.load_state_dict(load_file(file))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise ProviderError(
            f"the graph token {file} cannot be opened ({' '.join(str(error).split())}): give the folder it was "
            "saved to, and a graph token of the same settings"
        ) from error
