"""A causal reader that also reads vectors which were trained: virtual tokens, and tokens made from the graph.

Source: He et al., "G-Retriever" (2024), section 5.4: a soft prompt that a graph encoder makes, read by a frozen model
together with the graph's text; Perozzi et al., "Let Your Graph Do the Talking" (2024), for one in the text's place.
Differs from the source: virtual tokens of `peft` may stand before the graph's; both stand before the prompt, also
before a mark that begins it.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from clew.errors import InputError, ProviderError
from clew.models.causal_lm import prompt_tuning as virtual_tokens
from clew.models.causal_lm.model import weights_digest

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from clew.answering.graph_readers.causal_lm import CausalReader
    from clew.answering.graph_readers.protocols import TrainableSoftTokenEncoder
    from clew.graph.subgraphs.textual_graph import GraphContext
    from clew.types import FloatArray

NUM_VIRTUAL_TOKENS = 10  # G-Retriever's comparison with prompt tuning
_GRAPH_ENCODER_FILE = "graph_token.safetensors"


@final
class SoftPromptReader:
    """Gives a reader soft tokens and leaves its model as it is.

    Args:
        reader: Of a model that is frozen; it says whether the graph's text is read too.
        num_virtual_tokens: Virtual tokens of `peft`, before all else; 0 for none, where `graph_token` is given.
        graph_token: Makes tokens from the graph, such as `clew.nn.graph_prompt_encoder.GraphToken`.
        seed: Of the virtual tokens' start.
        folder: What `save` wrote, to go on from; the folder says how many tokens there are, unless
            `num_virtual_tokens` is 0.

    Raises:
        InputError: Nothing is to be read, or the model is not frozen.
    """

    def __init__(
        self,
        reader: "CausalReader",
        *,
        num_virtual_tokens: int = NUM_VIRTUAL_TOKENS,
        graph_token: "TrainableSoftTokenEncoder | None" = None,
        seed: int = 0,
        folder: str | Path | None = None,
    ) -> None:
        if num_virtual_tokens < 0 or (num_virtual_tokens == 0 and graph_token is None):
            raise InputError(
                f"a soft prompt has {num_virtual_tokens} virtual tokens; wanted at least 1, or 0 and a graph token"
            )
        if reader.model.trainable:
            raise InputError("a soft prompt stands before a frozen model; wanted CausalModel(..., trainable=False)")
        self.reader = reader
        self.graph_token = graph_token
        self._tokens = num_virtual_tokens
        self._seed = seed
        self._folder = folder
        self._tuned: Any = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name, and that it has a soft prompt."""
        return f"{self.reader.name}+soft-prompt"

    @property
    def fingerprint(self) -> str:
        """The reader's, and what stands before its prompts; loads the model.

        Raises:
            InputError: `peft` is not installed.
            ProviderError: The model or the folder cannot be opened.
        """
        # What a graph token reads of a graph is a setting, and no weight says it.
        settings = repr(getattr(self.graph_token, "settings", None))
        digest = weights_digest([(str(place), one) for place, one in enumerate(self.parameters())])
        return f"{self.reader.fingerprint}+soft-prompt-{self._tokens}-{settings}-{digest}"

    def loss(
        self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]
    ) -> "FloatArray":
        """Return (n,) what `losses` returns, without gradients."""
        return self.reader.loss(questions, contexts, answers, self._soft_tokens)

    def losses(self, questions: Sequence[str], contexts: Sequence["GraphContext"], answers: Sequence[str]) -> "Tensor":
        """Return (n,) what answers cost the reader (`CausalReader.losses`); gradients reach `parameters` alone."""
        return self.reader.losses(questions, contexts, answers, self._soft_tokens)

    def generate(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[str]:
        """Return an answer to each question (`CausalReader.generate`)."""
        return self.reader.generate(questions, contexts, self._soft_tokens)

    def count_tokens(self, questions: Sequence[str], contexts: Sequence["GraphContext"]) -> list[int]:
        """Return how many tokens it reads of each graph: those of its text, and those made of it."""
        import torch

        made = 0
        if self.graph_token is not None and contexts:
            with torch.no_grad():
                made = self.graph_token(contexts[:1]).shape[1]
        return [made + count for count in self.reader.count_tokens(questions, contexts)]

    @property
    def truncated_graphs(self) -> int:
        """How many different graphs were too long so far (`CausalReader.shortened`)."""
        return self.reader.truncated_graphs

    def parameters(self) -> "list[Parameter]":
        """Return the virtual tokens, then the weights of the graph token; loads the model.

        Raises:
            InputError: `peft` is not installed.
            ProviderError: The model or the folder cannot be opened.
        """
        tuned = self._open_prompt()
        virtual = [] if tuned is None else [virtual_tokens.soft_prompt_weight(tuned)]
        return [*virtual, *(() if self.graph_token is None else self.graph_token.parameters())]

    def save(self, folder: str | Path) -> None:
        """Write what was trained and nothing of the model: `peft`'s files, and the graph token's weights.

        Raises:
            ProviderError: The folder cannot be written.
        """
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        tuned = self._open_prompt()
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            if tuned is not None:
                tuned.save_pretrained(str(folder), safe_serialization=True, save_embedding_layers=False)
            if self.graph_token is not None:
                weights = {name: value.detach().contiguous() for name, value in self.graph_token.state_dict().items()}
                save_file(weights, Path(folder, _GRAPH_ENCODER_FILE))
        except (OSError, SafetensorError) as error:
            raise ProviderError(f"cannot write the soft prompt to {folder}: {error}; choose another folder") from error

    def _soft_tokens(self, contexts: Sequence["GraphContext"]) -> "Tensor":
        """Return (n, tokens, width) virtual tokens and those of the graphs."""
        import torch

        tuned = self._open_prompt()
        parts = [] if tuned is None else [tuned.get_prompt(len(contexts))]
        if self.graph_token is not None:
            made = self.graph_token(contexts)
            parts.append(made.to(device=parts[0].device, dtype=parts[0].dtype) if parts else made)
        return torch.cat(parts, dim=1)

    def _open_prompt(self) -> Any:
        """Return the `peft` model, opened once; None where there are no virtual tokens."""
        with self._lock:
            if self._folder is not None and self.graph_token is not None:
                _load_graph_token(self.graph_token, Path(self._folder, _GRAPH_ENCODER_FILE))
            if self._tokens and self._tuned is None:
                model = self.reader.model.load()
                if self._folder is None:
                    self._tuned = virtual_tokens.init_prompt_tuning(model, self._tokens, self._seed)
                else:
                    self._tuned = virtual_tokens.load_prompt_tuning(model, self._folder)
            self._folder = None
            return self._tuned


def _load_graph_token(module: "TrainableSoftTokenEncoder", file: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        module.load_state_dict(load_file(file))
    except (OSError, RuntimeError, SafetensorError) as error:
        raise ProviderError(
            f"the graph token {file} cannot be opened ({' '.join(str(error).split())}): give the folder that it was "
            "saved to, and a graph token of the same settings"
        ) from error
