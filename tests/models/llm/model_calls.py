"""A small schema, prompts for it, and a model, shared by the tests of the LLM client."""

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from clew.models.llm.budget import Budget
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.provider_model import ProviderModel
from clew.models.llm.reply_cache import ReplyCache
from clew.protocols import LanguageModel
from clew.types import Failure, Prompt, Reply
from tests.faults.model_server import RunningServer

OSLO = '{"names": ["Oslo"]}'


class Names(BaseModel):
    names: list[str]


def prompt(content: str = "Oslo lies in Norway.", instructions: str = "Name the places.") -> Prompt:
    return Prompt("names@1", instructions, content, Names)


def prompts(count: int) -> list[Prompt]:
    return [prompt(f"Text {number}") for number in range(count)]


def open_model(
    server: RunningServer | str, cache: ReplyCache | None = None, budget: Budget | None = None, **settings: Any
) -> ProviderModel:
    url = server if isinstance(server, str) else server.url
    return ProviderModel("openai:test", CallSettings(base_url=url, **settings), cache, budget)


def complete_one(
    model: LanguageModel, content: str | Prompt = "Oslo", on_text: Callable[[str], None] | None = None
) -> Any:
    """Return the result of a single prompt."""
    [result] = model.complete([content if isinstance(content, Prompt) else prompt(content)], on_text)
    return result


def names(results: Sequence[Reply | Failure]) -> list[list[str] | str]:
    """Return the names of each reply, or the reason of its failure."""
    return [
        result.value.names if isinstance(result, Reply) and isinstance(result.value, Names) else str(result)
        for result in results
    ]
