"""Language models of any provider: typed replies, many calls at once, kept replies, and what it all cost."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import final
from warnings import catch_warnings, filterwarnings

from clew.errors import BudgetError, InputError, ProviderError
from clew.models.llm.budget import Budget
from clew.models.llm.call_settings import CallSettings
from clew.models.llm.pricing import Prices
from clew.models.llm.providers import api_key, check_installed, open_provider, parse_model_name
from clew.models.llm.reply_cache import ReplyCache, call_key
from clew.models.llm.request import OnText
from clew.models.llm.retrying import CallBatch, PendingCall, RetryingClient
from clew.types import Failure, Prompt, Reply, Usage

_BASE_REPLY_BYTES, _REPLY_BYTES_PER_TOKEN = 1 << 20, 1024
"""Of an answer, at most: headers of events and all."""


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


def _repeat_result(result: Reply | Failure) -> Reply | Failure:
    """Return a result for the second who asked the same, who pays nothing for it."""
    return replace(result, usage=Usage()) if isinstance(result, Failure) else Reply(result.value, cached=True)
