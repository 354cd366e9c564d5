"""An encoder whose model a server runs.

The cost of encoding texts by a model that a server runs, estimated without a request.

Encoders whose texts cost money.
"""

import math
import os
import re
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from clew.errors import InputError, ProviderError
from clew.models.encoders.remote.request import (
    Embeddings,
    EmbeddingServer,
    OllamaEmbeddings,
    OpenAIEmbeddings,
    find_digest,
)
from clew.models.llm.budget import Budget, Prices, estimate_tokens, max_token_count
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.providers import api_key
from clew.models.validation import require_unicode
from clew.plugins.extras import require_extra
from clew.types import Usage

if TYPE_CHECKING:
    from clew.types import FloatArray


URL_VARIABLE = "CLEW_EMBEDDINGS_URL"
BATCH_TEXTS, BATCH_CHARACTERS = 64, 60_000
MAX_CHARACTERS = 8_000  # of a text; models read 8,192 tokens at most, and a character may be one
_BLANK = "."  # in the place of a text of white space alone, which servers refuse
_NAME = re.compile(r"(?P<model>.+?)(?:@(?P<url>https?://.*))?")


@final
class RemoteEncoder:
    """A model that a server runs; every property but `name` asks the server for a vector.

    The first 8,000 characters of a text are sent, many texts in one request. Whether equal texts have equal vectors is
    the server's affair: rows are stored as they came, but for their scale.

    Args:
        kind: The name of the encoder before its colon.
        argument: "MODEL" or "MODEL@URL".
        protocol: The form of requests and replies.
        timeout: Seconds for one reply.
        attempts: Requests for one reply while the server fails.

    Raises:
        InputError: There is no model, the URL cannot be used, or a key is needed and not set.
        MissingPackageError: The extra `llm` is not installed.
    """

    def __init__(
        self,
        kind: str,
        argument: str,
        protocol: OpenAIEmbeddings | OllamaEmbeddings,
        timeout: float = 120.0,
        attempts: int = 5,
    ) -> None:
        self.model, stated_url = split_model(kind, argument)
        self._name = f"{kind}:{argument.strip()}"
        url = os.environ.get(URL_VARIABLE, "") or stated_url
        if "@" in url:
            raise InputError(
                f"the URL of the encoder {kind}:{self.model} holds a user's name: set CLEW_API_KEY instead"
            )
        CallSettings(base_url=url)  # refuses what is no URL
        require_extra(("httpx2",), "llm", f"the encoder {kind}", "use an encoder of this machine")
        key = "" if protocol.provider == "ollama" and not url else api_key(protocol.provider, url)
        address = (url or protocol.default_url).rstrip("/")
        self._server = EmbeddingServer(f"{kind}:{self.model}", address, key, timeout, attempts)
        self._protocol = protocol
        self._is_custom = bool(url)
        self._budget, self._prices = Budget(), Prices()
        self._dimension = 0
        self._digest: str | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The name to open this encoder by, with the server's URL where it was given."""
        return self._name

    @property
    def dimension(self) -> int:
        """Width of the vectors that the server gives."""
        with self._lock:
            if not self._dimension:
                self._dimension = self._send([_BLANK], 0).shape[1]
        return self._dimension

    @property
    def fingerprint(self) -> str:
        """The protocol, the model, its width, and of Ollama its digest; no server tells more of its weights."""
        return f"{self._protocol.provider}-embeddings-{self.model}-{self._read_digest()}{self.dimension}"

    def spend_from(self, budget: Budget, prices: Prices) -> None:
        """Count the cost of requests in a budget, which admits none that could exceed it."""
        if budget.max_cost is not None and self._cost(prices, 1) is None:
            raise InputError(
                f"cost is limited and no price of {self._price_name} is known: add it to clew.toml under [prices], or "
                "limit tokens"
            )
        self._budget, self._prices = budget, prices

    def encode(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension).

        Raises:
            InputError: A text holds a lone surrogate.
            BudgetError: A request does not fit the budget.
            ProviderError: The server gives no vectors, or others than before.
        """
        require_unicode(texts)
        width = self.dimension
        rows = [self._send(batch, width) for batch in _batches(texts)]
        return np.concatenate(rows) if rows else np.zeros((0, width), dtype=np.float32)

    def encode_queries(self, texts: Sequence[str]) -> "FloatArray":
        """Return unit rows (len(texts), dimension), the same as `encode`, with its errors."""
        return self.encode(texts)

    @property
    def _price_name(self) -> str:
        return f"{self._protocol.provider}:{self.model}"

    def _cost(self, prices: Prices, tokens: int) -> float | None:
        return prices.cost(self._price_name, tokens, 0, custom_server=self._is_custom)

    def _usage(self, tokens: int) -> Usage:
        return Usage(0.0, 1, tokens, 0, self._cost(self._prices, tokens) or 0.0)

    def _send(self, texts: Sequence[str], width: int) -> "FloatArray":
        """Return the unit rows of a batch; a `width` of 0 takes any."""
        maximum = self._usage(sum(map(max_token_count, texts)))
        while not self._budget.admit(maximum):
            time.sleep(0.05)  # until a call of a language model ends
        spent = Usage()
        try:
            found = self._server.fetch(
                "POST",
                self._protocol.path,
                self._protocol.request(self.model, texts),
                lambda reply: self._protocol.read(reply, len(texts)),
            )
            spent = self._usage(found.tokens or sum(map(estimate_tokens, texts)))
        finally:
            self._budget.settle(maximum, spent)
        return self._scale(found, width)

    def _scale(self, found: Embeddings, width: int) -> "FloatArray":
        widths = {len(vector) for vector in found.vectors}
        wanted = width or min(widths)
        if widths != {wanted} or not wanted:
            given = ", ".join(map(str, sorted(widths)))
            raise ProviderError(
                f"the encoder {self._name} gave vectors of width {given}, wanted {wanted or 'one above 0'}: another "
                "model runs there now; use the one that the index was made with"
            )
        rows = np.array(found.vectors, dtype=np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise ProviderError(f"the encoder {self._name} gave a vector of zeros, or one too long: use another model")
        unit: FloatArray = (rows / lengths).astype(np.float32)
        return unit

    def _read_digest(self) -> str:
        if not isinstance(self._protocol, OllamaEmbeddings):
            return ""
        with self._lock:
            if self._digest is None:
                self._digest = self._server.fetch("GET", "/api/tags", None, lambda tags: find_digest(tags, self.model))
                if not self._digest:
                    found = f"Ollama has no model {self.model!r}"
                    self._digest = None
                    raise ProviderError(f"the encoder {self._name}: {found}: run ollama pull {self.model}")
        return f"{self._digest[:16]}-"


def split_model(kind: str, argument: str) -> tuple[str, str]:
    """Return the model of "MODEL" or "MODEL@URL", and the URL or ""; InputError where there is no model."""
    given = _NAME.fullmatch(argument.strip())
    if given is None:
        raise InputError(f"encoder '{kind}:'; name the model, {kind}:MODEL or {kind}:MODEL@http://host:8000/v1")
    return str(given["model"]), given["url"] or ""


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts as they are sent, in batches."""
    batch: list[str] = []
    characters = 0
    for text in texts:
        short = text[:MAX_CHARACTERS] if text.strip() else _BLANK
        if batch and (len(batch) == BATCH_TEXTS or characters + len(short) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(short if short.strip() else _BLANK)
        characters += len(short)
    if batch:
        yield batch


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
