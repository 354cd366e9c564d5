"""Language models of any provider: typed replies, many calls at once, kept replies, and what it all cost."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final
from urllib.parse import urlsplit
from warnings import catch_warnings, filterwarnings

from clew.errors import BudgetError, InputError, ProviderError
from clew.models.llm.budget import Budget
from clew.models.llm.pricing import Prices
from clew.models.llm.providers import api_key, check_installed, open_provider, parse_model_name
from clew.models.llm.reply_cache import ReplyCache, call_key
from clew.models.llm.request import OnText, shorten_to_line
from clew.models.llm.retrying import CallBatch, PendingCall, RetryingClient
from clew.types import Failure, Prompt, Reply, Usage

_BASE_REPLY_BYTES, _REPLY_BYTES_PER_TOKEN = 1 << 20, 1024
"""Of an answer, at most: headers of events and all."""


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How calls are made.

    Attributes:
        base_url: Of a server that speaks the provider's protocol; "" for the provider's own.
        max_concurrency: Calls under way at the same time, at most.
        attempts: How often a call is made that fails for no fault of the reply: limits, servers, connections.
        repairs: How often a reply that does not fit is sent back.
        timeout: Seconds for one answer.
        reply_tokens: Longest reply.
        temperature: 0 for the likeliest words.
        output: How the schema is asked for: "prompted", in words, which any server takes, or "native", in a field of
            the request.
    """

    base_url: str = ""
    max_concurrency: int = 16
    attempts: int = 5
    repairs: int = 2
    timeout: float = 120.0
    reply_tokens: int = 2048
    temperature: float = 0.0
    output: str = "prompted"

    def __post_init__(self) -> None:
        """Refuse what makes no call."""
        small = [name for name in ("at_once", "attempts", "reply_tokens") if getattr(self, name) < 1]
        small += [name for name in ("repairs", "temperature") if getattr(self, name) < 0]
        if small or not self.timeout > 0:
            name = small[0] if small else "timeout"
            raise InputError(f"{name} of the language model is {getattr(self, name)}, which is too small: raise it")
        if self.base_url and not _is_address(self.base_url):
            raise InputError(
                f"the address of the language model is {shorten_to_line(self.base_url)!r}; wanted one like http://host:8000/v1"
            )
        if self.output not in ("prompted", "native"):
            raise InputError(f"output of the language model is {self.output!r}; wanted prompted or native")

    @property
    def cache_key_fields(self) -> dict[str, Any]:
        """What a reply depends on besides model and prompt: part of what it is kept by."""
        sent = {"base_url": self.base_url, "max_tokens": self.reply_tokens}
        return {**sent, "temperature": self.temperature, "output": self.output}


@final
class ProviderModel:
    """A model of some provider.

    Args:
        name: `provider:model`.
        settings: How calls are made.
        cache: Answers what was asked before; None asks again.
        budget: What may be spent.
        prices: What a call costs.

    Raises:
        InputError: The provider is not known, a package or its key is missing, or money is limited and has no price.
    """

    def __init__(
        self,
        name: str,
        settings: CallSettings | None = None,
        cache: ReplyCache | None = None,
        budget: Budget | None = None,
        prices: Prices | None = None,
    ) -> None:
        self._name = name
        self._settings = settings or CallSettings()
        self._cache = cache
        provider, _ = parse_model_name(name)
        check_installed()
        limits = budget or Budget()
        secret = api_key(provider, self._settings.base_url)
        self._client = RetryingClient(name, self._settings, secret, limits, prices or Prices())
        if limits.max_cost is not None and self._client.cost(1, 1) is None:
            raise InputError(
                f"money is limited and no price of {name} is known: add it to clew.toml under [prices], or limit tokens"
            )

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._name

    def complete(self, prompts: Sequence[Prompt], on_text: OnText | None = None) -> list[Reply | Failure]:
        """Return one result a prompt, in order (see `LanguageModel`).

        Prompts that are the same are asked once; the first of them has what it cost.
        """
        told = self._settings.cache_key_fields
        keys = [call_key(self._name, prompt, told) for prompt in prompts]
        asked = dict(zip(keys, prompts, strict=True))
        found: dict[str, Reply | Failure] = {} if self._cache is None else dict(self._cache.get_many(asked))
        missing = [PendingCall(prompt, key, on_text) for key, prompt in asked.items() if key not in found]
        if missing:
            found |= {call.key: result for call, result in zip(missing, self._run_calls(missing), strict=True)}
        given: list[Reply | Failure] = []
        for key in keys:
            given.append(found[key])
            found[key] = _repeat_result(found[key])
        return given

    def _run_calls(self, calls: Sequence[PendingCall]) -> list[Reply | Failure]:
        from anyio.from_thread import start_blocking_portal

        with catch_warnings():  # that a setting of ours means nothing to a model, that a server counts below 0
            filterwarnings("ignore", module=r"pydantic_ai\b")
            with start_blocking_portal() as portal:  # a loop of its own: the caller may be inside one, as in a notebook
                return portal.call(self._run_concurrently, calls)

    async def _run_concurrently(self, calls: Sequence[PendingCall]) -> list[Reply | Failure]:
        """Make all calls, as many at once as allowed; the first error that ends the run spares the rest."""
        s = self._settings
        bytes_ = _BASE_REPLY_BYTES + _REPLY_BYTES_PER_TOKEN * s.reply_tokens
        async with open_provider(self._name, s.base_url, s.timeout, bytes_) as model:
            batch = CallBatch(model, asyncio.Semaphore(s.max_concurrency))
            tasks = [asyncio.create_task(self._run_call(batch, call)) for call in calls]
            try:
                return list(await asyncio.gather(*tasks))
            finally:  # the caller was interrupted, or the one who is shown the text failed
                for task in tasks:
                    task.cancel()

    async def _run_call(self, batch: CallBatch, call: PendingCall) -> Reply | Failure:
        """Make one call, keep its reply, and end the batch where nothing more can come."""
        async with batch.semaphore:
            try:
                if batch.error is None:
                    result = await self._client.complete(batch, call)
                    self._store_reply(batch, call, result)
                    return result
            except (BudgetError, ProviderError) as error:
                batch.end(error)
        return Failure(call.prompt.name, str(batch.error), call.usage, batch.error)

    def _store_reply(self, batch: CallBatch, call: PendingCall, result: Reply | Failure) -> None:
        if self._cache is None or isinstance(result, Failure):
            return
        try:
            self._cache.put(call.key, self._name, call.prompt, result)
        except ProviderError as error:  # what is paid for is handed on all the same
            batch.end(error)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _repeat_result(result: Reply | Failure) -> Reply | Failure:
    """Return a result for the second who asked the same, who pays nothing for it."""
    return replace(result, usage=Usage()) if isinstance(result, Failure) else Reply(result.value, cached=True)
