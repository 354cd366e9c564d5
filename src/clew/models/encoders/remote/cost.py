"""The cost of encoding texts by a model that a server runs, estimated without a request.

Encoders whose texts cost money.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

from clew.models.encoders.remote.encoder import (
    BATCH_CHARACTERS,
    BATCH_TEXTS,
    MAX_CHARACTERS,
    URL_VARIABLE,
    split_model,
)
from clew.models.llm.budget import Prices, estimate_tokens

_PROVIDERS = {"openai-embeddings": "openai", "ollama-embeddings": "ollama"}
SECONDS_PER_REQUEST = 0.5  # of 64 texts, for a hosted model that is not busy; requests follow each other


@dataclass(slots=True)
class EmbeddingCost:
    """Requests, tokens, money and time of the texts that were added.

    Attributes:
        model: The model as prices know it, `provider:model`.
        is_custom: Whether the server is another than the provider's own.
        tokens: The tokens of all texts, rather too many than too few.
    """

    model: str
    is_custom: bool = False
    tokens: int = 0
    _texts: int = 0
    _characters: int = 0

    def add(self, texts: Sequence[str]) -> None:
        """Count texts."""
        for text in texts:
            sent = text[:MAX_CHARACTERS]
            self.tokens += estimate_tokens(sent)
            self._characters += len(sent)
        self._texts += len(texts)

    @property
    def requests(self) -> int:
        """The least number of requests for the texts."""
        return max(math.ceil(self._texts / BATCH_TEXTS), math.ceil(self._characters / BATCH_CHARACTERS))

    @property
    def seconds(self) -> float:
        """The time of the requests."""
        return SECONDS_PER_REQUEST * self.requests

    def money(self, prices: Prices) -> float | None:
        """Return the price of the tokens, None where the model's is not known."""
        return prices.cost(self.model, self.tokens, 0, custom_server=self.is_custom)


def find_embedding_cost(encoder: str) -> EmbeddingCost | None:
    """Return the cost of the encoder of a name so far, None for one that runs on this machine."""
    kind, _, argument = encoder.partition(":")
    if kind not in _PROVIDERS or not argument.strip():
        return None
    model, url = split_model(kind, argument)
    return EmbeddingCost(f"{_PROVIDERS[kind]}:{model}", is_custom=bool(os.environ.get(URL_VARIABLE, "") or url))
