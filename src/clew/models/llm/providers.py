"""Models of providers, through `pydantic-ai`: `openai:NAME`, `anthropic:NAME`, `google:NAME`, `ollama:NAME`."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.errors import InputError, MissingPackageError
from clew.plugins.extras import missing_package, require_extra
from clew.plugins.registry import Registry
from clew.plugins.spec import suggest

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.models import Model

    from clew.protocols import LanguageModel


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A language model that an installed package adds by an entry point of the group `clew.models`.

    Attributes:
        summary: One line for listings.
        build: Opens the model from the text after the colon of its name, "" for none.
    """

    summary: str
    build: "Callable[[str], LanguageModel]"


MODELS = Registry[ModelEntry]("language model", "clew.models", {}, ModelEntry)
"""Installed language models of other packages; the names of `KEY_VARIABLES` take precedence."""

KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GOOGLE_API_KEY", "ollama": ""}
# Variable with the key of a server given by a base URL; providers' keys are never sent there.
CUSTOM_KEY_VARIABLE = "CLEW_API_KEY"
_PACKAGES = ("pydantic_ai", "anyio", "httpx2", "genai_prices")
_KEY_HEADERS = {"anthropic": "x-api-key", "google": "x-goog-api-key"}
OLLAMA_URL = "http://localhost:11434/v1"
_NO_KEY = "none"
_CLOSE_SECONDS = 2.0


def parse_model_name(name: str) -> tuple[str, str]:
    """Split `provider:model` into the two; another form or an unknown provider is an InputError."""
    provider, _, model = name.partition(":")
    if provider not in KEY_VARIABLES or not model:
        close = "" if provider in KEY_VARIABLES else suggest(provider, (*KEY_VARIABLES, *MODELS))
        raise InputError(
            f"the language model is {name!r}; {close}wanted PROVIDER:NAME with one of {', '.join(KEY_VARIABLES)}, "
            "such as openai:gpt-4o-mini; for any server that speaks OpenAI's protocol openai:NAME with --base-url"
        )
    return provider, model


def api_key(provider: str, base_url: str) -> str:
    """Return the key to send; an InputError where the provider needs one and the environment has none."""
    if base_url or provider == "ollama":
        return os.environ.get(CUSTOM_KEY_VARIABLE) or _NO_KEY
    if not (key := os.environ.get(KEY_VARIABLES[provider])):
        raise InputError(f"{provider} needs a key and {KEY_VARIABLES[provider]} is not set: set it, or give --base-url")
    return key


def check_installed() -> None:
    """Raise a MissingPackageError where one of the packages for providers is not installed."""
    require_extra(_PACKAGES, "llm", "asking a language model")


@asynccontextmanager
async def open_provider(name: str, base_url: str, timeout: float, max_bytes: int) -> "AsyncIterator[Model]":
    """Yield a model, whose connections belong to the running event loop; an unknown name or no key is an InputError.

    A request fails after `timeout` seconds without a byte, or with a response of more than `max_bytes`; the base URL is
    that of a server other than the provider's own, or "".
    """
    from anyio import move_on_after

    from clew.models.llm.http_client import bounded_client

    provider, model = parse_model_name(name)
    key = api_key(provider, base_url)
    only = {_KEY_HEADERS[provider]: key} if provider in _KEY_HEADERS else {"Authorization": f"Bearer {key}"}
    own = bool(base_url) or provider == "ollama"
    client = bounded_client(timeout, max_bytes, only if own else None)
    try:
        try:
            opened = _build_model(provider, model, key, base_url, client)
        except ImportError as error:
            message = missing_package(provider, error, "pydantic_ai", "'clew[llm]'")
            raise MissingPackageError(message) from error
        yield opened
    finally:
        with move_on_after(_CLOSE_SECONDS, shield=True):  # also when the calls were cancelled
            await client.aclose()


def _build_model(provider: str, model: str, key: str, base_url: str, client: "httpx2.AsyncClient") -> "Model":
    if provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        anthropic = AnthropicProvider(api_key=key, base_url=base_url or None, http_client=client)
        return AnthropicModel(model, provider=anthropic)
    if provider == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(model, provider=GoogleProvider(api_key=key, base_url=base_url or None, http_client=client))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai import OpenAIProvider

    address = base_url or (OLLAMA_URL if provider == "ollama" else None)
    openai = OpenAIProvider(base_url=address, api_key=key, http_client=client)
    if not address:
        return OpenAIChatModel(model, provider=openai)
    plain = OpenAIModelProfile(
        # Servers differ in the response formats they accept; a schema in the prompt works with all of them.
        supports_json_object_output=False,
        openai_chat_supports_max_completion_tokens=False,
        openai_chat_supports_multiple_system_messages=False,
        # Turn markers inside a passage stay text, even where the server would read them as markers.
        may_tokenize_special_tokens_in_content=True,
    )
    return OpenAIChatModel(model, provider=openai, profile=plain)
