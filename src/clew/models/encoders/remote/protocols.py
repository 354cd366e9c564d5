"""The two protocols of embeddings: what is sent, and what is read of the reply.

Source: the reference of OpenAI's API (embeddings) and that of Ollama (`/api/embed`, `/api/tags`).
Differs from the source: nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, final

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from clew.errors import ModelReplyError

Vector = list[FiniteFloat]
Form = TypeVar("Form", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The vectors of some texts as a server gave them."""

    vectors: list[list[float]]  # one a text, in their order
    tokens: int  # that the server counted; 0 where it does not count


class EmbeddingProtocol(Protocol):
    """The form of requests and replies."""

    @property
    def provider(self) -> str:
        """The provider, as language models name it."""

    @property
    def default_url(self) -> str:
        """The URL where none is given."""

    @property
    def path(self) -> str:
        """The path of embeddings, after the URL."""

    def request(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of a request."""

    def read(self, reply: object, count: int) -> Embeddings:
        """Return the vectors of a reply for `count` texts, or raise a ModelReplyError."""


class _Item(BaseModel):
    model_config = ConfigDict(strict=True)

    index: int
    embedding: Vector


class _Usage(BaseModel):
    total_tokens: int = 0


class _OpenAIReply(BaseModel):
    data: list[_Item]
    usage: _Usage | None = None


class _OllamaReply(BaseModel):
    model_config = ConfigDict(strict=True)

    embeddings: list[Vector]
    prompt_eval_count: int = 0


@final
class OpenAIEmbeddings:
    """`POST /embeddings`, as OpenAI and most servers of models speak it."""

    provider = "openai"
    default_url = "https://api.openai.com/v1"
    path = "/embeddings"

    def request(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of a request."""
        return {"model": model, "input": list(texts), "encoding_format": "float"}

    def read(self, reply: object, count: int) -> Embeddings:
        """Return the vectors of a reply, which may come in any order with their indexes."""
        read = _validate(_OpenAIReply, reply)
        if sorted(item.index for item in read.data) != list(range(count)):
            raise ModelReplyError(f"{len(read.data)} vectors for {count} texts, or not one for each")
        vectors: list[list[float]] = [[]] * count
        for item in read.data:
            vectors[item.index] = item.embedding
        return Embeddings(vectors, read.usage.total_tokens if read.usage else 0)


@final
class OllamaEmbeddings:
    """`POST /api/embed` of Ollama, which cuts long texts itself."""

    provider = "ollama"
    default_url = "http://localhost:11434"
    path = "/api/embed"

    def request(self, model: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the body of a request."""
        return {"model": model, "input": list(texts), "truncate": True}

    def read(self, reply: object, count: int) -> Embeddings:
        """Return the vectors of a reply, in the order of the texts."""
        read = _validate(_OllamaReply, reply)
        if len(read.embeddings) != count:
            raise ModelReplyError(f"{len(read.embeddings)} vectors for {count} texts")
        return Embeddings(read.embeddings, read.prompt_eval_count)


class _Tag(BaseModel):
    name: str
    digest: str = ""


class _Tags(BaseModel):
    models: list[_Tag]


def find_digest(reply: object, model: str) -> str:
    """Return the digest of a model in the list of Ollama's models (`/api/tags`), "" where it is not there."""
    names = {model, f"{model}:latest"}
    return next((tag.digest for tag in _validate(_Tags, reply).models if tag.name in names), "")


def _validate(form: type[Form], reply: object) -> Form:
    try:
        return form.model_validate(reply)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the reply"
        raise ModelReplyError(f"{place}: {first['msg']}") from error
